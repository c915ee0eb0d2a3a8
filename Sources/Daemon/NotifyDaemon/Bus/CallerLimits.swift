import Routing
import Systemd

/// Limits the publishes of a caller with a long backlog while others call. Replies to all callers share one queue to
/// the bus, and the bus needs longer for a reply than the daemon does.
///
/// A bucket of a few calls is refilled at intervals. A caller that calls alone is not limited.
struct Throttle {
    /// Queued publishes of one program above which those of its callers are limited that have more than an equal share
    /// of these. A caller that waits for replies never has so many.
    static let backlogThreshold = 256
    static let burst = 8
    static let interval: Duration = .milliseconds(2)
    /// How long after its last call a caller counts as active.
    static let activityTimeout: Duration = .seconds(1)

    /// The two most recent callers, the latest first.
    private var callers: [(name: String, at: Instant)] = []
    private var callsLeft = burst

    /// Records a call of a caller without a backlog.
    mutating func recordCall(by caller: String, at now: Instant) {
        if callers.first?.name == caller {
            callers[0].at = now
        } else {
            callers.insert((caller, now), at: 0)
            if callers.count > 2 { callers.removeLast() }
        }
    }

    /// Whether a call of this caller, which has a backlog, may be handled before the next `refill`.
    mutating func allows(_ caller: String, at now: Instant) -> Bool {
        let isAlone = !callers.contains { $0.name != caller && now < $0.at + Self.activityTimeout }
        if isAlone { return true }
        guard callsLeft > 0 else { return false }
        callsLeft -= 1
        return true
    }

    mutating func refill() { callsLeft = Self.burst }
}

/// Bytes of long replies to each caller that it was not seen to read. The bus keeps what a caller does not read, and
/// takes it off a quota that ends our own connection.
///
/// A caller is seen to read by its answer to a ping, which the bus delivers after the replies. It is asked early, so
/// that who reads does not have to wait.
struct UnreadReplies {
    /// Above this a caller's calls wait.
    static var limit: Int { 256 << 10 }
    /// Above this a caller is asked.
    static var askAbove: Int { 64 << 10 }

    private struct Unread {
        var bytes = 0
        /// What it had when it was asked; `nil`: it is not asked now.
        var asked: Int?
    }

    private var callers: [String: Unread] = [:]

    /// Whether no more calls of this caller are handled for now.
    func mustWait(_ caller: String) -> Bool { callers[caller].map { $0.bytes > Self.limit } ?? false }

    /// - Returns: whether the caller is to be asked now.
    mutating func sent(_ bytes: Int, to caller: String) -> Bool {
        callers[caller, default: Unread()].bytes += bytes
        return mustPing(caller)
    }

    /// The caller has answered a ping: it has read everything before that.
    ///
    /// - Returns: whether it is to be pinged again now.
    mutating func answeredPing(_ caller: String) -> Bool {
        guard let asked = callers[caller]?.asked else { return false }
        callers[caller]?.asked = nil
        callers[caller]?.bytes -= asked
        if callers[caller]?.bytes == 0 { callers[caller] = nil }
        return mustPing(caller)
    }

    private mutating func mustPing(_ caller: String) -> Bool {
        guard let unread = callers[caller], unread.asked == nil, unread.bytes > Self.askAbove else { return false }
        callers[caller]?.asked = unread.bytes
        return true
    }

    mutating func remove(_ caller: String) { callers[caller] = nil }
}

/// A call of `AwaitChanges` that waits for the next change.
struct AwaitingCall {
    let call: RetainedMessage
    let after: UInt64
    let limit: Int
}

/// The calls of `AwaitChanges` that wait. The next change ends the waiting of all of them.
struct AwaitingCalls {
    /// Of one program.
    private static let limit = 64
    private static let totalLimit = 256

    private var calls: [String: [AwaitingCall]] = [:]
    private var count = 0

    var isEmpty: Bool { count == 0 }

    /// - Parameter owner: whose limit a caller counts for now. It changes once the program of a caller is known.
    mutating func add(_ call: AwaitingCall, of caller: String, owner: (String) -> String) throws(Refusal) {
        let program = owner(caller)
        let own = calls.reduce(0) { $0 + (owner($1.key) == program ? $1.value.count : 0) }
        guard own < Self.limit, count < Self.totalLimit else {
            throw .limitExceeded(
                "calls of AwaitChanges that wait: \(Self.limit) of one program, \(Self.totalLimit) of all; wait for "
                    + "their answers")
        }
        calls[caller, default: []].append(call)
        count += 1
    }

    mutating func takeAll() -> [(caller: String, call: AwaitingCall)] {
        defer { self = AwaitingCalls() }
        return calls.flatMap { caller, calls in calls.map { (caller, $0) } }
    }

    /// The caller has left the bus.
    mutating func remove(of caller: String) { count -= calls.removeValue(forKey: caller)?.count ?? 0 }
}
