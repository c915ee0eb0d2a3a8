#if FAILPOINTS
    import Glibc
    import Synchronization
#endif

/// Points at which a test kills the daemon or a bridge: `NOTIFYD_FAILPOINT=after-commit` kills it at the first hit,
/// `after-commit:5` at the fifth. Only debug builds have them.
package enum Failpoint: String, Sendable {
    // The daemon.
    case beforeCommit = "before-commit"
    case afterCommit = "after-commit"
    case afterReply = "after-reply"
    case afterSignal = "after-signal"
    case beforeNotify = "before-notify"
    case afterNotify = "after-notify"
    case beforeOutcome = "before-outcome"
    // Bridges.
    case beforeCall = "before-call"
    case afterAnswer = "after-answer"
    case beforeWrite = "before-write"
    case afterWrite = "after-write"

    #if FAILPOINTS
        /// The failpoint that kills, and at which hit. The environment is read once.
        private static let armed: (point: Failpoint?, hit: Int) = {
            let parts = getenv("NOTIFYD_FAILPOINT").map { String(cString: $0).split(separator: ":") } ?? []
            let point = parts.first.flatMap { Failpoint(rawValue: String($0)) }
            return (point, parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
        }()
        private static let hits = Atomic(0)

        package func hit() {
            guard Self.armed.point == self else { return }
            if Self.hits.add(1, ordering: .relaxed).newValue == Self.armed.hit { kill(getpid(), SIGKILL) }
        }
    #else
        @inlinable
        package func hit() {}
    #endif
}
