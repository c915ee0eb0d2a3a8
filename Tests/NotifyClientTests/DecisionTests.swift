import Testing

@testable import NotifyClient
@testable import notifyctl

/// The drawing of a decision: what happened when, and why.
struct DecisionTests {
    private let start: Int64 = 1_700_000_000_000_000

    private func explanation(_ outcome: Outcome.Kind?, resolved: Int64? = nil) -> Explanation {
        Explanation(
            id: 7, topic: "/post/27", route: "/post/{id}", key: "/post/27", published: start, opened: start,
            deadline: start + 100_000, resolved: resolved.map { start + $0 * 1000 }, window: .milliseconds(100),
            outcome: outcome, reason: "So it is.", sender: ":1.1")
    }

    private func claim(_ milliseconds: Int64, _ verdict: Verdict, by: String = ":1.2") -> Explanation.Claim {
        Explanation.Claim(by: by, after: .milliseconds(milliseconds), form: "Claim", verdict: verdict)
    }

    private func drawing(_ explanation: Explanation) -> [String] { Decision(explanation).timeline().lines() }

    @Test func aClaimInTimeClosesTheWindow() {
        var decision = explanation(.claimed, resolved: 40)
        decision.claims = [claim(40, .suppressed)]
        #expect(
            drawing(decision) == [
                "             0 ms 25   50   75   100  125",
                "             |    |    |    |    |    |",
                "  publisher  P-------------------------  :1.1 published it",
                "  window     [=======]-----------------  closed at 40.0 ms; it would have ended at 100.0 ms",
                "  :1.2       --------C-----------------  Claim at 40.0 ms: suppressed",
                "  banner     --------------------------  none",
            ])
    }

    @Test func noWindowEndsBeforeTheClaimThatEndedIt() {
        var decision = explanation(.claimed, resolved: 40)
        decision.claims = [claim(41, .suppressed)]
        #expect(drawing(decision)[3].hasSuffix("closed at 41.0 ms; it would have ended at 100.0 ms"))
    }

    @Test func aClaimantIsCalledByItsProgram() {
        var decision = explanation(.claimed, resolved: 40)
        decision.claims = [claim(40, .suppressed)]
        decision.claims[0].program = "fire\u{1b}fox"
        #expect(drawing(decision)[4].hasPrefix("  fire\\u{1b}fox (:1.2)  --------C--"))
        let narrow = Decision(decision).lines(within: 40)
        #expect(narrow.contains { $0.hasPrefix("  :1.2       --------C--") })
        #expect(narrow.contains { $0.contains("fire\\u{1b}fox (:1.2):") })
        #expect(narrow.allSatisfy { $0.columns <= 40 })
    }

    @Test func aLateClaimTakesTheBannerBack() {
        var decision = explanation(.retracted, resolved: 180)
        decision.claims = [claim(20, .recorded, by: ":1.3"), claim(180, .retracted)]
        decision.lateness = .microseconds(250)
        #expect(
            drawing(decision) == [
                "             0 ms 50   100  150  200  250",
                "             |    |    |    |    |    |",
                "  publisher  P-------------------------  :1.1 published it",
                "  window     [=========]---------------  ends at 100.0 ms, its timer came 250 µs late",
                "  :1.3       --c-----------------------  Claim at 20.0 ms: recorded",
                "  :1.2       ------------------C-------  Claim at 180.0 ms: retracted",
                "  banner     ----------B#######x-------  at 100.3 ms, taken back at 180.0 ms",
            ])
    }

    /// The journal keeps the last outcome only, and times before a snooze are not told about the banner after it.
    @Test(
        arguments: [
            (.shown, 110, "at 100.0 ms, snoozed at 300.0 ms"), (.shown, 60_300, "back at 60.30 s"),
            (.claimed, 500, "none since it was snoozed at 300.0 ms"),
            (.retracted, 60_300, "back after it was snoozed at 300.0 ms, claimed at 60.30 s"),
            (.dismissed, 60_300, "back after it was snoozed at 300.0 ms, closed by the user at 60.30 s"),
            (.muted, 60_300, "none after it was snoozed at 300.0 ms"),
            (.withdrawn, 500, "there may have been one before and after it was snoozed at 300.0 ms"),
        ] as [(Outcome.Kind, Int64, String)])
    func aSnoozedEventHasNoBannerMeanwhile(_ outcome: Outcome.Kind, _ resolved: Int64, _ note: String) {
        var decision = explanation(outcome, resolved: resolved)
        decision.claims = [
            Explanation.Claim(by: ":1.2", after: .milliseconds(300), form: "Snooze", verdict: .recorded)
        ]
        #expect(drawing(decision).last?.hasSuffix(note) == true)
    }

    @Test func aMutedEventHasNoBannerBeforeItsSnoozeEither() {
        var decision = explanation(.muted, resolved: 100)
        decision.snoozed = start + 60_300_000
        decision.claims = [
            Explanation.Claim(by: ":1.2", after: .milliseconds(300), form: "Snooze", verdict: .recorded)
        ]
        #expect(drawing(decision).last?.hasSuffix("none; it was snoozed at 300.0 ms") == true)
    }

    @Test func aHoldThatWasConfirmedHasBothTimes() {
        let held = Outcome(
            id: 7, topic: "/post/27", kind: .claimed, by: ":1.2", latency: .microseconds(7900),
            form: "ClaimProvisionally")
        #expect(
            held.line(confirmed: .milliseconds(547)) == "claimed by :1.2 held after 7.9 ms, confirmed after 547.0 ms")
        #expect(held.line() == "claimed by :1.2 held after 7.9 ms")
    }

    @Test(
        arguments: [
            (.shown, "at 100.3 ms; the notification server answered at 400.0 ms"),
            (.dismissed, "at 100.3 ms, closed by the user at 400.0 ms"), (.retracted, "at 100.3 ms, not taken back"),
        ] as [(Outcome.Kind, String)])
    func aBannerHasTheSameTimeWhateverBecomesOfIt(_ outcome: Outcome.Kind, _ note: String) {
        var decision = explanation(outcome, resolved: 400)
        decision.lateness = .microseconds(250)
        let banner = drawing(decision).last
        #expect(banner?.hasPrefix("  banner     -----B####") == true && banner?.hasSuffix(note) == true)
    }

    @Test(arguments: [
        ("Release", "released at 40.0 ms"), ("ranout", "not confirmed in time, which ended at 40.0 ms"),
        ("left", "left the bus at 40.0 ms"),
    ])
    func aHoldThatCameToNothingIsDrawn(_ form: String, _ words: String) {
        var decision = explanation(.shown, resolved: 100)
        decision.claims = [
            Explanation.Claim(by: ":1.2", after: .milliseconds(10), form: "ClaimProvisionally", verdict: .suppressed),
            Explanation.Claim(by: ":1.2", after: .milliseconds(40), form: form, verdict: .recorded),
        ]
        #expect(
            drawing(decision)[4]
                == "  :1.2       -C--r---------------------  ClaimProvisionally at 10.0 ms: held; \(words)")
    }

    @Test func aBannerThatIsUpStaysToTheEdge() {
        let lines = drawing(explanation(.shown, resolved: 100))
        #expect(lines[4] == "  banner     ----------B###############  at 100.0 ms")
    }

    @Test func aBannerThatWaitedIsNotALateTimer() {
        var decision = explanation(.shown, resolved: 37_100)
        decision.lateness = .seconds(37)
        decision.delay = .absent
        let lines = drawing(decision)
        #expect(lines[3].hasSuffix("ends at 100.0 ms"))
        #expect(lines[4].hasSuffix("at 37.10 s, 37.00 s late: no notification server"))
    }

    @Test func anEventThatWasClaimedOnItsWayHasNoBanner() {
        var decision = explanation(.retracted, resolved: 180)
        decision.claims = [claim(180, .retracted)]
        #expect(drawing(decision)[5].hasSuffix("claimed before the notification server answered"))
        #expect(!drawing(decision)[5].contains("B#"))
    }

    @Test func aClaimThatClosedNoBannerTakesNoneBack() {
        var decision = explanation(.retracted, resolved: 180)
        decision.claims = [claim(180, .recorded)]
        decision.lateness = .zero
        let lines = drawing(decision)
        #expect(lines[4].hasSuffix("Claim at 180.0 ms: recorded"))
        #expect(lines[5].hasSuffix("at 100.0 ms, not taken back"))
        #expect(!lines[5].contains("x"))
    }

    @Test(arguments: [Outcome.Kind.withdrawn, .replaced])
    func whatIsNoMoreEndsItsWindowOrItsBanner(_ outcome: Outcome.Kind) {
        let early = drawing(explanation(outcome, resolved: 40))
        #expect(early[3].hasSuffix("closed at 40.0 ms; it would have ended at 100.0 ms"))
        #expect(early[4].hasSuffix("none"))
        var decision = explanation(outcome, resolved: 180)
        decision.lateness = .zero
        #expect(drawing(decision)[4].hasSuffix("----------B#######x-------  at 100.0 ms, \(outcome) at 180.0 ms"))
    }

    @Test func afterARestartTimesCountFromPublishing() {
        var decision = explanation(.claimed, resolved: 31_000)
        decision.accepted = start
        decision.isReplayed = true
        decision.opened = start + 30_000_000
        decision.deadline = start + 32_000_000
        decision.claims = [claim(31_000, .suppressed)]
        let lines = drawing(decision)
        #expect(
            lines[3].hasSuffix(
                "opened again at 30.00 s after a restart of notifyd, closed at 31.00 s; it would have ended at 32.00 s")
        )
        #expect(lines[4].hasSuffix("Claim at 31.00 s: suppressed"))
    }

    @Test func afterAnotherBootNoTimeIsMadeUp() {
        var decision = explanation(.claimed, resolved: 31_000)
        decision.accepted = start - 3_600_000_000
        decision.isReplayed = true
        decision.isOfEarlierBoot = true
        decision.opened = start + 30_000_000
        decision.deadline = start + 32_000_000
        decision.claims = [
            Explanation.Claim(by: ":1.3", after: nil, form: "ClaimProvisionally", verdict: .recorded),
            Explanation.Claim(by: ":1.2", after: nil, form: "Claim", verdict: .suppressed),
        ]
        let lines = drawing(decision)
        #expect(lines[2].hasSuffix("before the machine was started; times count from its new window"))
        #expect(lines[3].hasSuffix("closed at 1.00 s; it would have ended at 2.00 s"))
        #expect(lines[4] == "  :1.3       --------------------------  ClaimProvisionally: recorded")
        #expect(lines[5].hasSuffix("Claim at 1.00 s: suppressed"))
    }

    @Test func aWallClockThatWasSetMovesNothing() {
        var decision = explanation(.shown, resolved: 100)
        decision.accepted = start + 3_600_000_000
        decision.published = start + 3_600_000_000
        #expect(drawing(decision)[3].contains("[=========]"))
    }

    @Test func aNarrowTerminalBreaksNoWord() {
        var decision = explanation(.claimed, resolved: 40)
        decision.claims = [claim(40, .suppressed)]
        let lines = Decision(decision).lines(within: 40)
        #expect(lines.contains("  :1.2       --------C-----------------"))
        #expect(lines.contains("    Claim at 40.0 ms: suppressed"))
        for line in lines { #expect(line.columns <= 40) }
    }

    @Test func whatIsUndecidedIsOpen() {
        let lines = Decision(explanation(nil)).lines()
        #expect(lines.contains { $0.hasPrefix("  window     [=========>") })
        #expect(lines.last == "  undecided: So it is.")
    }

    @Test func aWindowThatIsOverIsClosedThoughNothingIsDecided() {
        let open = Decision(explanation(nil), now: start + 99_000).lines()
        #expect(open.contains { $0.hasPrefix("  window     [=========>") })
        let over = Decision(explanation(nil), now: start + 100_000).lines()
        #expect(over.contains { $0.hasPrefix("  window     [=========]") })
    }

    /// The deadline is of another clock than the claims.
    @Test(arguments: [0, -600, 600] as [Int64])
    func aHoldThatOutlastsTheWindowIsNamed(_ error: Int64) {
        var decision = explanation(.shown, resolved: 200)
        decision.deadline = start + 200_000 + error
        decision.lateness = .zero
        decision.claims = [
            Explanation.Claim(by: ":1.2", after: .milliseconds(10), form: "ClaimProvisionally", verdict: .suppressed),
            Explanation.Claim(by: ":1.2", after: .milliseconds(200), form: "ranout", verdict: .recorded),
        ]
        #expect(drawing(decision)[3].contains("it was held until "))
        #expect(drawing(decision)[3].hasSuffix(", and its banner was due then"))
    }

    @Test func aClaimHoursLaterIsAtTheEdge() {
        var decision = explanation(.retracted, resolved: 7_200_000)
        decision.claims = [claim(7_200_000, .retracted)]
        #expect(drawing(decision)[0].hasSuffix("0 ms 100  200  300  400  500"))
        #expect(drawing(decision)[4].hasPrefix("  :1.2       -------------------------C"))
    }

    @Test func aPublisherWithAClockOfItsOwnMovesNothing() {
        var decision = explanation(.shown, resolved: 100)
        decision.published = start - 86_400_000_000
        #expect(drawing(decision)[3].contains("[=========]"))
    }

    @Test func whatAClaimantIsCalledCannotWriteOnTheTerminal() {
        var decision = explanation(.claimed, resolved: 10)
        decision.reason = "\u{1b}[2J"
        decision.claims = [claim(10, .suppressed, by: "\u{1b}]0;x")]
        #expect(Decision(decision).lines().allSatisfy { !$0.contains("\u{1b}") })
    }

    @Test func everyScaleHasRoundNumbers() {
        #expect(Timeline.Scale.showing(.milliseconds(200)).labels == ["0 ms", "50", "100", "150", "200", "250"])
        #expect(Timeline.Scale.showing(.seconds(20)).labels == ["0 s", "5", "10", "15", "20", "25"])
        #expect(Timeline.Scale.showing(.seconds(3600)).labels.first == "0 min")
        #expect(Timeline.Scale.showing(.seconds(1 << 40)).labels.last == "500")
    }
}
