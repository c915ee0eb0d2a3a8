internal import NotifyText

/// A bounded buffer between a connection, which writes, and one reader, which takes all elements at once.
final class Inbox<Element: Sendable>: Sendable {
    struct Contents: Sendable {
        var elements: [Element] = []
        /// Whether something may be missing: elements were dropped because the inbox was full, there is a new daemon or
        /// connection, or the period is over.
        var isIncomplete = false
        var end: NotifyError?
    }

    private let limit: Int
    private let contents = Locked(Contents())
    private let backoff = Locked(Backoff(from: .milliseconds(100), upTo: .seconds(10)))
    private let signals: AsyncStream<Void>
    private let signaller: AsyncStream<Void>.Continuation
    private let timer: Task<Void, Never>

    /// - Parameter period: how often the contents count as incomplete without a signal.
    /// - Throws: `invalidArgument` when the period is not positive.
    init(limit: Int, period: Duration) throws(NotifyError) {
        guard period > .zero else { throw NotifyError(.invalidArgument, "A period must be longer than zero.") }
        self.limit = limit
        let (signals, signaller) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.signals, self.signaller) = (signals, signaller)
        timer = Task { [contents] in
            while (try? await Task.sleep(for: period)) != nil {
                contents.withLock { $0.isIncomplete = true }
                signaller.yield()
            }
        }
    }

    deinit { timer.cancel() }

    func put(_ element: Element) {
        change { if $0.elements.count < limit { $0.elements.append(element) } else { $0.isIncomplete = true } }
    }

    func signal() { change { $0.isIncomplete = true } }

    func end(_ error: NotifyError) { change { $0.end = error } }

    private func change(_ body: (inout Contents) -> Void) {
        contents.withLock(body)
        signaller.yield()
    }

    /// Takes all elements.
    ///
    /// - Throws: the error passed to `end`.
    func take() throws(NotifyError) -> Contents {
        let taken = contents.withLock { contents in
            defer { contents = Contents(end: contents.end) }
            return contents
        }
        if let error = taken.end { throw error }
        return taken
    }

    /// Handles what arrives until there is something to deliver.
    ///
    /// - Parameter handle: returns what to deliver; empty: it is called again at once; `nil`: when something has
    ///   arrived.
    /// - Returns: `nil` when the reading task was cancelled.
    func next<Result>(
        _ handle: (Contents) async throws(NotifyError) -> [Result]?
    ) async throws(NotifyError) -> [Result]? {
        while !Task.isCancelled {
            let contents = try take()
            do throws(NotifyError) {
                if let results = try await handle(contents) {
                    if !results.isEmpty { return results }
                } else {
                    await wait()
                }
            } catch {
                if error.code == .cancelled { return nil }
                if error.code == .closed { throw error }
                await waitAfterFailure()
            }
        }
        return nil
    }

    /// Waits until there may be something to take, or the task is cancelled.
    private func wait() async {
        for await _ in signals { return }
    }

    /// Waits for a signal from the daemon, or for a pause that grows with every failure.
    private func waitAfterFailure() async {
        let time = backoff.withLock { $0.next() }
        let alarm = Task { if (try? await Task.sleep(for: time)) != nil { signal() } }
        await wait()
        alarm.cancel()
    }

    /// The next pause after a failure is the shortest one.
    func noteSuccess() { backoff.withLock { $0.reset() } }
}

/// Calls `action` when it is released.
final class Cleanup: Sendable {
    private let action: @Sendable () -> Void

    init(_ action: @escaping @Sendable () -> Void) { self.action = action }

    deinit { action() }
}

/// Reads a stream whose elements come several at a time; for one task.
public struct BatchIterator<Element: Sendable>: AsyncIteratorProtocol {
    let nextBatch: @Sendable () async throws(NotifyError) -> [Element]?
    private var batch: ArraySlice<Element> = []

    init(_ nextBatch: @escaping @Sendable () async throws(NotifyError) -> [Element]?) { self.nextBatch = nextBatch }

    /// The next element; `nil` when the reading task was cancelled.
    public mutating func next() async throws(NotifyError) -> Element? { try await next(isolation: nil) }

    /// The next element; `nil` when the reading task was cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(NotifyError) -> Element? {
        while batch.isEmpty {
            guard let next = try await nextBatch() else { return nil }
            batch = next[...]
        }
        return batch.removeFirst()
    }
}
