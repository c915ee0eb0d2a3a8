/// A stream of events, outcomes or actions. It is for one reader: iterate over it once, in one task.
///
/// The stream goes on when the daemon or the bus restarts. It ends by throwing
/// - `readerTooSlow`, when the reader has fallen so far behind that the buffer is full. What was buffered until then is
///   still delivered first, and nothing is left out before the error, so the reader knows exactly where the gap is;
/// - `closed`, when the client is closed.
///
/// Dropping the stream, or cancelling the task that reads it, ends the subscription.
public struct Subscription<Element: Sendable>: AsyncSequence, Sendable {
    let stream: AsyncThrowingStream<Element, any Error>

    public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

    /// Reads the subscription; for one task.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncThrowingStream<Element, any Error>.Iterator

        /// The next element; `nil` when the reading task was cancelled.
        public mutating func next() async throws(NotifyError) -> Element? {
            try await next(isolation: nil)
        }

        /// The next element; `nil` when the reading task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NotifyError) -> Element? {
            do {
                return try await base.next(isolation: actor)
            } catch {
                throw error as? NotifyError ?? NotifyError(.closed, "The stream has ended.")
            }
        }
    }
}

extension AsyncThrowingStream.Continuation where Failure == any Error {
    /// Delivers, or ends the stream when its buffer is full.
    func offer(_ element: sending Element) {
        guard case .dropped = yield(element) else { return }
        finish(
            throwing: NotifyError(
                .readerTooSlow, "The reader of this subscription is too slow: its buffer is full. Subscribe again."))
    }
}
