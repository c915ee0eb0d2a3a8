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

/// Events with the usual window, each claimed on the first device as soon as it is heard there. No other device may
/// show a banner.
final class SilentClaims: Sendable {
    struct Result: Sendable {
        var inTime = 0
        var late = 0
        var failed = 0
    }

    private let connection = Locked<Connection?>(nil)
    private let result = Locked(Result())
    private let fixture: Fixture

    init(_ fixture: Fixture) async throws {
        self.fixture = fixture
        let listener = try await Connection.open(
            fixture.devices[0].bus.address, onSignal: { [weak self] in self?.claim($0) })
        try await listener.addMatch(MatchRule(interface: Router.interface, member: "Event", argument0Path: "/post/"))
        connection.withLock { $0 = listener }
    }

    func leave() { connection.withLock { $0 }?.close() }

    /// - Returns: how the claims went, and how many banners there were on the other devices.
    func run(_ count: Int, rate: Double) async throws -> (Result, banners: Int) {
        guard let loop = connection.withLock({ $0?.loop }) else { return (Result(), 0) }
        await pace(rate, for: .seconds(Double(count) / rate), on: loop) { [weak self] number in
            let topic = Value.string("/post/\(number)")
            self?.connection.withLock { $0 }?.call(
                .toRouter(
                    "Send", autoStart: false, [topic, "Mina commented", "Forty bytes, which is what a push says."])
            ) { _ in }
        }
        // Longer than the windows of the last ones.
        try await Task.sleep(for: .seconds(1))
        let banners = fixture.devices.dropFirst().map { $0.server.banners.all.count }.reduce(0, +)
        return (result.withLock { $0 }, banners)
    }

    private func claim(_ signal: Message) {
        guard signal.member == "Event", signal.arguments.count == 6 else { return }
        connection.withLock { $0 }?.call(.toRouter("Claim", autoStart: false, [signal.arguments[1]])) { answer in
            self.result.withLock { result in
                switch answer {
                case .failure: result.failed += 1
                case .success(let reply):
                    if reply.arguments.first?.string == "suppressed" { result.inTime += 1 } else { result.late += 1 }
                }
            }
        }
    }
}

/// Calls an action at a fixed rate, however long what it begins may take.
///
/// - Parameter loop: where the action runs. What it sends on a connection of this loop leaves without a change of
///   threads, as in a program with one thread.
func pace(
    _ rate: Double, for time: Duration, on loop: WorkLoop, _ action: @escaping @Sendable (_ number: Int) -> Void
) async {
    let start = ContinuousClock.now
    await loop.task {
        var number = 0
        while start.duration(to: .now) < time {
            number += 1
            action(number)
            let next = start + .seconds(Double(number) / rate)
            await loop.sleep(for: ContinuousClock.now.duration(to: next))
        }
    }.value
}

/// Polls a condition that no signal announces.
func waits(within limit: Duration, _ isTrue: () async throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + limit
    while try await !isTrue() {
        guard ContinuousClock.now < deadline else { return false }
        try await Task.sleep(for: .milliseconds(5))
    }
    return true
}
