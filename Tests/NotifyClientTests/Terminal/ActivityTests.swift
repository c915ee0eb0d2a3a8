import Testing

@testable import NotifyClient
@testable import notifyctl

/// What `notifyctl top` makes of signals and answers, in virtual time, and how it draws that.
struct ActivityTests {
    private func event(_ id: UInt64, _ topic: String, window: Duration?) -> Event {
        Event(id: EventID(rawValue: id), topic: topic, window: window)
    }

    private func outcome(_ id: UInt64, _ topic: String, _ kind: Outcome.Kind, latency: Duration? = nil) -> Outcome {
        Outcome(id: EventID(rawValue: id), topic: topic, kind: kind, by: latency.map { _ in ":1.7" }, latency: latency)
    }

    private func explanation(_ id: UInt64, _ outcome: Outcome.Kind?, deadline: Int64, window: Duration) -> Explanation {
        Explanation(
            id: EventID(rawValue: id), topic: "/post/27", route: "/post/{id}", key: "/post/27", published: 0,
            deadline: deadline, window: window, outcome: outcome)
    }

    private func health(published: UInt64, claimed: UInt64 = 0, banners: UInt64 = 0) -> Activity.Health {
        let statistics: [Value: Value] = [
            "published": .uint64(published), "claimed": .uint64(claimed), "banner-calls": .uint64(banners),
            "notification-server": .uint64(1),
        ]
        return Activity.Health(
            properties: [
                "Version": "1.0", "Pending": .uint32(1),
                "Statistics": .dictionary(statistics, keys: .string, values: .uint64),
            ],
            screens: [ListedScreen(id: 1, topic: "/run/r1/mate/영희", mode: .auto, state: .focused, owner: ":1.9")])
    }

    // MARK: Windows

    @Test func aWindowCountsDownUntilItsOutcome() {
        var activity = Activity()
        activity.receive(event(1, "/post/27", window: .milliseconds(100)), at: .seconds(5))
        #expect(activity.windows(at: .zero).map { $0.left(at: .milliseconds(5040)) } == [.milliseconds(60)])
        #expect(activity.isCountingDown(at: .milliseconds(5040)))
        #expect(!activity.isCountingDown(at: .milliseconds(5100)))
        #expect(activity.windows(at: .zero)[0].left(at: .seconds(6)) == .zero)
        activity.receive(outcome(1, "/post/27", .shown), at: .milliseconds(5101))
        #expect(activity.windows(at: .zero).isEmpty)
        #expect(activity.decisions.map(\.outcome.kind) == [.shown])
    }

    @Test func eventsOfATopicShareALineThatEndsWithTheLast() {
        var activity = Activity()
        activity.receive(event(1, "/post/27", window: .milliseconds(100)), at: .zero)
        activity.receive(event(2, "/post/27", window: .milliseconds(80)), at: .milliseconds(50))
        #expect(activity.windows(at: .zero).map(\.deadline) == [.milliseconds(130)])
        activity.receive(outcome(1, "/post/27", .claimed, latency: .milliseconds(60)), at: .milliseconds(60))
        #expect(activity.windows(at: .zero).map(\.events) == [[2]])
        activity.receive(outcome(2, "/post/27", .claimed, latency: .milliseconds(20)), at: .milliseconds(70))
        #expect(activity.windows(at: .zero).isEmpty)
    }

    @Test func aScreenThatIsOpenedLaterIsNoLatency() {
        var activity = Activity()
        var cleared = outcome(1, "/post/27", .retracted, latency: .seconds(66))
        cleared.form = "OpenScreen"
        activity.receive(cleared, at: .zero)
        activity.receive(outcome(2, "/post/27", .claimed, latency: .milliseconds(20)), at: .zero)
        #expect(activity.latencies.count == 1)
        #expect(activity.decisions.count == 2)
    }

    /// Unless its window was that long.
    @Test func aClaimOfAnEventThatSomebodyFindsLaterIsNoLatency() {
        var activity = Activity()
        activity.receive(outcome(1, "/post/27", .retracted, latency: .seconds(21)), at: .zero)
        #expect(activity.latencies.count == 0)
        activity.receive(event(2, "/post/27", window: .seconds(30)), at: .zero)
        activity.receive(outcome(2, "/post/27", .claimed, latency: .seconds(21)), at: .seconds(21))
        #expect(activity.latencies.count == 1)
    }

    /// It tells how long notifyd was away.
    @Test func aClaimAfterARestartIsNoLatency() {
        var activity = Activity()
        var again = event(1, "/post/27", window: .seconds(2))
        again.isReplayed = true
        activity.receive(again, at: .zero)
        activity.receive(outcome(1, "/post/27", .claimed, latency: .seconds(66)), at: .seconds(1))
        activity.receive(outcome(2, "/post/27", .claimed, latency: .milliseconds(20)), at: .seconds(1))
        #expect(activity.latencies.count == 1)
    }

