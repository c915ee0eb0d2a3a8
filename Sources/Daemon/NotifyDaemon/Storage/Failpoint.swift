import Glibc

/// Points at which a test kills the daemon: `NOTIFYD_FAILPOINT=after-commit` kills it at the first hit,
/// `after-commit:5` at the fifth. Only debug builds have them.
enum Failpoint: String {
    case beforeCommit = "before-commit"
    case afterCommit = "after-commit"
    case afterReply = "after-reply"
    case afterSignal = "after-signal"
    case beforeNotify = "before-notify"
    case afterNotify = "after-notify"
    case beforeOutcome = "before-outcome"

    #if FAILPOINTS
        /// The armed failpoint, and how many hits are left. The daemon has one thread, and reads the environment once.
        nonisolated(unsafe) private static var armed: (point: Failpoint, hitsLeft: Int)? = {
            guard let value = getenv("NOTIFYD_FAILPOINT") else { return nil }
            let parts = String(cString: value).split(separator: ":")
            guard let name = parts.first, let point = Failpoint(rawValue: String(name)) else { return nil }
            return (point, parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
        }()

        func hit() {
            guard let armed = Self.armed, armed.point == self else { return }
            guard armed.hitsLeft <= 1 else {
                Self.armed = (self, armed.hitsLeft - 1)
                return
            }
            kill(getpid(), SIGKILL)
        }
    #else
        @inline(__always) func hit() {}
    #endif
}
