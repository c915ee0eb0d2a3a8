import NotifyText
import Testing

import struct Routing.RouteTable

@testable import NotifyClient
@testable import notifyctl

/// The daemon's rules in virtual time, fed with what was recorded.
struct ReplayTests {
    private func push(
        _ id: UInt64, _ topic: String = "/post/27", at time: Int64, outcome: Outcome.Kind = .claimed,
        claimedAfter: Int64? = nil, window: Int64 = 100
    ) -> Explanation {
        Explanation(
            id: EventID(rawValue: id), topic: topic, route: "/post/{id}", key: topic,
            published: 1_700_000_000_000_000 + time * 1000, window: .milliseconds(window), outcome: outcome,
            claims: claimedAfter.map {
                [.init(by: ":1.2", after: .milliseconds($0), form: "Claim", verdict: .suppressed)]
            } ?? [],
            sender: ":1.1")
    }

    @Test func theRecordedWindowMakesWhatWasRecorded() throws {
        let result = try Simulation.run([
            push(1, at: 0, claimedAfter: 80), push(2, "/post/28", at: 10, outcome: .shown),
            push(3, "/post/29", at: 20, outcome: .retracted, claimedAfter: 130),
        ])
        #expect(result == Simulation.Result(shown: [2, 3], claimed: [1], banners: 2))
    }

    @Test func aShorterWindowShowsWhatWasClaimedLater() throws {
        let whatIf = try ReplayReport(
            [push(1, at: 0, claimedAfter: 80), push(2, "/post/28", at: 10, claimedAfter: 60)], window: .milliseconds(60)
        )
        #expect(whatIf.more.map(\.id) == [1])
        #expect(whatIf.fewer.isEmpty)
    }

    @Test func aLongerWindowCatchesLateClaims() throws {
        let whatIf = try ReplayReport(
            [push(1, at: 0, outcome: .retracted, claimedAfter: 130), push(2, "/post/28", at: 0, outcome: .shown)],
            window: .milliseconds(150))
        #expect(whatIf.fewer.map(\.id) == [1])
        #expect(whatIf.more.isEmpty)
    }

    @Test func eventsOfOneKeyKeepTheirWindowOpen() throws {
        let pushes = [
            push(1, at: 0, outcome: .shown), push(2, at: 90, outcome: .shown), push(3, at: 180, outcome: .shown),
        ]
        #expect(try Simulation.run(pushes).banners == 1)
        // The second comes when the banner of the first is up, and updates it.
        let apart = try Simulation.run(pushes, window: .milliseconds(50))
        #expect(apart == Simulation.Result(shown: [1, 2, 3], claimed: [], banners: 1))
    }

    @Test func theRoutesOfAConfigurationDecide() throws {
        let routes = try ConfiguredRoutes.parse([
            "topic=/post/{id}\tbanner=true\twindow=200000\tmax_window=1000000\twait=anyone\tcoalesce=topic",
            "topic=/post/28\tbanner=false\twindow=100000\tmax_window=500000\twait=anyone\tcoalesce=none",
            "banner=true\twindow=100000\tmax_window=500000\twait=anyone\tcoalesce=topic",
        ])
        let whatIf = try ReplayReport(
            [push(1, at: 0, outcome: .retracted, claimedAfter: 130), push(2, "/post/28", at: 0, outcome: .shown)],
            routes: routes, window: nil)
        #expect(whatIf.fewer.map(\.id) == [1, 2])
        #expect(throws: (any Error).self) { try ConfiguredRoutes.parse(["topic=/a"]) }
    }

    @Test func theWindowOfThePublisherStandsWithAnyRoutes() throws {
        func routes(_ window: Int) throws -> RouteTable {
            try ConfiguredRoutes.parse(
                ["topic=/post/{id}\tbanner=true\twindow=\(window)\tmax_window=1000000\twait=anyone\tcoalesce=topic"]
                    + ["banner=true\twindow=100000\tmax_window=500000\twait=anyone\tcoalesce=topic"])
        }
        // Both were claimed after 80 ms: one within the window of its route, the other within its publisher's.
        let ofRoute = push(1, at: 0, claimedAfter: 80)
        let ofPublisher = push(2, "/post/28", at: 0, claimedAfter: 80, window: 2000)
        let whatIf = try ReplayReport(
            [ofRoute, ofPublisher], routes: try routes(50_000), present: try routes(100_000), window: nil)
        #expect(whatIf.more.map(\.id) == [1])
        // One that joined a window late had less of it.
        var joined = push(3, "/post/29", at: 0, window: 60)
        joined.opened = joined.published - 2000
        #expect(try joined.publishersWindow(under: try routes(100_000)) == nil)
        joined.opened = nil
        #expect(try joined.publishersWindow(under: try routes(100_000)) == .milliseconds(60))
    }

