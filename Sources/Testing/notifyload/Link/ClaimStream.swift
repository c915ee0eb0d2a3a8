import NotifyClient
import NotifyRehearsal

/// Banners of the second device that are taken down by claims on the first.
struct ClaimStream: Sendable {
    private struct State: Sendable {
        /// Ids on the first device, by title.
        var ids: [String: Value] = [:]
        /// When a title was claimed.
        var claimed: [String: UInt64] = [:]
        var failed = 0
    }

    private let publisher: Connection
    private let server: NotificationServer
    private let state = Locked(State())

    init(_ fixture: Fixture) async throws {
        publisher = try await Connection.open(fixture.devices[0].bus.address)
        server = fixture.devices[1].server
    }

    var failed: Int { state.withLock { $0.failed } }

    func leave() { publisher.close() }

    /// From the call of `Claim` on the first device to `CloseNotification` on the second, in nanoseconds.
    func run(rate: Double, for time: Duration) async throws -> [UInt64] {
        let claims = publisher.loop.task {
            var titles: [UInt32: String] = [:]
            while let banner = await server.answers.next(within: .seconds(5)) {
                titles[banner.id] = banner.title
                claim(banner.title)
            }
            return titles
        }
        await pace(rate, for: time, on: publisher.loop) { [self] number in publish("claim \(number)") }
        let titles = await claims.value
        var latencies: [UInt64] = []
        // The clock of the stand-in is that of the titles.
        let now = (ContinuousClock.now, moment())
        for close in server.closes.all {
            guard let title = titles[close.id], let claimed = state.withLock({ $0.claimed[title] }) else { continue }
            let ago = (now.0 - close.arrival) / .nanoseconds(1)
            latencies.append(now.1 - UInt64(ago) - claimed)
        }
        return latencies
    }

    private func publish(_ title: String) {
        let number = title.dropFirst(6)
        let call = Message.toRouter(
            "Send", autoStart: false,
            [.string("/shown/\(number)"), .string(title), "Forty bytes, which is what a push says."])
        publisher.call(call) { result in
            switch result {
            case .success(let reply): state.withLock { $0.ids[title] = reply.arguments.first }
            case .failure: state.withLock { $0.failed += 1 }
            }
        }
    }

    private func claim(_ title: String) {
        guard let id = state.withLock({ $0.ids[title] }) else { return state.withLock { $0.failed += 1 } }
        state.withLock { $0.claimed[title] = moment() }
        publisher.call(.toRouter("Claim", autoStart: false, [id])) { result in
            if case .failure = result { state.withLock { $0.failed += 1 } }
        }
    }
}
