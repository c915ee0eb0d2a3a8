import Glibc

/// A thread of its own that does one thing after the other: work that it is handed, what is due, and what a descriptor
/// is ready for.
///
/// It is used where a dispatch queue could be, for two reasons. libdispatch takes a descriptor that is ready to one
/// thread and its handler to another, and each step of a message costs one more; here all that belongs together is done
/// on one thread. And a process whose work libdispatch has once begun is woken up by it every second from then on.
///
/// The thread ends when the loop is released and all work is done. Timers that wait then are forgotten.
package final class WorkLoop: Sendable {
    private let core: LoopCore

    /// - Throws: `notReachable` when the process has no descriptor or no thread left.
    package init() throws(NotifyError) {
        core = try LoopCore()
        try core.start()
    }

    deinit { core.end() }

    /// Does some work, in the order of the calls.
    package func perform(_ work: @escaping @Sendable () -> Void) { core.add(work) }

    /// Does some work after a while, by the monotonic clock.
    @discardableResult
    package func perform(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> WorkTimer {
        WorkTimer(core: core, id: core.add(work, after: delay))
    }

    /// Waits for a descriptor from now on, instead of what was waited for before.
    ///
    /// - Parameters:
    ///   - descriptor: stays open until it is not waited for any more.
    ///   - events: `POLLIN` and `POLLOUT`; poll(2). With none, it is not waited for at all.
    ///   - ready: gets what it is ready for, with `POLLHUP` and `POLLERR`. It is called again for as long as that is
    ///   so.
    package func watch(_ descriptor: CInt, for events: Int16, ready: @escaping @Sendable (Int16) -> Void) {
        core.watch(descriptor, for: events, ready: ready)
    }
}

/// Work of a ``WorkLoop`` that waits for its moment.
package struct WorkTimer: Sendable {
    fileprivate let core: LoopCore
    fileprivate let id: UInt64

    /// Forgets the work, unless it has begun.
    package func cancel() { core.cancel(id) }
}

extension WorkLoop: TaskExecutor {
    /// Runs a part of a task. A task with this preference leaves the thread only for an actor with an executor of its
    /// own.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        core.add { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Begins a task whose parts run on the loop. Tasks that it begins with `Task` do not.
    @discardableResult
    package func task<Success: Sendable>(
        _ body: @escaping @Sendable () async throws -> Success
    ) -> Task<Success, any Error> {
        Task(executorPreference: self) { try await body() }
    }

    /// Begins a task whose parts run on the loop, and that does not fail.
    @discardableResult
    package func task<Success: Sendable>(_ body: @escaping @Sendable () async -> Success) -> Task<Success, Never> {
        Task(executorPreference: self) { await body() }
    }

    /// Waits, until the task is cancelled at the longest. `Task.sleep` would begin libdispatch.
    package func sleep(for time: Duration) async {
        let sleeper = Sleeper()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard sleeper.begin(continuation) else { return }
                sleeper.set(perform(after: time) { sleeper.end() })
            }
        } onCancel: {
            sleeper.end()
        }
    }
}

extension WorkLoop {
    /// Waits. With no time at all, what waits for the loop goes first.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    package func pause(for time: Duration = .zero) async throws(CancellationError) {
        await sleep(for: time)
        if Task.isCancelled { throw CancellationError() }
    }
}

/// A task that sleeps.
private final class Sleeper: Sendable {
    private struct State: Sendable {
        var continuation: CheckedContinuation<Void, Never>?
        var timer: WorkTimer?
        var isOver = false
    }

    private let state = Locked(State())

    /// - Returns: `false` if the task was cancelled already; then it goes on.
    func begin(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        let isOver = state.withLock { state in
            if !state.isOver { state.continuation = continuation }
            return state.isOver
        }
        if isOver { continuation.resume() }
        return !isOver
    }

    func set(_ timer: WorkTimer) {
        let isOver = state.withLock { state in
            state.timer = timer
            return state.isOver
        }
        if isOver { timer.cancel() }
    }

    func end() {
        let (continuation, timer) = state.withLock { state in
            defer {
                state.continuation = nil
                state.timer = nil
            }
            state.isOver = true
            return (state.continuation, state.timer)
        }
        timer?.cancel()
        continuation?.resume()
    }
}
