/// Rings a bell at regular intervals, and once at a moment that is asked for, as long as it is kept.
final class Alarm: Sendable {
    private struct Tasks: Sendable {
        var period: Task<Void, Never>?
        var once: Task<Void, Never>?
    }

    private let period: Duration
    private let tasks = Guarded(Tasks())

    /// - Throws: `invalidArgument` when the period is not longer than nothing.
    init(period: Duration) throws(NotifyError) {
        guard period > .zero else { throw NotifyError(.invalidArgument, "A period is longer than nothing.") }
        self.period = period
    }

    deinit {
        tasks.withLock {
            $0.period?.cancel()
            $0.once?.cancel()
        }
    }

    func start(_ ring: @escaping @Sendable () -> Void) {
        let task = Task { [period] in
            while (try? await Task.sleep(for: period)) != nil { ring() }
        }
        tasks.withLock { $0.period = task }
    }

    func ring(in time: Duration, _ ring: @escaping @Sendable () -> Void) {
        let task = Task { if (try? await Task.sleep(for: time)) != nil { ring() } }
        let former = tasks.withLock { tasks in
            defer { tasks.once = task }
            return tasks.once
        }
        former?.cancel()
    }
}
