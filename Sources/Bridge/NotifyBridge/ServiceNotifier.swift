import Glibc
import NotifyClient
import Systemd

/// Notifies the service manager, if there is one; sd_notify(3). It never blocks: while the manager does not read, the
/// newest statement of each kind waits.
final class ServiceNotifier: Sendable {
    private struct State: @unchecked Sendable {
        // Proof: only `locked` holds it, and only `withLock` uses it.
        var queue = StatementQueue()
        var isRetrying = false
        let socket: NotifySocket?
    }

    private let locked: Locked<State>

    private let loop: WorkLoop

    /// - Parameters:
    ///   - loop: where statements wait.
    ///   - name: `$NOTIFY_SOCKET`.
    init(_ loop: WorkLoop, _ name: String? = getenv("NOTIFY_SOCKET").map { String(cString: $0) }) {
        self.loop = loop
        locked = Locked(State(socket: name.flatMap { NotifySocket($0) }))
    }

    /// The start or a reload is done.
    func ready(_ status: String) { put(.ready, "READY=1\n\(ServiceManager.assignment(ofStatus: status))") }

    func reloading() { put(.reloading, "RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonic())") }

    func stopping() { put(.stopping, "STOPPING=1") }

    func status(_ text: String) { put(.status, ServiceManager.assignment(ofStatus: text)) }

    func pingWatchdog() { put(.watchdog, "WATCHDOG=1") }

    private func put(_ kind: StatementQueue.Kind, _ text: String) {
        locked.withLock { state in
            guard state.socket != nil else { return }
            state.queue.put(kind, text)
        }
        flush()
    }

    private func flush() {
        let mustRetry = locked.withLock { state in
            let socket = state.socket
            state.queue.flush { socket?.send($0) != .full }
            guard !state.queue.isEmpty, !state.isRetrying else { return false }
            state.isRetrying = true
            return true
        }
        guard mustRetry else { return }
        loop.perform(after: .milliseconds(200)) { [self] in
            locked.withLock { $0.isRetrying = false }
            flush()
        }
    }
}