    @Test(arguments: [nil, Duration.zero])
    func whereNoBannerIsPendingThereIsNoWindow(_ window: Duration?) {
        var activity = Activity()
        activity.receive(event(1, "/run/r1/mate/영희", window: window), at: .zero)
        #expect(activity.windows(at: .zero).isEmpty)
    }

    @Test func whatShouldBeOverIsAskedForAndWaitsIfItIsNot() {
        var activity = Activity()
        activity.receive(event(1, "/post/27", window: .milliseconds(100)), at: .zero)
        activity.receive(event(2, "/post/28", window: .seconds(10)), at: .zero)
        #expect(activity.doubtful(at: .milliseconds(400)) == [])
        #expect(activity.doubtful(at: .milliseconds(401)) == [1])
        activity.take(
            explanation(1, nil, deadline: 100_000, window: .milliseconds(100)), at: .seconds(1), epoch: .zero)
        #expect(activity.windows(at: .seconds(1)).map(\.isWaiting) == [false, true])
        // Not every second: there may be thousands of them.
        #expect(activity.doubtful(at: .milliseconds(10_999)) == [2])
        #expect(activity.doubtful(at: .seconds(11)) == [2, 1])
        activity.forget(1)
        #expect(activity.windows(at: .zero).map(\.topic) == ["/post/28"])
    }

    @Test func aWindowOpenedBeforeIsKnownFromItsExplanation() {
        var activity = Activity()
        activity.take(
            explanation(1, nil, deadline: 100_000_000, window: .seconds(60)), at: .seconds(7), epoch: .seconds(-80))
        #expect(activity.windows(at: .zero).map { $0.left(at: .seconds(7)) } == [.seconds(13)])
        #expect(activity.isCountingDown(at: .seconds(7)))
    }

    @Test func whatADaemonTakesWithItIsAnnouncedByTheNext() {
        var activity = Activity()
        #expect(Frame(activity: activity, now: .zero).lines()[0] == "asking notifyd")
        activity.take(health(published: 10), at: .zero)
        activity.receive(event(1, "/post/27", window: .seconds(1)), at: .zero)
        activity.loseDaemon()
        #expect(activity.windows(at: .zero).isEmpty)
        #expect(Frame(activity: activity, now: .zero).lines()[0] == "notifyd is not running; waiting for it")
        activity.receive(event(1, "/post/27", window: .seconds(2)), at: .seconds(1))
        #expect(activity.windows(at: .zero).map(\.deadline) == [.seconds(3)])
    }

    // MARK: Outcomes, latencies and rates

    @Test func whatIsReadAndHeardCountsOnce() {
        var activity = Activity()
        activity.receive(outcome(2, "/post/27", .claimed, latency: .milliseconds(20)), at: .zero)
        activity.receive(outcome(3, "/post/27", .claimed, latency: .milliseconds(30)), at: .zero)
        activity.take(
            (1...2).map { .init(id: EventID(rawValue: $0), by: ":1.8", after: .milliseconds(10), program: "reader") })
        activity.receive(outcome(1, "/post/27", .retracted, latency: .milliseconds(90)), at: .zero)
        #expect(activity.latencies.count == 3)
        #expect(activity.latencies.longest == .milliseconds(30))
        #expect(activity.recentClaims.rows.map(\.0).prefix(3) == ["all", "reader (:1.8)", ":1.7"])
    }

    @Test func anOutcomeThatIsHeardAndExplainedCountsOnce() {
        var activity = Activity()
        var claimed = explanation(1, .claimed, deadline: 1_000_000, window: .seconds(1))
        claimed.claims = [.init(by: ":1.7", after: .milliseconds(30), form: "Claim", verdict: .suppressed)]
        claimed.resolved = 30_000
        activity.take(claimed, at: .seconds(2), epoch: .zero)
        activity.receive(outcome(1, "/post/27", .claimed, latency: .milliseconds(30)), at: .seconds(2))
        #expect(activity.decisions.map(\.time) == [.milliseconds(30)])
        #expect(activity.latencies.count == 1)
        activity.receive(outcome(1, "/post/27", .retracted, latency: .milliseconds(40)), at: .seconds(3))
        #expect(activity.decisions.map(\.outcome.kind) == [.retracted, .claimed])
    }

    @Test func outcomesAreInTheOrderOfTheirTimesAndNotForEver() {
        var activity = Activity()
        for id in 1...150 { activity.receive(outcome(UInt64(id), "/a", .shown), at: .seconds(id)) }
        activity.receive(outcome(999, "/a", .shown), at: .milliseconds(149_500))
        #expect(activity.decisions.count == Activity.memory)
        #expect(activity.decisions.prefix(3).map(\.outcome.id) == [150, 999, 149])
    }

