/// Keeps a ``ValueTable`` up to date for one reader.
final class ChangeFeed: Sendable {
    /// What is announced, in its order.
    enum News: Sendable {
        case event(Event)
        case removal(Removal)
    }

    private static let patience: ClosedRange<Duration> = .milliseconds(100) ... .seconds(10)

    private struct State: Sendable {
        var table = ValueTable()
        var isStale = true
        var pause = ChangeFeed.patience.lowerBound
    }

    private let client: NotifyClient
    private let topic: String
    private let inbox: Inbox<News>
    private let alarm: Alarm
    private let onEnd: @Sendable () -> Void
    private let state = Guarded(State())

    init(
        client: NotifyClient, topic: String, inbox: Inbox<News>, alarm: Alarm, onEnd: @escaping @Sendable () -> Void
    ) {
        self.client = client
        self.topic = topic
        self.inbox = inbox
        self.alarm = alarm
        self.onEnd = onEnd
        alarm.start { [weak inbox] in inbox?.ring() }
    }

    deinit { onEnd() }

    /// The next changes; waits for them if need be. `nil` when the reading task was cancelled.
    func nextChanges() async throws(NotifyError) -> [Change]? {
        while !Task.isCancelled {
            let contents = try inbox.take()
            let (changes, isStale) = state.withLock { state in
                if contents.hasRung || contents.hasOverflowed { state.isStale = true }
                return (contents.elements.compactMap { state.table.hear($0) }, state.isStale)
            }
            if !changes.isEmpty { return changes }
            guard isStale else {
                guard await inbox.wait() else { return nil }
                continue
            }
            do throws(NotifyError) {
                let snapshot = try await client.snapshot(topic, autoStart: false)
                let difference = state.withLock { state in
                    state.isStale = false
                    state.pause = Self.patience.lowerBound
                    return state.table.take(snapshot)
                }
                if !difference.isEmpty { return difference }
            } catch {
                if error.code == .cancelled { return nil }
                if error.code == .closed { throw error }
                await recover()
            }
        }
        return nil
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

extension ValueTable {
    fileprivate mutating func hear(_ news: ChangeFeed.News) -> Change? {
        switch news {
        case .event(let event): hear(event)
        case .removal(let removal): hear(removal)
        }
    }
}
