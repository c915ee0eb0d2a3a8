import Benchmark
import Routing

/// What a decision costs, and that it does not cost more when there is more around it.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .throughput], scalingFactor: .kilo, maxDuration: .seconds(2))

    for screens in [10, 10_000] {
        Benchmark("An event that a screen claims, \(screens) screens open") { benchmark in
            var stage = Stage()
            for number in 0..<screens { stage.openScreen(on: "/post/\(number)", owner: ":1.\(number / 200)") }
            benchmark.startMeasurement()
            for _ in benchmark.scaledIterations { blackHole(stage.publish("/post/7/comment")) }
            // Without this the end of the stage, and of all that is open on it, would be measured too.
            benchmark.stopMeasurement()
            stage.close()
        }
        Benchmark("An event that nobody claims, \(screens) screens open") { benchmark in
            var stage = Stage()
            for number in 0..<screens { stage.openScreen(on: "/post/\(number)", owner: ":1.\(number / 200)") }
            benchmark.startMeasurement()
            for _ in benchmark.scaledIterations { blackHole(stage.publishAndClaim("/run/r1/mate/u/finished")) }
            // Without this the end of the stage, and of all that is open on it, would be measured too.
            benchmark.stopMeasurement()
            stage.close()
        }
    }
    for open in [1, 50_000] {
        Benchmark("An event that is claimed in time, \(open) events open") { benchmark in
            var stage = Stage()
            for number in 0..<open { _ = stage.publish("/open/\(number)", sender: ":1.\(number / 5000)") }
            benchmark.startMeasurement()
            for _ in benchmark.scaledIterations { blackHole(stage.publishAndClaim("/post/7")) }
            // Without this the end of the stage, and of all that is open on it, would be measured too.
            benchmark.stopMeasurement()
            stage.close()
        }
    }
}

/// A router with a clock that stands still.
private struct Stage {
    private var router = Router(
        routes: RouteTable(fallback: Route(pattern: nil, window: .seconds(60))), firstID: EventID(1))
    private let now = Now(instant: Instant(microseconds: 0), uptime: Uptime(microseconds: 0))

    mutating func openScreen(on topic: String, owner: String) {
        _ = router.handle(.screenOpened(prefix(topic), ScreenOptions(), by: owner), at: now)
    }

    mutating func publish(_ topic: String, sender: String = ":1.1") -> [Effect] {
        router.handle(.published(Publication(topic: self.topic(topic), title: "", body: "", sender: sender)), at: now)
    }

    mutating func publishAndClaim(_ topic: String) -> [Effect] {
        guard case .reply(.accepted(let id)) = publish(topic, sender: ":1.9999").first else { return [] }
        return router.handle(.claimed(id, by: ":1.2"), at: now)
    }

    /// Keeps the router until here.
    func close() { blackHole(router.rememberedEvents) }

    private func topic(_ text: String) -> Topic {
        guard let topic = try? Topic(text) else { preconditionFailure("\(text) is no topic") }
        return topic
    }

    private func prefix(_ text: String) -> TopicPrefix { TopicPrefix(topic(text)) }
}
