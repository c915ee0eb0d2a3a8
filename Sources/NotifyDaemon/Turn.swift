import Systemd

/// A turn of the loop: everything readable is handled, then the journal commits once, and then what was decided leaves.
///
/// Messages are served before timers, so that a claim which lies in the socket when a deadline passes is in time. A stream
/// of messages must not starve what else there is to do: after so many, or so long, the turn ends in between.
final class Turn {
    private static let messages = 512
    private static let microseconds: Int64 = 2000

    private let finish: (_ isOverdue: Bool) -> Void
    private var end: EventSource!
    private var count = 0
    private var began: Int64 = 0

    /// - Parameter finish: commits and lets everything leave; told whether timers have had to wait.
    init(loop: EventLoop, finish: @escaping (_ isOverdue: Bool) -> Void) throws(SystemdError) {
        self.finish = finish
        end = try loop.deferred { [unowned self] in
            count = 0
            finish(false)
        }
    }

    /// Has the turn finished when there is nothing else to do.
    func touch() {
        end.trigger()
    }

    /// To be called before a message is handled.
    func messageArrived() {
        if count == 0 {
            began = Clock.monotonic()
            end.trigger()
        } else if count >= Self.messages || Clock.monotonic() - began >= Self.microseconds {
            count = 0
            finish(true)
            began = Clock.monotonic()
        }
        count += 1
    }
}
