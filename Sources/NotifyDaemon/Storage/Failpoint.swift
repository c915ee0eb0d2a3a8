import Glibc

/// Steps of the protocol at which a test can have the daemon killed, as if the power had gone: `NOTIFYD_FAILPOINT=after-commit`
/// kills it the first time, `after-commit:5` the fifth. Only a build for development has them.
enum Failpoint: String {
    case beforeCommit = "before-commit"
    case afterCommit = "after-commit"
    case afterReply = "after-reply"
    case afterSignal = "after-signal"
    case beforeNotify = "before-notify"
    case afterNotify = "after-notify"
    case beforeOutcome = "before-outcome"

    #if FAILPOINTS
        /// Which one, and how often it is still passed. The daemon has one thread, and reads the environment once.
        nonisolated(unsafe) private static var armed: (point: Failpoint, passes: Int)? = {
            guard let value = getenv("NOTIFYD_FAILPOINT") else { return nil }
            let parts = String(cString: value).split(separator: ":")
            guard let name = parts.first, let point = Failpoint(rawValue: String(name)) else { return nil }
            return (point, parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
        }()

        func pass() {
            guard let armed = Self.armed, armed.point == self else { return }
            guard armed.passes <= 1 else {
                Self.armed = (self, armed.passes - 1)
                return
            }
            kill(getpid(), SIGKILL)
        }
    #else
        @inline(__always) func pass() {}
    #endif
}
