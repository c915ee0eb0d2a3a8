import NotifyClient

/// One sender who floods the daemon.
final class Flood: Sendable {
    /// Calls that are under way at any time.
    private static let depth = 2_000

    private let connection: Connection
    private let push: Message
    private let state = Guarded((goesOn: false, answered: 0, refused: 0))

    init(on address: String, topic: String) async throws {
        connection = try await Connection.open(address)
        push = .push(to: topic)
    }

    /// How many answers there were while `body` ran, and how many of them were refusals.
    var answers: (all: Int, refused: Int) { state.withLock { ($0.answered, $0.refused) } }

    /// Floods while `body` runs, which begins when the calls do not come all at once any more.
    func run<Result>(while body: () async throws -> Result) async throws -> Result {
        state.withLock { $0.goesOn = true }
        for _ in 0..<Self.depth { send() }
        defer { state.withLock { $0.goesOn = false } }
        while answers.all < Self.depth { try await Task.sleep(for: .milliseconds(1)) }
        state.withLock { ($0.answered, $0.refused) = (0, 0) }
        return try await body()
    }

    func leave() { connection.close() }

    private func send() {
        connection.call(push) { result in
            let goesOn = self.state.withLock { state in
                state.answered += 1
                if case .failure = result { state.refused += 1 }
                return state.goesOn
            }
            if goesOn { self.send() }
        }
    }
}
