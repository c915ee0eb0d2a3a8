import Journal
import Routing
import Testing

@testable import NotifyDaemon

/// What `Explain` says of the claims on an event, and why it is so.
struct ExplanationTests {
    private static let second: Int64 = 1_000_000

    private func event(_ decision: StoredDecision?) throws -> StoredEvent {
        StoredEvent(
            id: EventID(1), topic: try Topic("/post/27"), title: "", body: "", fields: [], published: 0, sender: ":1.5",
            origin: Origin(), urgency: nil, retained: false, route: "/post/{id}", key: "/post/27", window: 100_000,
            accepted: 0, expires: Expiry(wall: 60 * Self.second, uptime: 60 * Self.second, boot: "boot"),
            decision: decision)
    }

    private func explanation(
        _ decision: StoredDecision?, _ claims: [ClaimRecord] = [], _ state: Explanation.State = .init()
    ) throws -> Explanation {
        Explanation(event: try event(decision), claims: claims, state: state)
    }

    private func step(
        _ form: ClaimForm, after latency: Duration?, _ verdict: Verdict = .recorded, by claimant: String = ":1.9"
    ) -> ClaimRecord {
        ClaimRecord(claimant: claimant, latency: latency, form: form, verdict: verdict)
    }

    private func claimed(_ outcome: Outcome, after latency: Int64?, _ verdict: Verdict? = nil) -> StoredDecision {
        var decision = StoredDecision(outcome: outcome, resolved: Self.second)
        decision.claimant = ":1.7"
        decision.latency = latency
        decision.form = .claim
        if outcome == .retracted { decision.lateness = 0 }
        decision.verdict = verdict ?? (outcome == .claimed ? .suppressed : outcome == .retracted ? .retracted : nil)
        return decision
    }

    private func shown(_ delay: BannerDelay? = nil, late: Int64 = 0) -> StoredDecision {
        var decision = StoredDecision(outcome: .shown, resolved: Self.second)
        decision.opened = 0
        decision.deadline = 100_000
        decision.lateness = late
        decision.delay = delay
        return decision
    }

    // MARK: Quiet

    @Test(arguments: [BannerDelay.absent, nil])
    func whatBrokeThroughAMuteSaysWhich(_ delay: BannerDelay?) throws {
        var decision = shown(delay, late: 1000)
        decision.brokenThrough = "muted /busy 7 through"
        let reason = try explanation(decision).reason
        #expect(reason.hasSuffix("Its topic was muted: /busy 7 through. Its route breaks through."))
        let later = claimed(.retracted, after: Self.second, .recorded).following(decision)
        #expect(later.brokenThrough == decision.brokenThrough)
        #expect(later.delay == delay)
        #expect(later.verdict == .recorded)
        #expect(later.successor == nil)
    }

    // MARK: Claims

    @Test func theDecidingClaimKeepsItsOwnVerdict() throws {
        let late = try explanation(claimed(.retracted, after: Self.second, .recorded))
        #expect(late.allClaims.map(\.verdict) == [.recorded])
        #expect(late.reason.contains("No banner was closed for it"))
        let closing = try explanation(claimed(.retracted, after: Self.second, .retracted))
        #expect(closing.allClaims.map(\.verdict) == [.retracted])
        #expect(!closing.reason.contains("No banner"))
        #expect(try explanation(claimed(.claimed, after: 0)).allClaims.map(\.verdict) == [.suppressed])
    }

    @Test func anEventThatWasClaimedOnItsWayWasNotShown() throws {
        var decision = claimed(.retracted, after: Self.second, .retracted)
        decision.lateness = nil
        let reason = try explanation(decision).reason
        #expect(reason.contains("after it was sent to the notification server"))
        #expect(!reason.contains("It was shown"))
    }

    @Test(arguments: [Int64(20_000), nil])
    func aSecondClaimComesAfterTheOneThatDecided(_ latency: Int64?) throws {
        let after = latency.map { Duration.microseconds($0 + 10_000) }
        let before = latency.map { Duration.microseconds($0 - 10_000) }
        let steps = [
            step(.provisional, after: before, .suppressed), step(.released, after: before), step(.claim, after: after),
        ]
        let explanation = try explanation(claimed(.claimed, after: latency), steps)
        #expect(explanation.allClaims.map(\.claimant) == [":1.9", ":1.9", ":1.7", ":1.9"])
    }

