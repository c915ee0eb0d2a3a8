/// Keeps a ``ValueTable`` up to date for one reader.
struct ChangeFeed: Sendable {
    private struct State: Sendable {
        var table = ValueTable()
        var isStale = true
    }

    let client: NotifyClient
    let topic: String
    /// Events and removals.
    let inbox: Inbox<any Announced>
    /// Ends the subscription.
    let cleanup: Cleanup
    private let state = Locked(State())

    /// Waits for the next changes. `nil` when the reading task was cancelled.
    func nextChanges() async throws(NotifyError) -> [Change]? {
        try await inbox.next { contents async throws(NotifyError) in
            let (changes, isStale) = state.withLock { state in
                if contents.isIncomplete { state.isStale = true }
                return (contents.elements.compactMap { state.table.receive($0) }, state.isStale)
            }
            if !changes.isEmpty { return changes }
            guard isStale else { return nil }
            let snapshot = try await client.snapshot(topic, autoStart: false)
            inbox.noteSuccess()
            return state.withLock { state in
                state.isStale = false
                return state.table.take(snapshot)
            }
        }
    }
}

extension ValueTable {
    fileprivate mutating func receive(_ signal: any Announced) -> Change? {
        switch signal {
        case let event as Event: receive(event)
        case let removal as Removal: receive(removal)
        default: nil
        }
    }
}
