/// A bounded buffer between a connection, which writes, and one reader, which takes all elements at once.
final class Inbox<Element: Sendable>: Sendable {
    struct Contents: Sendable {
        var elements: [Element] = []
        /// Whether elements were dropped because the inbox was full.
        var hasOverflowed = false
        /// Whether `signal` was called: there is a new daemon or connection, or the timer fired.
        var isSignalled = false
        var end: NotifyError?
    }

    private let limit: Int
    private let contents = Locked(Contents())
    private let signals: AsyncStream<Void>
    private let signaller: AsyncStream<Void>.Continuation

    init(limit: Int) {
        self.limit = limit
        (signals, signaller) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func put(_ element: Element) {
        contents.withLock { contents in
            if contents.elements.count < limit {
                contents.elements.append(element)
            } else {
                contents.hasOverflowed = true
            }
        }
        signaller.yield()
    }

    func signal() {
        contents.withLock { $0.isSignalled = true }
        signaller.yield()
    }

    func end(_ error: NotifyError) {
        contents.withLock { $0.end = error }
        signaller.yield()
    }

    /// Takes all elements.
    ///
    /// - Throws: the error passed to `end`.
    func take() throws(NotifyError) -> Contents {
        let taken = contents.withLock { contents in
            defer {
                contents.elements = []
                contents.hasOverflowed = false
                contents.isSignalled = false
            }
            return contents
        }
        if let error = taken.end { throw error }
        return taken
    }

    /// Waits until there may be something to take; `false` when the waiting task was cancelled.
    func wait() async -> Bool {
        for await _ in signals { return true }
        return false
    }
}
