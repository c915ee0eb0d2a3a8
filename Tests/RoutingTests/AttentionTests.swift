import Testing

@testable import Routing

/// `ScreensChanged`: whether somebody looks at a topic.
struct AttentionTests {
    private var bench = Bench()

    private mutating func changes(_ call: Call) -> [String] { changes(bench.take(call)) }
    private mutating func changes(_ happening: Happening) -> [String] { changes(bench.take(happening)) }

    private func changes(_ effects: [Effect]) -> [String] {
        effects.compactMap {
            guard case .screensChanged(let topic, let isAttended) = $0 else { return nil }
            return "\(topic) \(isAttended)"
        }
    }

    private mutating func open(_ topic: String, by peer: String = ":1.2", _ state: Screen.State = .focused) -> [String]
    {
        var options = ScreenOptions()
        options.state = state
        return changes(.screenOpened(try! TopicPrefix(topic), options, by: peer))
    }

    @Test mutating func theFirstScreenAndTheLastOneCount() {
        #expect(open("/post/27") == ["/post/27 true"])
        #expect(open("/post/27", by: ":1.3") == [])
        #expect(open("/post") == ["/post true"], "exactly this topic")
        #expect(open("/") == ["/ true"])
        #expect(changes(.peer(":1.3", .left)) == [])
        #expect(changes(.peer(":1.2", .left)) == ["/ false", "/post false", "/post/27 false"])
    }

    @Test mutating func aHiddenScreenDoesNotCount() {
        #expect(open("/a", .hidden) == [])
        var visible = ScreenOptions()
        visible.state = .visible
        #expect(changes(.screenChanged(ScreenID(1), visible, by: ":1.2")) == ["/a true"])
        #expect(changes(.screenChanged(ScreenID(1), visible, by: ":1.2")) == [])
        var hidden = ScreenOptions()
        hidden.state = .hidden
        #expect(changes(.screenChanged(ScreenID(1), hidden, by: ":1.2")) == ["/a false"])
        #expect(changes(.screenChanged(ScreenID(1), nil, by: ":1.2")) == [])
    }

    @Test mutating func aLockedSessionLooksAtNothing() {
        _ = open("/a")
        #expect(changes(.attentionChanged(isWatched: false)) == ["/a false"])
        #expect(open("/b") == [])
        #expect(changes(.attentionChanged(isWatched: true)) == ["/a true", "/b true"])
    }

    @Test mutating func aLeaseEnds() {
        var options = ScreenOptions()
        options.lease = .seconds(1)
        #expect(changes(.screenOpened(try! TopicPrefix("/a"), options, by: ":1.2")) == ["/a true"])
        bench.pass(.seconds(2))
        #expect(changes(.timerFired) == ["/a false"])
    }
}
