import Routing
import Systemd

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
