import Glibc
import NotifyClient

/// Points at which a test kills a bridge: `NOTIFYD_FAILPOINT=before-call` kills it at the first hit, `before-call:5` at
/// the fifth. Only debug builds have them.
enum BridgeFailpoint: String {
    case beforeCall = "before-call"
    case afterAnswer = "after-answer"
    case beforeWrite = "before-write"
    case afterWrite = "after-write"

    #if FAILPOINTS
        /// The armed failpoint, and how many hits are left.
        private static let armed: Locked<(point: BridgeFailpoint, hitsLeft: Int)>? = {
            guard let value = getenv("NOTIFYD_FAILPOINT") else { return nil }
            let parts = String(cString: value).split(separator: ":")
            guard let name = parts.first, let point = BridgeFailpoint(rawValue: String(name)) else { return nil }
            return Locked((point, parts.count > 1 ? Int(parts[1]) ?? 1 : 1))
        }()

        func hit() {
            Self.armed?.withLock { armed in
                guard armed.point == self else { return }
                armed.hitsLeft -= 1
                if armed.hitsLeft == 0 { kill(getpid(), SIGKILL) }
            }
        }
    #else
        @inline(__always) func hit() {}
    #endif
}