    @Test func aMutedEventIsShownIfItsRouteBreaksThrough() throws {
        let routes = try ConfiguredRoutes.parse([
            "topic=/post/{id}\tbanner=true\twindow=100000\tmax_window=500000"
                + "\twait=anyone\tcoalesce=topic\tbreak_through=true",
            "banner=true\twindow=100000\tmax_window=500000\twait=anyone\tcoalesce=topic\tbreak_through=false",
        ])
        let pushes = [push(1, at: 0, outcome: .muted), push(2, "/chat/1", at: 0, outcome: .muted)]
        let whatIf = try ReplayReport(pushes, routes: routes, window: nil)
        #expect(whatIf.more.map(\.id) == [1])
        #expect(whatIf.text.hasPrefix("1 events with a window: 0 claimed in time, 0 claimed later, 1 not claimed."))
        #expect(!whatIf.text.contains("Played with its own windows"))
    }

    @Test func whatNoWindowDecidedPlaysNoPart() throws {
        #expect(try Simulation.run([push(1, at: 0, outcome: .silent), push(2, at: 0, outcome: .muted)]).banners == 0)
        #expect(try Simulation.run([]) == Simulation.Result())
    }

    @Test func theSmallestWindowIsTheOneThatCatchesEnough() {
        let latencies = Latencies((1...100).map { .milliseconds($0) - .microseconds(500) })
        #expect(latencies.window(catching: 95) == .milliseconds(95))
        #expect(latencies.window(catching: 99) == .milliseconds(99))
        #expect(Latencies([.microseconds(1)]).window(catching: 99) == .milliseconds(1))
        #expect(Latencies([.seconds(61)]).window(catching: 95) == nil)
        #expect(Latencies([]).reached(by: 50) == nil)
    }

    @Test func aMuteNamesTheRoutesThatBreakThrough() throws {
        func route(_ topic: String, _ breaksThrough: Bool) -> String {
            "topic=\(topic)\tbanner=true\twindow=1\tmax_window=1\tcoalesce=topic\tbreak_through=\(breaksThrough)"
        }
        let table = try ConfiguredRoutes.parse(
            [
                route("/alarm/{id}", true), route("/alarm/test", false), route("/{user}/fire", true),
                route("/door/{id}/**", true), route("/door/front/bell", false),
            ])
        func named(_ topic: String) throws -> [String] {
            try ConfiguredRoutes.breakingThrough(at: topic, in: table)
        }
        #expect(try named("/alarm/x") == ["/alarm/{id}"])
        #expect(try named("/alarm/test") == [])
        #expect(try named("/alarm") == ["/alarm/{id}", "/{user}/fire"])
        #expect(try named("/") == ["/alarm/{id}", "/{user}/fire", "/door/{id}/**"])
        #expect(try named("/post/27/fire") == [])
        for topic in ["/door/back", "/door/back/open/1", "/door/front/bell"] {
            #expect(try named(topic) == ["/door/{id}/**"])
        }
        #expect(try named("/door") == ["/{user}/fire", "/door/{id}/**"])
        #expect(try named("/doors/back") == [])
    }

    private func explanation(_ claims: [(String, Int64, Verdict)], _ outcome: Outcome.Kind = .claimed) -> Explanation {
        Explanation(
            id: 7, topic: "/post/27", route: "/post/{id}", key: "/post/27", published: 0, window: .milliseconds(100),
            outcome: outcome,
            claims: claims.map { Explanation.Claim(by: ":1.2", after: .milliseconds($1), form: $0, verdict: $2) })
    }

