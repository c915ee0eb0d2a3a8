import Dispatch

/// A queue of what has arrived, in order. Readers wait for an element with a time limit and without polling.
package final class Mailbox<Element: Sendable>: Sendable {
    private struct Waiter {
        let id: UInt64
        let isWanted: @Sendable (Element) -> Bool
        let continuation: CheckedContinuation<Element?, Never>
    }

    private struct State {
        var all: [Element] = []
        var unread: [Element] = []
        var waiters: [Waiter] = []
        var lastID: UInt64 = 0
    }

    private let state = Locked(State())

    package init() {}

    /// Every element that has arrived, read or not.
    package var all: [Element] { state.withLock { $0.all } }

    package func put(_ element: Element) {
        let waiter: Waiter? = state.withLock { state in
            state.all.append(element)
            if let index = state.waiters.firstIndex(where: { $0.isWanted(element) }) {
                return state.waiters.remove(at: index)
            }
            state.unread.append(element)
            return nil
        }
        waiter?.continuation.resume(returning: element)
    }

    /// Takes the first unread element that is wanted, and waits for one if there is none yet. `nil` when none came
    /// within `limit` times ``Timeouts/factor``.
    package func next(
        within limit: Duration, where isWanted: @escaping @Sendable (Element) -> Bool = { _ in true }
    ) async -> Element? {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = Waiter(id: id, isWanted: isWanted, continuation: continuation)
                guard enqueue(waiter) else { return }
                if Task.isCancelled { cancel(id) }
                let time = Int(clamping: (limit * Timeouts.factor).nanoseconds)
                DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(time)) { self.cancel(id) }
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Returns whether the waiter waits.
    private func enqueue(_ waiter: Waiter) -> Bool {
        let found: Element?? = state.withLock { state in
            guard let index = state.unread.firstIndex(where: waiter.isWanted) else {
                state.waiters.append(waiter)
                return nil
            }
            return state.unread.remove(at: index)
        }
        guard let element = found else { return true }
        waiter.continuation.resume(returning: element)
        return false
    }

    private func cancel(_ id: UInt64) {
        let waiter: Waiter? = state.withLock { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: nil)
    }
}

/// How much longer than usual every time limit is.
package enum Timeouts {
    /// The factor for time limits and tolerances: `NOTIFYD_TIMEOUT_FACTOR`, 1 if it is not set. `.ci/sanitize` sets it,
    /// because a sanitizer makes programs many times slower.
    package static let factor = ChildProcess.currentEnvironment["NOTIFYD_TIMEOUT_FACTOR"].flatMap { Int($0) } ?? 1
}
