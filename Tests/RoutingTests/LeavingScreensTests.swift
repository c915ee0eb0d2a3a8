import Routing
import Testing

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
