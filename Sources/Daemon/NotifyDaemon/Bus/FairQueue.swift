import DequeModule

/// Calls that have been read and wait to be handled, in a queue for each caller. The callers are served by deficit round
/// robin: a caller whose call costs more than its quantum runs up a deficit, and is passed over until the others have used as
/// much. See M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round-Robin" (1996).
///
/// The calls of one caller keep their order, with one exception: before windows end, its claims, and the changes before them,
/// overtake its reads.
final class FairQueue<Call> {
    /// Calls of one caller. dbus-daemon keeps all calls without a reply in one list, and searches it for each reply. With ten
    /// thousand of them a reply takes it milliseconds, and the calls of others are read as slowly.
    static var lengthLimit: Int { 2_500 }
    /// Those of them that change nothing: their replies are long, and so they wait for longer.
    static var readingsLimit: Int { 1_000 }
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
        var caller = ""
        /// Two queues, so that claims can overtake reads.
        var changes = Deque<Entry>()
        var readings = Deque<Entry>()
        var lastNumber: UInt64 = 0
        var bytes = 0
        var publishes = 0
        var claims = 0
        var isBlocked = false

        var count: Int { changes.count + readings.count }

        mutating func append(_ call: Call, bytes size: Int, kind: Kind) {
            lastNumber += 1
            let entry = Entry(call: call, bytes: size, kind: kind, number: lastNumber)
            if kind == .reading { readings.append(entry) } else { changes.append(entry) }
            bytes += size
            if kind == .publish { publishes += 1 }
            if kind == .claim { claims += 1 }
        }

        mutating func popFirst() -> Entry {
            guard let reading = readings.first else { return changes.removeFirst() }
            guard let change = changes.first, change.number < reading.number else { return readings.removeFirst() }
            return changes.removeFirst()
        }

