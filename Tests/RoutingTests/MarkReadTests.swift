import Testing

@testable import Routing

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
        let event = Event(
            id: EventID(77), topic: try! Topic("/post/1"), title: "", body: "", fields: [], published: 0,
            sender: Bench.peer, origin: Origin(), urgency: nil, retained: false,
            route: Route(pattern: nil, window: .zero))
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
