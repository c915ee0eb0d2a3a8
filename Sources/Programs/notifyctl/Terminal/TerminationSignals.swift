import Dispatch
import Glibc
import Synchronization

/// Handles signals, SIGINT and SIGTERM by default, for as long as it is retained, so that a command can end in an orderly way.
///
/// The signals are ignored and watched by dispatch sources: blocking them does not work in a program with an asynchronous
/// `main`. Children get the default actions back.
final class TerminationSignals: @unchecked Sendable {
    // Proof: constant after `init`, and dispatch sources may be used from any thread.
    private let sources: [any DispatchSourceSignal]
    private let flag: Flag

    private final class Flag: Sendable {
        let isRaised = Atomic(false)
    }

    init(_ signals: [CInt] = [SIGINT, SIGTERM], _ action: @escaping @Sendable (_ number: CInt) -> Void) {
        let flag = Flag()
        self.flag = flag
        sources = signals.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                flag.isRaised.store(true, ordering: .releasing)
                action(number)
            }
            source.activate()
            return source
        }
    }

    var hasCome: Bool { flag.isRaised.load(ordering: .acquiring) }
}

extension TerminationSignals {
    /// Runs `work` in a task that a signal cancels.
    static func cancelling<Result: Sendable>(
        _ signals: [CInt] = [SIGINT, SIGTERM], _ work: @escaping @Sendable () async throws -> Result
    ) -> (task: Task<Result, any Error>, interruption: TerminationSignals) {
        let (gate, opening) = AsyncStream.makeStream(of: Never.self)
        let task = Task {
            for await _ in gate {}
            return try await work()
        }
        let interruption = TerminationSignals(signals) { _ in task.cancel() }
        opening.finish()
        return (task, interruption)
    }
}
