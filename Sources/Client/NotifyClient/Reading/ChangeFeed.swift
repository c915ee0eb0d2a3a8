/// Keeps a ``ValueTable`` up to date for one reader.
final class ChangeFeed: Sendable {
    /// Signals, in their order.
    enum Announcement: Sendable {
        case event(Event)
        case removal(Removal)
    }

    private static let backoff: ClosedRange<Duration> = .milliseconds(100) ... .seconds(10)

    private struct State: Sendable {
        var table = ValueTable()
        var isStale = true
        var pause = ChangeFeed.backoff.lowerBound
    }

    private let client: NotifyClient
    private let topic: String
    private let inbox: Inbox<Announcement>
    private let timer: PeriodicTimer
    private let onEnd: @Sendable () -> Void
    private let state = Locked(State())

    init(
        client: NotifyClient, topic: String, inbox: Inbox<Announcement>, timer: PeriodicTimer,
        onEnd: @escaping @Sendable () -> Void
    ) {
        self.client = client
        self.topic = topic
        self.inbox = inbox
        self.timer = timer
        self.onEnd = onEnd
        timer.start { [weak inbox] in inbox?.signal() }
    }

    deinit { onEnd() }

    /// Waits for the next changes. `nil` when the reading task was cancelled.
    func nextChanges() async throws(NotifyError) -> [Change]? {
        while !Task.isCancelled {
            let contents = try inbox.take()
            let (changes, isStale) = state.withLock { state in
                if contents.isSignalled || contents.hasOverflowed { state.isStale = true }
                return (contents.elements.compactMap { state.table.receive($0) }, state.isStale)
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
                    state.pause = Self.backoff.lowerBound
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

extension ValueTable {
    fileprivate mutating func receive(_ contents: ChangeFeed.Announcement) -> Change? {
        switch contents {
        case .event(let event): receive(event)
        case .removal(let removal): receive(removal)
        }
    }
}
