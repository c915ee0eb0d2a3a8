import Dispatch
import Glibc
import Synchronization

/// Hears signals, SIGINT and SIGTERM if not said otherwise, instead of what they would do, for as long as it is kept. It is
/// what makes an orderly end of them.
///
/// They are ignored and watched, because in a program with an asynchronous `main` a blocked signal ends the program all
/// the same. Programs started meanwhile get them back as usual.
final class Interruption: @unchecked Sendable {
    // Proof: constant once made, and dispatch sources may be used from any thread.
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

extension Interruption {
    /// Runs `work` in a task that a signal cancels, from its first moment on.
    static func cancelling<Result: Sendable>(
        _ signals: [CInt] = [SIGINT, SIGTERM], _ work: @escaping @Sendable () async throws -> Result
    ) -> (task: Task<Result, any Error>, interruption: Interruption) {
        let (gate, opening) = AsyncStream.makeStream(of: Never.self)
        let task = Task {
            for await _ in gate {}
            return try await work()
        }
        let interruption = Interruption(signals) { _ in task.cancel() }
        opening.finish()
        return (task, interruption)
    }
}