    @Test(arguments: [Duration.milliseconds(10), nil])
    func aConfirmedClaimIsThereOnce(_ latency: Duration?) throws {
        var decision = claimed(.claimed, after: latency?.microseconds)
        decision.form = .provisional
        let steps = [
            step(.provisional, after: latency, .suppressed, by: ":1.7"),
            step(.completed, after: latency, .suppressed, by: ":1.7"),
        ]
        #expect(try explanation(decision, steps).allClaims == steps)
    }

    @Test func aConfirmedClaimHasBothTimes() throws {
        var decision = claimed(.claimed, after: 7900)
        decision.form = .provisional
        let steps = [
            step(.provisional, after: .microseconds(7900), .suppressed, by: ":1.7"),
            step(.completed, after: .milliseconds(547), .suppressed, by: ":1.7"),
        ]
        #expect(
            try explanation(decision, steps).reason
                == ":1.7 held it 7.9 ms after it was published, and confirmed it after 547.0 ms.")
        #expect(try explanation(decision).reason.contains("claimed it (ClaimProvisionally) 7.9 ms"))
    }

    // MARK: Snooze

    @Test func whatCameBackAfterASnoozeSaysSo() throws {
        let snooze = [step(.snooze, after: .seconds(1))]
        #expect(try explanation(shown(), snooze).reason == "It was shown, :1.9 snoozed it, and its banner came back.")
        var muted = StoredDecision(outcome: .muted, resolved: Self.second)
        muted.cause = "muted /busy"
        var again = StoredDecision(outcome: .shown, resolved: 60 * Self.second)
        again.delay = .absent
        let returned = again.following(muted)
        #expect(returned.delay == .absent)
        #expect(
            try explanation(returned, snooze).reason.hasPrefix(
                "It was muted, :1.9 snoozed it, and its banner came back."))
        #expect(again.following(returned).wasMuted)
        #expect(claimed(.retracted, after: Self.second).following(returned).wasMuted)
        #expect(
            try explanation(muted, snooze).reason
                == "Its snooze was over, and banners were held back. Its topic was muted: /busy.")
    }

    @Test func aMutedEventThatIsSnoozedSaysOnlyWhatMutedIt() throws {
        var decision = StoredDecision(outcome: .muted, resolved: Self.second)
        decision.cause = "muted /busy"
        var explanation = try explanation(decision, [step(.snooze, after: .seconds(1))])
        explanation.snoozeEnd = 60 * Self.second
        #expect(explanation.reason.hasPrefix("Its topic was muted: /busy. It is snoozed: its banner comes back at "))
    }

    // MARK: Reasons

    @Test func aWindowOfNoLengthIsNotCalledAWindow() throws {
        var event = try event(shown())
        event.window = 0
        var explanation = Explanation(event: event, claims: [], state: .init())
        #expect(explanation.reason == "Its window was 0, so nobody was waited for.")
        explanation.waitsForScreens = true
        #expect(explanation.reason == "Its route waits for screens only, and no screen covered its topic.")
    }

    @Test(arguments: [
        (BannerDelay.absent, "there was no notification server"), (.resting, "left alone"), (.failed, "refused"),
        (.limited, "too many in a second"), (.busy, "had not answered an earlier call"),
    ])
    func aLateBannerHasItsReason(_ delay: BannerDelay, _ words: String) throws {
        let reason = try explanation(shown(delay, late: 37 * Self.second)).reason
        #expect(reason.hasPrefix("Nobody claimed it within its window of 100 ms. Its banner came 37.00 s later: "))
        #expect(reason.contains(words))
    }

    @Test func aBannerInTimeHasNoReasonToBeLate() throws {
        #expect(try explanation(shown()).reason == "Nobody claimed it within its window of 100 ms.")
    }

    @Test func aFreshWindowIsNotTheOneOfTheRoute() throws {
        var decision = shown()
        decision.isReplayed = true
        decision.opened = 30 * Self.second
        decision.deadline = 32 * Self.second
        #expect(
            try explanation(decision).reason
                == "Nobody claimed it in the 2.00 s that it had after a restart of notifyd.")
    }

    @Test func anEventThatIsNoMoreSaysWhoseDoingThatWas() throws {
        var decision = StoredDecision(outcome: .withdrawn, resolved: Self.second)
        decision.claimant = ":1.7"
        decision.program = "ci.service"
        #expect(try explanation(decision).reason == "ci.service (:1.7) withdrew it.")
        #expect(try explanation(decision).allClaims.isEmpty)
        decision = StoredDecision(outcome: .replaced, resolved: Self.second)
        decision.successor = EventID(7)
        #expect(try explanation(decision).reason == "Event 7 with the same collapse took its place.")
        decision.banner = 3
        #expect(
            try explanation(decision.following(shown(.absent))).reason
                == "It was shown. Event 7 with the same collapse took its place.")
    }

    @Test func aLatencyThatNoClockKnowsIsNotMadeUp() throws {
        let reason = try explanation(claimed(.claimed, after: nil)).reason
        #expect(reason.contains("after a restart of the machine, so that its latency is not known"))
    }

    @Test(
        arguments: [
            (nil, "not announced it again"), (.window, "Its window is open"), (.held(by: ":1.9"), ":1.9 holds it"),
            (.asked, "has been asked"), (.waiting(.absent), "there is no notification server"),
            (.waiting(.resting), "failed several times"), (.waiting(.limited), "too many banners"),
            (.waiting(.busy), "an earlier call"),
        ] as [(Progress?, String)])
    func anUndecidedEventSaysWhatIsAwaited(_ progress: Progress?, _ words: String) throws {
        #expect(try explanation(nil, [], .init(progress: progress)).reason.contains(words))
    }

    /// The moments of the journal are of a clock that others set, and are read one after the other.
    @Test(arguments: [-600, -33, 0, 3_600_000_000] as [Int64])
    func aFailedHoldIsToldWhateverTheClocksSay(_ error: Int64) throws {
        var decision = shown()
        decision.opened = error
        decision.deadline = 400_000 + error
        let hold = step(.provisional, after: .milliseconds(10), .suppressed)
        for form in [ClaimForm.ranOut, .released, .left] {
            let reason = try explanation(decision, [hold, step(form, after: .milliseconds(400))]).reason
            #expect(reason.hasPrefix(":1.9 held it "), "\(reason)")
            #expect(!reason.contains("window"), "\(reason)")
        }
        // Where the window went on after the hold, it is the window that decided.
        let early = try explanation(decision, [hold, step(.ranOut, after: .milliseconds(100))])
        #expect(
            early.reason
                == "Nobody claimed it within its window of 100 ms. :1.9 held it and did not confirm it in time.")
        decision.isReplayed = true
        decision.opened = error + 380_000
        let lost = try explanation(decision, [hold, step(.ranOut, after: .milliseconds(100))])
        #expect(lost.reason.hasPrefix("Nobody claimed it"))
    }

    @Test func aReleaseSaysWhenItWas() throws {
        let steps = [
            step(.provisional, after: .milliseconds(10), .suppressed), step(.released, after: .milliseconds(340)),
        ]
        var decision = shown()
        decision.deadline = 340_000
        #expect(
            try explanation(decision, steps).reason
                == ":1.9 held it until 340.0 ms after it was published, and then released it.")
    }

    /// A later claim, which changes nothing, does not hide that a claim came to nothing.
    @Test func aFailedHoldIsNamedThoughStepsFollow() throws {
        let steps = [
            step(.provisional, after: .milliseconds(10), .suppressed), step(.ranOut, after: .milliseconds(300)),
            step(.provisional, after: .milliseconds(400)),
        ]
        #expect(try explanation(shown(), steps).reason == ":1.9 held it and did not confirm it in time.")
    }
}
