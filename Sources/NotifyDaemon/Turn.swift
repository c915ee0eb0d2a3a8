import Routing
import Systemd

/// Keeps a stream of messages from starving the timers. Messages are served first, so that a claim which lies in the socket
/// when a deadline passes is in time; but after so many, or so long, what is due is done in between.
final class Turn {
    private static let messages = 512
    private static let microseconds: Int64 = 2000

    private let due: () -> Void
    private var end: EventSource!
    private var count = 0
    private var began: Int64 = 0

    /// - Parameter due: does what is due.
    init(loop: EventLoop, due: @escaping () -> Void) throws(SystemdError) {
        self.due = due
        end = try loop.deferred { [unowned self] in count = 0 }
    }

    func messageHandled() {
        if count == 0 {
            began = Clock.monotonic()
            end.trigger()
        }
        count += 1
        if count >= Self.messages || Clock.monotonic() - began >= Self.microseconds {
            count = 0
            due()
        }
    }
}
