import DequeModule

/// Calls that have been read and wait to be handled, in a queue for each caller. The callers are served by deficit round
/// robin: a caller whose call costs more than its quantum runs up a deficit, and is passed over until the others have used as
/// much. See M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round-Robin" (1996).
///
/// The calls of one caller keep their order, with one exception: before windows end, its claims, and the changes before them,
/// overtake its reads.
struct FairQueue<Call> {
    /// Calls of one caller; as many as the undecided events that one caller may have.
    static var lengthLimit: Int { 10_000 }
    /// Bytes of one caller's calls.
    static var bytesLimit: Int { 8 << 20 }
    /// Bytes of all calls. Above that nothing is read until some calls have been handled.
    static var totalLimit: Int { 32 << 20 }
    /// Bytes that each call counts beside its contents.
    private static var overhead: Int { 512 }
    /// What a caller may use in a round without a deficit, in microseconds, as all costs.
    static var quantum: Int { 250 }

    enum Kind {
        case publish
        /// May decide an event, and can be too late for it; also `Withdraw`.
        case claim
        /// Changes nothing.
        case reading
        /// Any other change.
        case other
    }

    private struct Entry {
        let call: Call
        let bytes: Int
        let kind: Kind
        /// Counts the calls of one caller.
        let number: UInt64
    }

    private struct CallerQueue {
        /// Two queues, so that claims can overtake reads.
        var changes = Deque<Entry>()
        var readings = Deque<Entry>()
        var lastNumber: UInt64 = 0
        var bytes = 0
        var publishes = 0
        var claims = 0
        var isBlocked = false

        var count: Int { changes.count + readings.count }

        mutating func popFirst() -> Entry {
            guard let reading = readings.first else { return changes.removeFirst() }
            guard let change = changes.first, change.number < reading.number else { return readings.removeFirst() }
            return changes.removeFirst()
        }
    }

    private var queues: [String: CallerQueue] = [:]
    /// The callers that can be served, in the order of the round.
    private var round = Deque<String>()
    /// The callers that wait for `unthrottle`.
    private var throttled: [String] = []
    /// The callers with queued claims, each once.
    private var claimants = Deque<String>()
    /// What callers have used beyond their quanta while others waited.
    private var deficits: [String: Int] = [:]
    private var bytes = 0

    var isEmpty: Bool { queues.isEmpty }
    /// Whether a call can be handled now.
    var isReady: Bool { !round.isEmpty }
    /// Whether no more should be read for now.
    var isFull: Bool { isReady && bytes >= Self.totalLimit }

    /// Whether a further call of this caller must be queued: it has queued calls or a deficit.
    func mustQueue(_ caller: String) -> Bool { queues[caller] != nil || deficits[caller] != nil }

    func hasCalls(of caller: String) -> Bool { queues[caller] != nil }

    /// Whether another call of this caller can be queued. While all callers are blocked, reading goes on, because the reply
    /// that unblocks them must be read; nothing beyond the limit is queued then.
    func hasRoom(for caller: String) -> Bool {
        guard bytes < Self.totalLimit || isReady else { return false }
        guard let queue = queues[caller] else { return true }
        return queue.count < Self.lengthLimit && queue.bytes < Self.bytesLimit
    }

    /// - Parameter bytes: about how long the call is.
    mutating func enqueue(_ call: Call, of caller: String, bytes: Int = 0, kind: Kind = .other) {
        let size = bytes + Self.overhead
        if queues[caller] == nil { round.append(caller) }
        var queue = queues.removeValue(forKey: caller) ?? CallerQueue()
        queue.lastNumber += 1
        let entry = Entry(call: call, bytes: size, kind: kind, number: queue.lastNumber)
        if kind == .reading { queue.readings.append(entry) } else { queue.changes.append(entry) }
        queue.bytes += size
        if kind == .publish { queue.publishes += 1 }
        if kind == .claim { queue.claims += 1 }
        if kind == .claim, queue.claims == 1 { claimants.append(caller) }
        queues[caller] = queue
        self.bytes += size
        if kind != .publish { unthrottle(caller) }
    }

    /// Puts the rest of the read that was dequeued last in front. Only the caller's claims overtake it.
    mutating func requeue(_ call: Call, of caller: String) {
        if queues[caller] == nil { round.append(caller) }
        queues[caller, default: CallerQueue()].readings.prepend(Entry(call: call, bytes: 0, kind: .reading, number: 0))
    }

