/// Calls a handler at regular intervals, and once more after a time that is asked for. Releasing it stops both.
final class PeriodicTimer: Sendable {
    private struct Tasks: Sendable {
        var periodic: Task<Void, Never>?
        var once: Task<Void, Never>?
    }

    private let period: Duration
    private let tasks = Locked(Tasks())

    /// - Throws: `invalidArgument` when the period is not positive.
    init(period: Duration) throws(NotifyError) {
        guard period > .zero else { throw NotifyError(.invalidArgument, "A period must be longer than zero.") }
        self.period = period
    }

    deinit {
        tasks.withLock {
            $0.periodic?.cancel()
            $0.once?.cancel()
        }
    }

    func start(_ handler: @escaping @Sendable () -> Void) {
        let task = Task { [period] in
            while (try? await Task.sleep(for: period)) != nil { handler() }
        }
        tasks.withLock { $0.periodic = task }
    }

    func fire(after time: Duration, _ handler: @escaping @Sendable () -> Void) {
        let task = Task { if (try? await Task.sleep(for: time)) != nil { handler() } }
        let former = tasks.withLock { tasks in
            defer { tasks.once = task }
            return tasks.once
        }
        former?.cancel()
    }
}
