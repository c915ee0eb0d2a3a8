import Dispatch
import NotifyClient

/// One sender who floods the daemon, and another who sends one push at a time: how long that one waits for his answers.
final class Flood: Sendable {
    /// Calls that the flooding sender keeps under way.
    private static let depth = 2_000
    /// Between two pushes of the other, who is in no hurry.
    private static let pause: Duration = .milliseconds(2)

    private let flooder: Connection
    private let bystander: Connection
    private let state = Guarded((goesOn: false, underWay: 0, answered: 0, refused: 0))

    init(on address: String) async throws {
        flooder = try await Connection.open(address)
        bystander = try await Connection.open(address)
    }

    /// Answers that the flooding sender got, and how many of them were refusals.
    var answers: (all: Int, refused: Int) { state.withLock { ($0.answered, $0.refused) } }

    /// How long the bystander waits for each of his answers, in nanoseconds.
    func bystanderWaits(for time: Duration) async throws -> [UInt64] {
        var waits: [UInt64] = []
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            let start = DispatchTime.now().uptimeNanoseconds
            _ = try await bystander.call(Self.push)
            waits.append(DispatchTime.now().uptimeNanoseconds - start)
            try await Task.sleep(for: Self.pause)
        }
        return waits
    }

    /// Floods while `body` runs.
    func flood<Result>(while body: () async throws -> Result) async throws -> Result {
        state.withLock { $0.goesOn = true }
        for _ in 0..<Self.depth { push() }
        defer { state.withLock { $0.goesOn = false } }
        return try await body()
    }

    func leave() {
        flooder.close()
        bystander.close()
    }

    private func push() {
        flooder.call(Self.push) { result in
            let goesOn = self.state.withLock { state in
                state.answered += 1
                if case .failure = result { state.refused += 1 }
                return state.goesOn
            }
            if goesOn { self.push() }
        }
    }

    private static let push = Message.call(
        "Send", of: Router.interface, at: Router.path, on: Router.name, autoStart: false,
        [.string("/quiet/push"), "A title", "Forty bytes, which is what a push says."])
}
