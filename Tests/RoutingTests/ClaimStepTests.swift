import Testing

@testable import Routing

/// Every claim is told with what its claimant was answered, so that it can be kept.
struct ClaimStepTests {
    private static let late = ":1.9"

    private func steps(_ effects: [Effect]) -> [ClaimRecord] {
        effects.compactMap { if case .noteClaim(_, let record) = $0 { record } else { nil } }
    }

    private func record(_ form: ClaimForm) -> ClaimRecord {
        ClaimRecord(claimant: Self.late, latency: nil, form: form, verdict: .recorded)
    }

    @Test func aClaimOfADecidedEventIsAStep() {
        var bench = Bench()
        let id = bench.publish("/post/1")
        bench.take(.claimed(id, by: Bench.peer))
        #expect(steps(bench.take(.claimed(id, by: Self.late))) == [record(.claim)])
        let hold = bench.take(.claimedProvisionally(id, within: .seconds(1), by: Self.late))
        #expect(steps(hold) == [record(.provisional)])
    }

    @Test func aLateClaimHasTheVerdictThatItWasAnswered() {
        var bench = Bench()
        bench.take(.server(.ready))
        let first = bench.publish("/post/1")
        let second = bench.publish("/post/1")
        bench.show(7)
        let early = bench.take(.claimed(first, by: Bench.peer)).resolutions[first]
        #expect(early?.outcome == .retracted)
        #expect(early?.verdict == .recorded)
        #expect(bench.take(.claimed(second, by: Bench.peer)).resolutions[second]?.verdict == .retracted)
    }

    @Test func aClaimAfterTheBannerWentAwayIsOnlyRecorded() {
        var bench = Bench()
        bench.take(.server(.ready))
        let id = bench.publish("/post/1")
        bench.show(7)
        bench.take(.bannerClosed(BannerID(7), .other))
        let resolution = bench.take(.claimed(id, by: Bench.peer)).resolutions[id]
        #expect(resolution?.outcome == .retracted)
        #expect(resolution?.verdict == .recorded)
    }

    // MARK: Provisional claims

    private static let holder = ":1.9"

    private func held() -> (bench: Bench, id: EventID) {
        var bench = Bench()
        let id = bench.publish("/post/1")
        bench.pass(.milliseconds(10))
        bench.take(.claimedProvisionally(id, within: .milliseconds(30), by: Self.holder))
        return (bench, id)
    }

    private func record(_ form: ClaimForm, after time: Int64, _ verdict: Verdict = .recorded) -> ClaimRecord {
        ClaimRecord(claimant: Self.holder, latency: .milliseconds(time), form: form, verdict: verdict)
    }

    @Test func aConfirmationIsAStep() {
        var (bench, id) = held()
        bench.pass(.milliseconds(5))
        let effects = bench.take(.answered(id, .completed, by: Self.holder))
        #expect(steps(effects) == [record(.completed, after: 15, .suppressed)])
        #expect(effects.outcomes == [id: .claimed])
    }

    @Test func aReleaseIsAStep() {
        var (bench, id) = held()
        bench.pass(.milliseconds(5))
        #expect(steps(bench.take(.answered(id, .released, by: Self.holder))) == [record(.released, after: 15)])
    }

    @Test func runningOutOfTimeIsAStep() {
        var (bench, _) = held()
        #expect(steps(bench.wait(.milliseconds(30))) == [record(.ranOut, after: 40)])
    }

    @Test func leavingIsAStep() {
        var (bench, _) = held()
        bench.pass(.milliseconds(20))
        #expect(steps(bench.take(.peer(Self.holder, .left))) == [record(.left, after: 30)])
    }
}

/// Several claimants hold one event.
struct SeveralHoldersTests {
    private var bench = Bench()
    private var id = EventID(0)

    init() {
        bench.take(.server(.ready))
        id = bench.publish("/post/1")
    }

    private mutating func hold(by peer: String, within time: Duration = .seconds(1)) -> Verdict? {
        bench.take(.claimedProvisionally(id, within: time, by: peer))
        return if case .success(.verdict(let verdict)) = bench.reply { verdict } else { nil }
    }

    @Test mutating func itIsClaimedWhenTheFirstOneConfirms() {
        #expect(hold(by: ":1.2") == .suppressed)
        #expect(hold(by: ":1.3") == .suppressed)
        #expect(hold(by: ":1.3") == .recorded, "it holds it already")
        #expect(bench.wait(.milliseconds(200)).banners.isEmpty)
        #expect(hold(by: ":1.4") == .suppressed, "also after the window")
        let effects = bench.take(.answered(id, .completed, by: ":1.3"))
        #expect(effects.outcomes == [id: .claimed])
        #expect(effects.resolutions[id]?.claimant == ":1.3")
        #expect(bench.router.screens.holds.count == 0)
        bench.take(.answered(id, .completed, by: ":1.2"))
        #expect(bench.reply?.refused(Refusal.notClaimant) != nil, "its claim has ended")
        #expect(bench.wait(.seconds(5)).banners.isEmpty)
    }

