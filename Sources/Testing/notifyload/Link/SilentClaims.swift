import NotifyClient
import NotifyRehearsal

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
