import NotifyClient

/// One connection that floods the daemon.
final class Flood: Sendable {
    private static let depth = 2_000

    private let connection: Connection
    private let push: Message
    private let state = Locked((goesOn: false, answered: 0, refused: 0))

    init(on address: String, topic: String) async throws {
        connection = try await Connection.open(address)
        push = .push(to: topic)
    }

    /// The number of replies while `body` ran, and how many of them were errors.
    var answers: (all: Int, refused: Int) { state.withLock { ($0.answered, $0.refused) } }

    /// Floods while `body` runs. `body` begins after the first burst of calls.
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
