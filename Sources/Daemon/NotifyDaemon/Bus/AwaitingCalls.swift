import Routing
import Systemd

/// A call of `AwaitChanges` that waits for the next change.
struct AwaitingCall {
    let call: RetainedMessage
    let after: UInt64
    let limit: Int
    /// Whose limit it counts for.
    let owner: String
}

/// The calls of `AwaitChanges` that wait. The next change ends the waiting of all of them.
struct AwaitingCalls {
    /// Of one program.
    private static let limit = 64
    private static let totalLimit = 256

    private var calls: [String: [AwaitingCall]] = [:]
    private var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func add(_ call: AwaitingCall, of caller: String) throws(Refusal) {
        let own = calls.values.joined().count { $0.owner == call.owner }
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
