/// Sends the requests of an ``EventMerge`` to the daemon, for one reader.
struct EventFeed: Sendable {
    /// The shortest time between two pages under load, because every request makes the daemon commit at once.
    private static let pageInterval = Duration.milliseconds(5)

    private struct State: Sendable {
        var merge: EventMerge
        var earliestRequest = ContinuousClock.now
    }

    private let client: NotifyClient
    private let filters: [TopicFilter]
    /// One page covers all filters: with one request for each, events between two requests could be missed.
    private let topic: String
    private let inbox: Inbox<Event>
    /// Ends the subscription.
    private let cleanup: Cleanup
    private let state: Locked<State>

    init(client: NotifyClient, filters: [TopicFilter], inbox: Inbox<Event>, cleanup: Cleanup, merge: EventMerge) {
        self.client = client
        self.filters = filters
        self.inbox = inbox
        self.cleanup = cleanup
        topic = TopicFilter.ancestor(of: filters)
        state = Locked(State(merge: merge))
    }

    /// Gets the position where the stream begins, if there is a daemon.
    func begin() async throws(NotifyError) {
        guard state.withLock({ $0.merge.nextRequest }) == .cursor else { return }
        do {
            try await learnCursor()
        } catch {
            if error.code != .notReachable { throw error }
        }
    }

    /// Waits for the next events. `nil` when the reading task was cancelled.
    func nextPage() async throws(NotifyError) -> [Event]? {
        try await inbox.next { contents async throws(NotifyError) in
            let request = state.withLock { state in
                for event in contents.elements { state.merge.receive(event) }
                if contents.isIncomplete { state.merge.markIncomplete() }
                return state.merge.nextRequest
            }
            switch request {
            case .cursor?:
                try await learnCursor()
                return []
            case .page(let last)?: return try await nextPage(after: last)
            case nil: return nil
            }
        }
    }

    private func nextPage(after last: EventID) async throws(NotifyError) -> [Event] {
        let time = state.withLock(\.earliestRequest)
        if time > .now { try? await Task.sleep(until: time, tolerance: .zero, clock: .continuous) }
        let page = try await client.history(topic, after: last, limit: EventMerge.pageSize, autoStart: false)
        // The events in the page were announced before the page arrived.
        let contents = try inbox.take()
        inbox.noteSuccess()
        let next = state.withLock { state in
            if page.count < EventMerge.pageSize { state.earliestRequest = .now + Self.pageInterval }
            defer { if contents.isIncomplete { state.merge.markIncomplete() } }
            return state.merge.take(page, announced: contents.elements)
        }
        return next.filter { filters.cover($0.topic) }
    }

    private func learnCursor() async throws(NotifyError) {
        let cursor = try await client.snapshot(topic, autoStart: false).cursor
        // New events up to the cursor were announced before the reply arrived.
        let contents = try inbox.take()
        state.withLock { state in
            for event in contents.elements { state.merge.receive(event) }
            state.merge.begin(at: cursor)
        }
    }
}
