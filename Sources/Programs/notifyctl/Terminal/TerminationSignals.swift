import Dispatch
import Glibc
import NotifyClient
import StandardStreams
import Synchronization

/// Handles signals, SIGINT and SIGTERM by default, for as long as it is retained, so that a command can end in an
/// orderly way.
///
/// The signals are ignored until dispatch sources watch them: blocking them does not work in a program with an
/// asynchronous `main`. Children get the default actions back. A source begins to watch some time after `activate`, and
/// an ignored signal is lost, so `init` returns when all of them watch.
///
/// After a signal that ends the program, output that is blocked for ``patience`` is dropped.
final class TerminationSignals: @unchecked Sendable {
    // Proof: constant after `init`, and dispatch sources may be used from any thread.

    /// How long a program that is to end still waits for the reader of its output.
    private static let patience = DispatchTimeInterval.milliseconds(500)

    private let sources: [any DispatchSourceSignal]
    private let flag: Flag

    private final class Flag: Sendable {
        let isRaised = Atomic(false)
    }

    init(_ signals: [CInt] = [SIGINT, SIGTERM], _ action: @escaping @Sendable (_ number: CInt) -> Void) {
        let flag = Flag()
        self.flag = flag
        let registrations = DispatchGroup()
        sources = signals.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                flag.isRaised.store(true, ordering: .releasing)
                if [SIGINT, SIGTERM, SIGHUP].contains(number) {
                    DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) {
                        StandardStreams.stopWaiting()
                    }
                }
                action(number)
            }
            registrations.enter()
            source.setRegistrationHandler { registrations.leave() }
            source.activate()
            return source
        }
        registrations.wait()
    }

    var hasCome: Bool { flag.isRaised.load(ordering: .acquiring) }
}

extension TerminationSignals {
    /// Runs `work` to its end, or until a signal or the end of a time limit cancels it, or the reader of the output
    /// exits.
    ///
    /// - Parameter isForReader: whether nothing but its output is the purpose of the command.
    /// - Returns: its result, and whether a signal came; without a result if it failed because of the signal.
    @discardableResult
    static func run<Result: Sendable>(
        _ signals: [CInt] = [SIGINT, SIGTERM], within limit: Duration? = nil, isForReader: Bool = true,
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> (result: Result?, isInterrupted: Bool) {
        if isForReader { StandardStreams.endWithReader() }
        let (gate, opening) = AsyncStream.makeStream(of: Never.self)
        let task = Task {
            for await _ in gate {}
            return try await work()
        }
        let interruption = TerminationSignals(signals) { _ in task.cancel() }
        opening.finish()
        let alarm = Task {
            guard let limit else { return }
            try await Task.sleep(for: limit)
            task.cancel()
        }
        defer { alarm.cancel() }
        do {
            return (try await task.value, interruption.hasCome)
        } catch
            where interruption.hasCome
            && (error is CancellationError || (error as? NotifyError)?.code == .cancelled)
        {
            return (nil, true)
        }
    }
}
