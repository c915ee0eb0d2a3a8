import Dispatch
import NotifyClient

/// What has arrived, in order, and a way to wait for it: never longer than a deadline, and never by polling.
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

    private let state = Guarded(State())

    package init() {}

    /// Everything that ever arrived, read or not.
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

    /// Takes the first unread element that is wanted; waits for it if need be. `nil` when none came in time, which is
    /// `limit` with all ``Slack``.
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
                if Task.isCancelled { giveUp(id) }
                DispatchQueue.global().asyncAfter(deadline: .now() + (limit * Slack.factor).interval) {
                    self.giveUp(id)
                }
            }
        } onCancel: {
            giveUp(id)
        }
    }

    /// Returns whether the waiter has to wait.
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

    private func giveUp(_ id: UInt64) {
        let waiter: Waiter? = state.withLock { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: nil)
    }
}

extension Duration {
    var interval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        return .nanoseconds(Int(clamping: seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
    }
}
