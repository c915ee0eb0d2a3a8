/// Asks the daemon what an ``EventMerge`` wants to know, for one reader.
final class EventFeed: Sendable {
    private static let patience: ClosedRange<Duration> = .milliseconds(100) ... .seconds(10)
    /// Under load one page takes what came in this time: every question makes the daemon write to the disk at once.
    private static let rest = Duration.milliseconds(5)

    private struct State: Sendable {
        var merge: EventMerge
        var pause = EventFeed.patience.lowerBound
        var nextQuestion = ContinuousClock.now
    }

    private let client: NotifyClient
    private let filters: [TopicFilter]
    /// One page for all filters, else what is published between two questions would be missed by the first.
    private let topic: String
    private let inbox: Inbox<Event>
    private let alarm: Alarm
    private let onEnd: @Sendable () -> Void
    private let state: Guarded<State>

    init(
        client: NotifyClient, filters: [TopicFilter], merge: EventMerge, inbox: Inbox<Event>, alarm: Alarm,
        onEnd: @escaping @Sendable () -> Void
    ) {
        self.client = client
        self.filters = filters
        self.inbox = inbox
        self.alarm = alarm
        self.onEnd = onEnd
        topic = TopicFilter.ancestor(of: filters)
        state = Guarded(State(merge: merge))
        alarm.start { [weak inbox] in inbox?.ring() }
    }

    deinit { onEnd() }

    /// Learns where the stream begins, if the daemon is there.
    func begin() async throws(NotifyError) {
        guard state.withLock({ $0.merge.question }) == .cursor else { return }
        do {
            try await learnCursor()
        } catch {
            if error.code != .notReachable { throw error }
        }
    }

    /// The next events; waits for them if need be. `nil` when the reading task was cancelled.
    func nextPage() async throws(NotifyError) -> [Event]? {
        while !Task.isCancelled {
            let news = try inbox.take()
            let question = state.withLock { state in
                for event in news.elements { state.merge.hear(event) }
                if news.hasRung || news.hasOverflowed { state.merge.doubt() }
                return state.merge.question
            }
            do throws(NotifyError) {
                switch question {
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
        let time = state.withLock(\.nextQuestion)
        if time > .now { try? await Task.sleep(until: time, tolerance: .zero, clock: .continuous) }
        let page = try await client.history(topic, after: last, limit: EventMerge.pageSize, autoStart: false)
        // What the page holds has been announced before it came.
        let news = try inbox.take()
        let next = state.withLock { state in
            state.pause = Self.patience.lowerBound
            if page.count < EventMerge.pageSize { state.nextQuestion = .now + Self.rest }
            defer { if news.hasRung || news.hasOverflowed { state.merge.doubt() } }
            return state.merge.take(page, hearing: news.elements)
        }
        return next.filter { event in filters.contains { $0.covers(event.topic) } }
    }

    private func learnCursor() async throws(NotifyError) {
        let cursor = try await client.snapshot(topic, autoStart: false).cursor
        // Everything up to the cursor that is new has been heard before the answer came.
        let news = try inbox.take()
        state.withLock { state in
            for event in news.elements { state.merge.hear(event) }
            state.merge.begin(at: cursor)
        }
    }

    /// Waits for a sign of life of the daemon, or for a while that grows with every failure.
    private func recover() async {
        let pause = state.withLock { state in
            defer { state.pause = min(state.pause * 2, Self.patience.upperBound) }
            return state.pause
        }
        alarm.ring(in: pause) { [weak inbox] in inbox?.ring() }
        _ = await inbox.wait()
    }
}
