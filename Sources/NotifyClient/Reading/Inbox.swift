/// What was heard and not yet looked at: written by the connection, emptied by one reader, never longer than its limit.
final class Inbox<Element: Sendable>: Sendable {
    struct Contents: Sendable {
        var elements: [Element] = []
        /// The inbox was full: some of what came is not in it.
        var hasOverflowed = false
        /// The daemon or the connection is another one.
        var hasRung = false
        var end: NotifyError?
    }

    private let limit: Int
    private let contents = Guarded(Contents())
    private let bell: AsyncStream<Void>
    private let rope: AsyncStream<Void>.Continuation

    init(limit: Int) {
        self.limit = limit
        (bell, rope) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func put(_ element: Element) {
        contents.withLock { contents in
            if contents.elements.count < limit {
                contents.elements.append(element)
            } else {
                contents.hasOverflowed = true
            }
        }
        rope.yield()
    }

    func ring() {
        contents.withLock { $0.hasRung = true }
        rope.yield()
    }

    func end(_ error: NotifyError) {
        contents.withLock { $0.end = error }
        rope.yield()
    }

    /// Takes everything out.
    ///
    /// - Throws: what `end` was given.
    func take() throws(NotifyError) -> Contents {
        let taken = contents.withLock { contents in
            defer {
                contents.elements = []
                contents.hasOverflowed = false
                contents.hasRung = false
            }
            return contents
        }
        if let error = taken.end { throw error }
        return taken
    }

    /// Returns when something may have come since it was last asked; `false` when the waiting task was cancelled.
    func wait() async -> Bool {
        for await _ in bell { return true }
        return false
    }
}