    @Test(arguments: ["OpenScreen", "ClaimTopic"])
    func aScreenThatIsOpenedLaterNeedsNoLongerWindow(_ form: String) throws {
        let cleared = explanation([(form, 66_510, .retracted)], .retracted)
        #expect(cleared.answers.isEmpty)
        #expect(explanation([(form, 0, .suppressed)]).answers.map(\.after) == [.zero])
        let whatIf = try ReplayReport(
            [cleared, push(1, "/post/28", at: 0, claimedAfter: 30)], window: .milliseconds(60))
        #expect(whatIf.latencies.window(catching: 99) == .milliseconds(30))
        #expect(whatIf.text.hasPrefix("2 events with a window: 1 claimed in time, 1 claimed later, 0 not claimed."))
    }

    /// Such as a key in the inbox, or `listen --since 0 --claim`.
    @Test func aClaimOfAnEventThatSomebodyFindsLaterIsNoAnswer() throws {
        let found = explanation([("Claim", 21_070, .retracted)], .retracted)
        #expect(found.answers.isEmpty)
        #expect(explanation([("Claim", 2_000, .retracted)], .retracted).answers.count == 1)
        var patient = explanation([("Claim", 21_070, .suppressed)])
        patient.window = .seconds(30)
        #expect(patient.answers.map(\.after) == [.milliseconds(21_070)])
        let report = try ReplayReport(
            [found, push(1, "/post/28", at: 0, claimedAfter: 30)], window: .milliseconds(60))
        #expect(report.latencies.count == 1)
        #expect(report.latencies.window(catching: 99) == .milliseconds(30))
        // It is still a claim.
        #expect(report.text.hasPrefix("2 events with a window: 1 claimed in time, 1 claimed later, 0 not claimed."))
    }

    @Test func aHoldCountsOnceAndOnlyIfItWasConfirmed() throws {
        let confirmed = explanation([("ClaimProvisionally", 5, .suppressed), ("Complete", 60, .suppressed)])
        #expect(confirmed.answers.map(\.after) == [.milliseconds(5)])
        let released = explanation([("ClaimProvisionally", 5, .suppressed), ("Release", 60, .recorded)], .shown)
        #expect(released.answers.isEmpty)
        // Replayed, it is not a claim: the banner appears as it did.
        let result = try Simulation.run([released])
        #expect(result == Simulation.Result(shown: [7], claimed: [], banners: 1))
    }

    /// The restart ends a hold without a step.
    @Test func aHoldThatARestartEndedDecidesNothing() throws {
        let late = explanation([("ClaimProvisionally", 5, .suppressed), ("Claim", 9000, .recorded)], .retracted)
        #expect(late.decidingClaim?.form == "Claim")
        #expect(Outcome(late)?.latency == .seconds(9))
        #expect(late.effectiveClaims.map(\.form) == ["Claim"])
        let again = explanation(
            [
                ("ClaimProvisionally", 5, .suppressed), ("ClaimProvisionally", 700, .suppressed),
                ("ClaimProvisionally", 800, .recorded), ("Complete", 900, .suppressed),
            ])
        #expect(again.decidingClaim?.after == .milliseconds(700))
        // A journal of an earlier version has no step for the confirmation.
        #expect(explanation([("ClaimProvisionally", 5, .suppressed)]).decidingClaim?.after == .milliseconds(5))
    }

    private func answer(_ by: String, _ milliseconds: Int) -> RecentClaims.Answer {
        RecentClaims.Answer(id: 1, by: by, after: .milliseconds(milliseconds), program: nil)
    }

    @Test func theClaimantsThatAreNotListedAreCounted() {
        let few = RecentClaims((1...5).map { answer(":1.\($0)", 3) })
        #expect(!few.rows.contains { $0.0.hasPrefix("and ") })
        let many = RecentClaims((1...8).map { answer(":1.\($0)", 3) })
        #expect(many.rows.map(\.0).suffix(3) == [":1.5", "and 3 more", "window that would have sufficed"])
        #expect(many.json.text(pretty: false).contains(#""more-claimants":3"#))
    }

    @Test func aClaimantIsToldFromTheOthers() {
        let recent = RecentClaims([answer(":1.2", 3), answer(":1.3", 9), answer(":1.3", 8)])
        #expect(recent.rows.map(\.0) == ["all", ":1.3", ":1.2", "window that would have sufficed"])
        #expect(recent.rows[3].1 == "9 ms for 95 of 100 claims, 9 ms for 99 of 100 claims")
        #expect(recent.rows[0].1 == "50% within 8.0 ms, 95% 9.0 ms, 99% 9.0 ms, longest 9.0 ms (3)")
    }
}