    /// Appends what follows the last call of a caller that has disconnected, and drops its reads.
    mutating func enqueueLast(_ call: Call, of caller: String) {
        if var queue = queues.removeValue(forKey: caller) {
            let size = queue.readings.reduce(0) { $0 + $1.bytes }
            queue.readings = []
            queue.bytes -= size
            bytes -= size
            queues[caller] = queue
        }
        enqueue(call, of: caller)
    }

    /// Whether this caller has queued so many publishes, and nothing else, that it is throttled for the sake of others.
    func hasPublishBacklog(_ caller: String) -> Bool {
        guard let queue = queues[caller] else { return false }
        return queue.publishes > Throttle.backlogThreshold && queue.publishes == queue.count
    }

    // MARK: Rounds

    /// The caller to be served now. Callers with deficits move to the end of the round, and each move takes a quantum off.
    mutating func nextCaller() -> String? {
        // A single caller delays no other.
        if round.count <= 1 { deficits = [:] }
        var passed = 0
        while let caller = round.first, let deficit = deficits[caller] {
            guard passed < round.count else {
                reduceDeficits()
                passed = 0
                continue
            }
            deficits[caller] = deficit > Self.quantum ? deficit - Self.quantum : nil
            round.append(round.removeFirst())
            passed += 1
        }
        return round.first
    }

    /// Where all callers have deficits, the smallest of them is taken off each.
    private mutating func reduceDeficits() {
        let least = round.compactMap { deficits[$0] }.min() ?? 0
        for caller in round {
            guard let deficit = deficits[caller] else { continue }
            deficits[caller] = deficit > least ? deficit - least : nil
        }
    }

    /// Adds the cost of a handled call to its caller's deficit.
    mutating func charge(_ caller: String, _ cost: Int) {
        guard cost > Self.quantum, !isEmpty else { return }
        deficits[caller, default: 0] += cost - Self.quantum
    }

    /// Takes the next caller out of the round until `unblock`.
    mutating func blockNext() {
        queues[round.removeFirst()]?.isBlocked = true
    }

    mutating func unblock(_ caller: String) {
        guard queues[caller]?.isBlocked == true else { return }
        queues[caller]?.isBlocked = false
        round.append(caller)
    }

    /// Takes the next caller out of the round until `unthrottle`.
    mutating func throttleNext() {
        throttled.append(round.removeFirst())
    }

    /// Puts all throttled callers back into the round.
    mutating func unthrottle() {
        round.append(contentsOf: throttled)
        throttled = []
    }

    private mutating func unthrottle(_ caller: String) {
        guard let index = throttled.firstIndex(of: caller) else { return }
        round.append(throttled.remove(at: index))
    }

    /// Removes the next call of the caller that `nextCaller` has returned.
    mutating func dequeue() -> Call {
        let caller = round.removeFirst()
        // Every caller in the round has a queue.
        var queue = queues.removeValue(forKey: caller)!
        let entry = queue.popFirst()
        if put(queue, of: caller, without: entry) { round.append(caller) }
        return entry.call
    }

    // MARK: Before windows end

    /// Removes a call that has to be handled before windows end: a claim, or a change that stands before one. The callers
    /// are served round robin; blocked ones are skipped.
    ///
    /// - Returns: `nil` where no claim can be handled.
    mutating func dequeueForClaim() -> (caller: String, call: Call)? {
        for _ in 0..<claimants.count {
            let caller = claimants.removeFirst()
            guard var queue = queues[caller], !queue.isBlocked else {
                claimants.append(caller)
                continue
            }
            queues[caller] = nil
            let entry = queue.changes.removeFirst()
            let hadOneClaim = queue.claims == 1 && entry.kind == .claim
            if !hadOneClaim { claimants.append(caller) }
            if !put(queue, of: caller, without: entry, isClaimant: !hadOneClaim) {
                round.removeAll { $0 == caller }
            }
            return (caller, entry.call)
        }
        return nil
    }

    /// Keeps what is left of a caller's queue without the entry that was removed from it.
    ///
    /// - Returns: whether anything is left.
    private mutating func put(
        _ queue: CallerQueue, of caller: String, without entry: Entry, isClaimant: Bool? = nil
    ) -> Bool {
        var queue = queue
        bytes -= entry.bytes
        queue.bytes -= entry.bytes
        if entry.kind == .publish { queue.publishes -= 1 }
        if entry.kind == .claim {
            queue.claims -= 1
            if isClaimant == nil, queue.claims == 0 { claimants.removeAll { $0 == caller } }
        }
        if queue.count > 0 { queues[caller] = queue }
        if queues.isEmpty { deficits = [:] }
        return queue.count > 0
    }
}