    @Test mutating func itBecomesABannerWhenTheLastOneHasFailed() {
        _ = hold(by: ":1.2", within: .milliseconds(300))
        _ = hold(by: ":1.3", within: .seconds(2))
        _ = hold(by: ":1.4", within: .seconds(3))
        #expect(bench.wait(.milliseconds(500)).banners.isEmpty)
        #expect(bench.take(.answered(id, .released, by: ":1.4")).banners.isEmpty)
        #expect(bench.take(.peer(":1.3", .left)).banners.map(\.newest.id) == [id])
        #expect(hold(by: ":1.5") == .recorded, "it has gone to the server")
    }

    @Test mutating func aHoldThatFailsInTheWindowLeavesTheOther() {
        _ = hold(by: ":1.2")
        _ = hold(by: ":1.3")
        bench.take(.answered(id, .released, by: ":1.2"))
        #expect(bench.wait(.milliseconds(200)).banners.isEmpty)
        #expect(hold(by: ":1.2") == .suppressed, "it may hold it again")
    }

    @Test mutating func soManyAndNoMore() {
        for number in 1...16 { #expect(hold(by: ":2.\(number)") == .suppressed) }
        bench.take(.claimedProvisionally(id, within: .seconds(1), by: ":2.17"))
        #expect(bench.reply?.refused(Refusal.limitExceeded)?.contains("16") == true)
        #expect(bench.take(.claimed(id, by: ":2.17")).outcomes == [id: .claimed])
    }
}

/// Read marks.
struct MarkReadTests {
    private let post = try! TopicPrefix("/post")

    @Test func whatIsInMemoryIsClaimedUpToAnId() {
        var bench = Bench()
        bench.take(.server(.ready))
        let shown = bench.publish("/post/1")
        let request = bench.wait(.milliseconds(100)).banners[0]
        bench.take(.banner(request.call, .shown(BannerID(7))))
        let open = bench.publish("/post/2")
        let later = bench.publish("/post/3")
        bench.publish("/chat")
        let effects = bench.take(.topicClaimed(post, .read(upTo: open), by: Bench.peer))
        #expect(effects.outcomes == [shown: .retracted, open: .claimed])
        #expect(effects.resolutions[open]?.form == .read)
        #expect(effects.closed == [BannerID(7)])
        #expect(bench.reply == .success(.count(2)))
        #expect(effects.marks == ["/post \(open) MarkRead"])
        #expect(bench.take(.topicClaimed(post, .read(upTo: EventID(0)), by: Bench.peer)).outcomes == [later: .claimed])
    }

    @Test func topicClaimsAndScreensThatClearMarkTooAndOthersDoNot() {
        var bench = Bench()
        let last = bench.publish("/post/1")
        #expect(bench.take(.topicClaimed(post, .grace(.zero), by: Bench.peer)).marks == ["/post \(last) ClaimTopic"])
        var options = ScreenOptions()
        #expect(bench.take(.screenOpened(post, options, by: Bench.peer)).marks == ["/post \(last) OpenScreen"])
        options.clear = false
        #expect(bench.take(.screenOpened(post, options, by: Bench.peer)).marks == [])
        options = ScreenOptions()
        options.mode = .ask
        #expect(bench.take(.screenOpened(post, options, by: Bench.peer)).marks == [])
    }

    @Test func aLateClaimOfWhatIsNotInMemoryIsToldAndCounted() {
        var bench = Bench()
        let event = Event.sample(77)
        let shown = ColdEvent(event, age: .seconds(60), .shown(nil, isShared: false))
        let resolution = bench.take(.claimedCold(shown, by: Bench.peer, as: .read)).resolutions[event.id]
        #expect(resolution?.outcome == .retracted && resolution?.verdict == .recorded)
        #expect(resolution?.form == .read && resolution?.latency == .seconds(60))
        #expect(bench.router.statistics[.retracted] == 1 && !bench.router.remembers(event.id))
    }
}

extension [Effect] {
    fileprivate var marks: [String] {
        compactMap {
            if case .read(.topic(let topic, let last), _, let form, _) = $0 {
                "\(topic) \(last) \(form.rawValue)"
            } else {
                nil
            }
        }
    }
}
