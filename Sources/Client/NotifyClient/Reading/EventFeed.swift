/// Sends the requests of an ``EventMerge`` to the daemon, for one reader.
final class EventFeed: Sendable {
    private static let backoff: ClosedRange<Duration> = .milliseconds(100) ... .seconds(10)
    /// The shortest time between two pages under load, because every request makes the daemon commit at once.
    private static let pageInterval = Duration.milliseconds(5)

    private struct State: Sendable {
        var merge: EventMerge
        var pause = EventFeed.backoff.lowerBound
        var earliestRequest = ContinuousClock.now
    }

    private let client: NotifyClient
    private let filters: [TopicFilter]
    /// One page covers all filters: with one request for each, events between two requests could be missed.
    private let topic: String
    private let inbox: Inbox<Event>
    private let timer: PeriodicTimer
    private let onEnd: @Sendable () -> Void
    private let state: Locked<State>

    init(
        client: NotifyClient, filters: [TopicFilter], merge: EventMerge, inbox: Inbox<Event>, timer: PeriodicTimer,
        onEnd: @escaping @Sendable () -> Void
    ) {
        self.client = client
        self.filters = filters
        self.inbox = inbox
        self.timer = timer
        self.onEnd = onEnd
        topic = TopicFilter.ancestor(of: filters)
        state = Locked(State(merge: merge))
        timer.start { [weak inbox] in inbox?.signal() }
    }

    deinit { onEnd() }

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
        while !Task.isCancelled {
            let contents = try inbox.take()
            let request = state.withLock { state in
                for event in contents.elements { state.merge.receive(event) }
                if contents.isSignalled || contents.hasOverflowed { state.merge.markIncomplete() }
                return state.merge.nextRequest
            }
            do throws(NotifyError) {
                switch request {
                case .cursor?: try await learnCursor()
                case .page(let last)?:
                    let next = try await nextPage(after: last)
                    if !next.isEmpty { return next }
                case nil:
                    guard await inbox.wait() else { return nil }
                }
            } catch {
                if error.code == .cancelled { return nil }
                if error.code == .closed { throw error }
                await recover()
            }
        }
        return nil
    }

    private func nextPage(after last: EventID) async throws(NotifyError) -> [Event] {
        let time = state.withLock(\.earliestRequest)
        if time > .now { try? await Task.sleep(until: time, tolerance: .zero, clock: .continuous) }
        let page = try await client.history(topic, after: last, limit: EventMerge.pageSize, autoStart: false)
        // The events in the page were announced before the page arrived.
        let contents = try inbox.take()
        let next = state.withLock { state in
            state.pause = Self.backoff.lowerBound
            if page.count < EventMerge.pageSize { state.earliestRequest = .now + Self.pageInterval }
            defer { if contents.isSignalled || contents.hasOverflowed { state.merge.markIncomplete() } }
            return state.merge.take(page, announced: contents.elements)
        }
        return next.filter { event in filters.contains { $0.covers(event.topic) } }
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

    /// Waits for a signal from the daemon, or for a pause that grows with every failure.
    private func recover() async {
        let pause = state.withLock { state in
            defer { state.pause = min(state.pause * 2, Self.backoff.upperBound) }
            return state.pause
        }
        timer.fire(after: pause) { [weak inbox] in inbox?.signal() }
        _ = await inbox.wait()
    }
}
