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

/// What the end of a connection costs that has many asking screens.
struct LeavingScreensTests {
    private static let limits: (screens: Int, events: Int) = (256, 20)

    /// How long the router takes when the first of some connections leaves, each of which has as many screens as it
    /// may.
    private func timeToLeave(connections: Int) throws -> Duration {
        var bench = Bench()
        var options = ScreenOptions()
        options.mode = .ask
        for connection in 0..<connections {
            for _ in 0..<Self.limits.screens {
                bench.take(.screenOpened(try TopicPrefix("/ask"), options, by: ":1.\(connection)"))
            }
        }
        for number in 0..<Self.limits.events { bench.publish("/ask/\(number)") }
        return ContinuousClock().measure { _ = bench.take(.peer(":1.0", .left)) }
    }

    /// The questions of the others are looked through once an event, not once a screen and event, which took 100 times
    /// as long.
    @Test func theScreensOfOthersHardlyMatter() throws {
        let alone = try timeToLeave(connections: 1)
        let amongOthers = try timeToLeave(connections: 16)
        #expect(amongOthers < alone * 60, "alone \(alone), among others \(amongOthers)")
    }
}
