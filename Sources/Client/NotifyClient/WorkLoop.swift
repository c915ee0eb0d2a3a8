internal import CDBus
import Glibc
internal import NotifyText

/// What a ``WorkLoop`` does. The thread holds it, and not the loop, so that the loop can be released.
final class LoopCore: Sendable {
    private struct Timer: Sendable {
        let id: UInt64
        let deadline: SuspendingClock.Instant
        let work: @Sendable () -> Void
    }

    private struct Watch: Sendable {
        /// Tells a watch from an earlier one of the same descriptor.
        let id: UInt64
        var events: Int16
        var ready: @Sendable (Int16) -> Void
    }

    private struct State: Sendable {
        var lastID: UInt64 = 0
        var work: [@Sendable () -> Void] = []
        /// The next one is last. There are few, so that a sorted array is enough.
        var timers: [Timer] = []
        var watches: [CInt: Watch] = [:]
        /// Whether the thread waits, or is about to.
        var isWaiting = false
        var isOver = false
    }

    private let state = Locked(State())
    /// Later than anything that is waited for; nothing overflows.
    private static let longestDelay = Duration.seconds(1_000_000_000)
    /// Written to when something new is there while the thread waits.
    private let wake: CInt

    init() throws(NotifyError) {
        wake = notifyd_eventfd()
        guard wake >= 0 else {
            throw NotifyError(.notReachable, "No descriptor is left: \(String(cString: strerror(errno))).")
        }
    }

    deinit { close(wake) }

    func start() throws(NotifyError) {
        let error = startThread { self.run() }
        guard error == 0 else {
            throw NotifyError(.notReachable, "No thread can be started: \(String(cString: strerror(error))).")
        }
    }

    // MARK: From any thread

    func add(_ work: @escaping @Sendable () -> Void) { change { $0.work.append(work) } }

    /// - Returns: the number of the timer.
    func add(_ work: @escaping @Sendable () -> Void, after delay: Duration) -> UInt64 {
        let deadline = SuspendingClock.now + min(delay, Self.longestDelay)
        var id: UInt64 = 0
        change { state in
            state.lastID += 1
            id = state.lastID
            let timer = Timer(id: id, deadline: deadline, work: work)
            // Timers of the same moment run in the order in which they were added.
            let index = state.timers.firstIndex { $0.deadline <= timer.deadline } ?? state.timers.count
            state.timers.insert(timer, at: index)
        }
        return id
    }

    func cancel(_ id: UInt64) {
        // The timer is released after the lock: what its work has captured may own another timer.
        let timer = state.withLock { state in
            state.timers.firstIndex { $0.id == id }.map { state.timers.remove(at: $0) }
        }
        withExtendedLifetime(timer) {}
    }

    func watch(_ descriptor: CInt, for events: Int16, ready: @escaping @Sendable (Int16) -> Void) {
        var old: Watch?
        change { state in
            old = state.watches[descriptor]
            state.lastID += 1
            state.watches[descriptor] = events == 0 ? nil : Watch(id: state.lastID, events: events, ready: ready)
        }
        withExtendedLifetime(old) {}
    }

    func end() { change { $0.isOver = true } }

    private func change(_ body: (inout State) -> Void) {
        let isWaiting = state.withLock { state in
            body(&state)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if isWaiting { eventfd_write(wake, 1) }
    }

    // MARK: On the thread

    private func run() {
        var descriptors: [pollfd] = []
        var watches: [UInt64] = []
        while true {
            // In nanoseconds; -1 for ever, and `nil` at the end.
            let time: Int64? = state.withLock { state in
                descriptors = [pollfd(fd: wake, events: Int16(POLLIN), revents: 0)]
                watches = [0]
                for (descriptor, watch) in state.watches {
                    descriptors.append(pollfd(fd: descriptor, events: watch.events, revents: 0))
                    watches.append(watch.id)
                }
                if !state.work.isEmpty { return 0 }
                if state.isOver { return nil }
                state.isWaiting = true
                return state.timers.last.map { Int64(clamping: max(0, ($0.deadline - .now).nanoseconds)) } ?? -1
            }
            guard let time else { return }
            let count = notifyd_poll(&descriptors, nfds_t(descriptors.count), time)
            state.withLock { $0.isWaiting = false }
            if count > 0, descriptors[0].revents != 0 {
                var value: eventfd_t = 0
                eventfd_read(wake, &value)
            }
            // Work that was handed over comes before input that has arrived since.
            doWork()
            while let body = nextDue() { body() }
            guard count > 0 else { continue }
            for (entry, id) in zip(descriptors, watches).dropFirst() where entry.revents != 0 {
                // An earlier callback may have ended the watch.
                let ready = state.withLock { state in state.watches[entry.fd].flatMap { $0.id == id ? $0.ready : nil } }
                ready?(entry.revents)
            }
        }
    }

    /// Runs what was handed over, and releases it before the thread waits.
    private func doWork() {
        let work = state.withLock { state in
            defer { state.work = [] }
            return state.work
        }
        for body in work { body() }
    }

    private func nextDue() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard let next = state.timers.last, next.deadline <= .now else { return nil }
            return state.timers.removeLast().work
        }
    }
}

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
    ///     so.
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
        let (end, ending) = AsyncStream.makeStream(of: Never.self)
        let timer = perform(after: time) { ending.finish() }
        for await _ in end {}
        timer.cancel()
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