    @Test func ratesAreOfTheLastTenSeconds() {
        var activity = Activity()
        activity.take(health(published: 100), at: .zero)
        #expect(activity.rates == nil)
        for second in 1...20 {
            let count = UInt64(second)
            activity.take(health(published: 100 + count * 8, claimed: count * 4, banners: count), at: .seconds(second))
        }
        #expect(activity.rates == Rates.PerSecond(events: 8, claimed: 4, banners: 1))
        for second in 21...30 {
            activity.take(health(published: 260, claimed: 80, banners: 20), at: .seconds(second))
        }
        #expect(activity.rates == Rates.PerSecond(events: 0, claimed: 0, banners: 0))
        activity.take(health(published: 3), at: .seconds(31))
        #expect(activity.rates == nil)
    }

    // MARK: The picture

    private var busy: Activity {
        var activity = Activity()
        activity.take(health(published: 0), at: .zero)
        activity.take(health(published: 12, claimed: 3, banners: 1), at: .seconds(1))
        activity.receive(event(1, "/run/r1/mate/영희/finished", window: .milliseconds(100)), at: .seconds(1))
        activity.receive(event(2, "/post/27", window: .seconds(1)), at: .seconds(1))
        activity.receive(outcome(3, "/post/28", .claimed, latency: .milliseconds(30)), at: .milliseconds(500))
        return activity
    }

    @Test func theWholePicture() {
        #expect(
            Frame(activity: busy, now: .milliseconds(1050)).lines(width: 80, height: 16, footer: Cell("q ends it")) == [
                "notifyd 1.0   banners on   notification server there   1 undecided",
                "each second: 12.0 events, 3.0 claimed, 1.0 banners",
                "claims: 50% within 30.0 ms, 95% 30.0 ms, 99% 30.0 ms, longest 30.0 ms (1)",
                "",
                "Open windows (2)",
                "  /run/r1/mate/영희/finished   50 ms  [==========          ]  1 event",
                "  /post/27                    950 ms  [=================== ]  1 event",
                "",
                "Screens (1)",
                "  /run/r1/mate/영희  auto  focused  :1.9",
                "",
                "Recent outcomes",
                "  now  3  claimed  /post/28  by :1.7 after 30.0 ms",
                "",
                "",
                "q ends it",
            ])
    }

    @Test(arguments: [30, 40, 60]) func topicsAreTheLastToBeCut(_ width: Int) {
        var activity = busy
        let id: UInt64 = 1_795_231_492_321_669
        activity.receive(event(id, "/build/notifyd", window: .seconds(1)), at: .seconds(1))
        activity.receive(
            outcome(id, "/download/linux", .claimed, latency: .milliseconds(30)), at: .milliseconds(500))
        let lines = Frame(activity: activity, now: .milliseconds(1050)).lines(width: width, height: 24)
        for topic in ["/build/notifyd", "/post/27", "/post/28", "/download/linux"] {
            #expect(lines.contains { $0.contains(topic) }, "\(topic) is not in \(lines)")
        }
        #expect(width < 40 || lines.contains { $0.contains("claimed  /post/28") }, "\(lines)")
    }

    @Test(arguments: [1, 2, 5, 9, 12, 24, 60], [1, 10, 40, 80, 200])
    func thePictureFitsIntoEveryTerminal(_ height: Int, _ width: Int) {
        var activity = busy
        for id in 10...60 {
            activity.receive(event(UInt64(id), "/run/r1/mate/영희/\(id)", window: .seconds(5)), at: .seconds(1))
            activity.receive(outcome(UInt64(100 + id), "/post/\(id)", .shown), at: .seconds(1))
        }
        let lines = Frame(activity: activity, now: .seconds(2)).lines(width: width, height: height, footer: Cell("q"))
        #expect(lines.count == height)
        #expect(lines.allSatisfy { $0.columns <= width })
        #expect(lines.last == "q" || height == 1)
    }

    @Test func aWindowThatIsOverIsNotOpen() {
        var activity = Activity()
        activity.take(health(published: 0), at: .zero)
        activity.receive(event(1, "/post/27", window: .seconds(1)), at: .zero)
        let waiting = Explanation(
            id: 2, topic: "/post/28", route: "", key: "", published: 0, deadline: 0, window: .milliseconds(100))
        activity.take(waiting, at: .zero, epoch: .seconds(-60))
        let lines = Frame(activity: activity, now: .zero).lines(width: 80)
        #expect(lines.contains("Open windows (1), over and undecided (1)"))
    }

    @Test func whatDoesNotFitIsCounted() {
        var activity = Activity()
        activity.take(health(published: 0), at: .zero)
        for id in 1...30 { activity.receive(event(UInt64(id), "/post/\(id)", window: .seconds(5)), at: .zero) }
        #expect(Frame(activity: activity, now: .zero).lines(width: 80, height: 24).contains("  and 18 more"))
        #expect(Frame(activity: activity, now: .zero).lines(width: 80).count == 41)
    }
}
