import Benchmark
import Routing

/// What a decision costs, and that it does not cost more when there is more around it.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .throughput], scalingFactor: .kilo, maxDuration: .seconds(1))

    for screens in [10, 10_000] {
        let prepare: Act = { stage in
            for number in 0..<screens { stage.openScreen(on: "/post/\(number)", owner: ":1.\(number / 200)") }
        }
        measure("An event that a screen claims, \(screens) screens open", after: prepare) {
            blackHole($0.publish("/post/7/comment"))
        }
        measure("An event that is claimed by a call, \(screens) screens open", after: prepare) {
            blackHole($0.publishAndClaim("/run/r1/mate/u/finished"))
        }
    }
    for open in [1, 50_000] {
        let prepare: Act = { stage in
            for number in 0..<open { _ = stage.publish("/open/\(number)", sender: ":1.\(number / 5000)") }
        }
        measure("An event that is claimed in time, \(open) events open", after: prepare) {
            blackHole($0.publishAndClaim("/post/7"))
        }
        measure("A window that ends unclaimed, \(open) events open", after: prepare) {
            blackHole($0.publishAndWait("/brief"))
        }
    }
}

private typealias Act = @Sendable (inout Stage) -> Void

private func measure(_ name: String, after prepare: @escaping Act, _ act: @escaping Act) {
    Benchmark(name) { benchmark in
        var stage = Stage()
        prepare(&stage)
        benchmark.startMeasurement()
        for _ in benchmark.scaledIterations { act(&stage) }
        // Without this the end of the stage, and of all that is open on it, would be measured too.
        benchmark.stopMeasurement()
        stage.close()
    }
}

/// A router with a clock that goes on only when it is told to.
private struct Stage {
    private var router = Router(
        routes: RouteTable(fallback: Route(pattern: nil, window: .seconds(60))), firstID: EventID(1))
    private var microseconds: Int64 = 0
    private var now: Now {
        Now(instant: Instant(microseconds: microseconds), uptime: Uptime(microseconds: microseconds))
    }

    /// Banners are paused: what they cost is the notification server's.
    init() { _ = router.handle(.quieted(nil, for: nil), at: now) }

    mutating func openScreen(on topic: String, owner: String) {
        _ = router.handle(.screenOpened(prefix(topic), ScreenOptions(), by: owner), at: now)
    }

    mutating func publish(
        _ topic: String, window: Duration? = nil, sender: String = ":1.1"
    ) -> (reply: Result<Reply, Refusal>, effects: [Effect]) {
        var options = PublishOptions()
        options.window = window
        let publication = Publication(
            topic: self.topic(topic), title: "", body: "", options: options, sender: sender)
        return router.handle(.published(publication), at: now)
    }

    mutating func publishAndWait(_ topic: String) -> [Effect] {
        _ = publish(topic, window: .milliseconds(1), sender: ":1.9999")
        microseconds += 1000
        return router.handle(.timerFired, at: now)
    }

    mutating func publishAndClaim(_ topic: String) -> [Effect] {
        guard case .success(.accepted(let id)) = publish(topic, sender: ":1.9999").reply else { return [] }
        return router.handle(.claimed(id, by: ":1.2"), at: now).effects
    }

    /// Keeps the router until here.
    func close() { blackHole(router.rememberedEvents) }

    private func topic(_ text: String) -> Topic {
        guard let topic = try? Topic(text) else { preconditionFailure("\(text) is not a topic") }
        return topic
    }

    private func prefix(_ text: String) -> TopicPrefix { TopicPrefix(topic(text)) }
}