        /// Readies an empty queue for another caller. A short one keeps its memory.
        mutating func reset() {
            if lastNumber > 64 { self = CallerQueue() } else { (lastNumber, isBlocked) = (0, false) }
        }
    }

    /// A place in `queues`, which a caller has as long as it has calls.
    private typealias Place = Int

    private var queues: [CallerQueue] = []
    /// The places of the callers with queued calls.
    private var places: [String: Place] = [:]
    /// The places without a caller.
    private var free: [Place] = []
    /// The callers that can be served, in the order of the round.
    private var round = Deque<Place>()
    /// The callers that wait for `unthrottle`.
    private var throttled: [Place] = []
    /// The callers with queued claims, each once.
    private var claimants = Deque<Place>()
    /// What callers have used beyond their quanta while others waited.
    private var deficits: [String: Int] = [:]
    private var bytes = 0

    var isEmpty: Bool { places.isEmpty }
    /// Whether a call can be handled now.
    var isReady: Bool { !round.isEmpty }
    /// Whether no more should be read for now.
    var isFull: Bool { isReady && bytes >= Self.totalLimit }

    /// Whether a further call of this caller must be queued: it has queued calls or a deficit.
    func mustQueue(_ caller: String) -> Bool { places[caller] != nil || deficits[caller] != nil }

    func hasCalls(of caller: String) -> Bool { places[caller] != nil }

    /// Whether another call of this caller can be queued. While all callers are blocked, reading goes on, because the reply
    /// that unblocks them must be read; nothing beyond the limit is queued then.
    func hasRoom(for caller: String, kind: Kind = .other) -> Bool {
        guard bytes < Self.totalLimit || isReady else { return false }
        guard let place = places[caller] else { return true }
        if kind == .reading, queues[place].readings.count >= Self.readingsLimit { return false }
        return queues[place].count < Self.lengthLimit && queues[place].bytes < Self.bytesLimit
    }

    /// The place of a caller, which gets one at the end of the round if it has none.
    private func place(of caller: String) -> Place {
        if let place = places[caller] { return place }
        let place = free.popLast() ?? queues.count
        if place == queues.count { queues.append(CallerQueue()) }
        queues[place].caller = caller
        places[caller] = place
        round.append(place)
        return place
    }

    /// - Parameter bytes: about how long the call is.
    func enqueue(_ call: Call, of caller: String, bytes: Int = 0, kind: Kind = .other) {
        let size = bytes + Self.overhead
        let place = place(of: caller)
        queues[place].append(call, bytes: size, kind: kind)
        if kind == .claim, queues[place].claims == 1 { claimants.append(place) }
        self.bytes += size
        if kind != .publish { unthrottle(place) }
    }

    /// Puts the rest of the read that was dequeued last in front. Only the caller's claims overtake it.
    func requeue(_ call: Call, of caller: String) {
        queues[place(of: caller)].readings.prepend(Entry(call: call, bytes: 0, kind: .reading, number: 0))
    }

    /// Appends what follows the last call of a caller that has disconnected, and drops its reads.
    func enqueueLast(_ call: Call, of caller: String) {
        if let place = places[caller] {
            let size = queues[place].readings.reduce(0) { $0 + $1.bytes }
            queues[place].readings = []
            queues[place].bytes -= size
            bytes -= size
        }
        enqueue(call, of: caller)
    }

    /// Whether this caller has queued so many publishes, and nothing else, that it is throttled for the sake of others.
    func hasPublishBacklog(_ caller: String) -> Bool {
        guard let place = places[caller] else { return false }
        return queues[place].publishes > Throttle.backlogThreshold && queues[place].publishes == queues[place].count
    }

    // MARK: Rounds

    /// The caller to be served now. Callers with deficits move to the end of the round, and each move takes a quantum off.
    func nextCaller() -> String? {
        // A single caller delays no other.
        if round.count <= 1 { deficits = [:] }
        var passed = 0
        while let caller = nextInRound, let deficit = deficits[caller] {
            guard passed < round.count else {
                reduceDeficits()
                passed = 0
                continue
            }
            deficits[caller] = deficit > Self.quantum ? deficit - Self.quantum : nil
            round.append(round.removeFirst())
            passed += 1
        }
        return nextInRound
    }

    private var nextInRound: String? { round.first.map { queues[$0].caller } }

    /// Where all callers have deficits, the smallest of them is taken off each.
    private func reduceDeficits() {
        let callers = round.map { queues[$0].caller }
        let least = callers.compactMap { deficits[$0] }.min() ?? 0
        for caller in callers {
            guard let deficit = deficits[caller] else { continue }
            deficits[caller] = deficit > least ? deficit - least : nil
        }
    }

    /// Adds the cost of a handled call to its caller's deficit.
    func charge(_ caller: String, _ cost: Int) {
        guard cost > Self.quantum, !isEmpty else { return }
        deficits[caller, default: 0] += cost - Self.quantum
    }

    /// Takes the next caller out of the round until `unblock`.
    func blockNext() {
        queues[round.removeFirst()].isBlocked = true
    }

    func unblock(_ caller: String) {
        guard let place = places[caller], queues[place].isBlocked else { return }
        queues[place].isBlocked = false
        round.append(place)
    }

    /// Takes the next caller out of the round until `unthrottle`.
    func throttleNext() {
        throttled.append(round.removeFirst())
    }

    /// Puts all throttled callers back into the round.
    func unthrottle() {
        round.append(contentsOf: throttled)
        throttled = []
    }

    private func unthrottle(_ place: Place) {
        guard let index = throttled.firstIndex(of: place) else { return }
        round.append(throttled.remove(at: index))
    }

    /// Removes the next call of the caller that `nextCaller` has returned.
    func dequeue() -> Call {
        let place = round.removeFirst()
        let entry = queues[place].popFirst()
        if settle(place, without: entry) { round.append(place) }
        return entry.call
    }

    // MARK: Before windows end

    /// Removes a call that has to be handled before windows end: a claim, or a change that stands before one. The callers
    /// are served round robin; blocked ones are skipped.
    ///
    /// - Returns: `nil` where no claim can be handled.
    func dequeueForClaim() -> (caller: String, call: Call)? {
        for _ in 0..<claimants.count {
            let place = claimants.removeFirst()
            guard !queues[place].isBlocked else {
                claimants.append(place)
                continue
            }
            let caller = queues[place].caller
            let entry = queues[place].changes.removeFirst()
            let hadOneClaim = queues[place].claims == 1 && entry.kind == .claim
            if !hadOneClaim { claimants.append(place) }
            if !settle(place, without: entry, isClaimant: !hadOneClaim) { round.removeAll { $0 == place } }
            return (caller, entry.call)
        }
        return nil
    }

    /// Accounts for an entry that was removed from a caller's queue.
    ///
    /// - Returns: whether anything is left of the queue.
    private func settle(_ place: Place, without entry: Entry, isClaimant: Bool? = nil) -> Bool {
        bytes -= entry.bytes
        queues[place].bytes -= entry.bytes
        if entry.kind == .publish { queues[place].publishes -= 1 }
        if entry.kind == .claim {
            queues[place].claims -= 1
            if isClaimant == nil, queues[place].claims == 0 { claimants.removeAll { $0 == place } }
        }
        guard queues[place].count == 0 else { return true }
        places[queues[place].caller] = nil
        queues[place].reset()
        free.append(place)
        if isEmpty { deficits = [:] }
        // Releases the memory of many callers.
        if isEmpty, queues.count > 64 { (queues, free) = ([], []) }
        return false
    }
}
