import DequeModule

/// Calls that have been read and wait to be handled, in a queue for each caller. The programs of the callers are served
/// by deficit round robin: a program whose call costs more than its quantum runs up a deficit, and is passed over until
/// the others have used as much. See M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round-Robin"
/// (1996). The callers of one program, such as several connections, take turns within its turns.
///
/// The calls of one caller keep their order, with one exception: before windows end, its claims, and the changes before
/// them, overtake its reads.
final class FairQueue<Call> {
    /// Calls of one program. dbus-daemon keeps all calls without a reply in one list, and searches it for each reply.
    /// With ten thousand of them a reply takes it milliseconds, and the calls of others are read as slowly.
    static var lengthLimit: Int { 2_500 }
    /// Those of them that change nothing: their replies are long, and so they wait for longer.
    static var readingsLimit: Int { 1_000 }
    /// Bytes of one program's calls.
    static var bytesLimit: Int { 8 << 20 }
    /// Calls and bytes that a caller may queue even if others of its program have reached the limits.
    static var reservedLength: Int { 16 }
    static var reservedBytes: Int { 64 << 10 }
    /// Bytes of all calls. Above that nothing is read until some calls have been handled.
    static var totalLimit: Int { 16 << 20 }
    /// Bytes that each call counts beside its contents.
    private static var overhead: Int { 512 }
    /// What a program may use in a round without a deficit, in microseconds, as all costs.
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
        var program = ""
        /// Two queues, so that claims can overtake reads.
        var changes = Deque<Entry>()
        var readings = Deque<Entry>()
        var lastNumber: UInt64 = 0
        var bytes = 0
        var publishes = 0
        var claims = 0
        var isBlocked = false

        var count: Int { changes.count + readings.count }
        var entries: [Entry] { Array(changes) + readings }

        mutating func append(_ call: Call, bytes size: Int, kind: Kind) -> Entry {
            lastNumber += 1
            let entry = Entry(call: call, bytes: size, kind: kind, number: lastNumber)
            if kind == .reading { readings.append(entry) } else { changes.append(entry) }
            bytes += size
            if kind == .publish { publishes += 1 }
            if kind == .claim { claims += 1 }
            return entry
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

    private struct Program {
        /// Its callers that can be served, in the order of their turns.
        var round = Deque<Place>()
        /// Its callers with queued calls.
        var callers = 0
        var calls = 0
        var readings = 0
        var publishes = 0
        var bytes = 0
    }

    /// A place in `queues`, which a caller has as long as it has calls.
    private typealias Place = Int

    private var queues: [CallerQueue] = []
    /// The places of the callers with queued calls.
    private var places: [String: Place] = [:]
    /// The places without a caller.
    private var free: [Place] = []
    /// The programs with queued calls.
    private var programs: [String: Program] = [:]
    /// The programs with callers that can be served, in the order of the round.
    private var round = Deque<String>()
    /// The callers that wait for `unthrottle`.
    private var throttled: [Place] = []
    /// The callers with queued claims, each once.
    private var claimants = Deque<Place>()
    /// What programs have used beyond their quanta while others waited.
    private var deficits: [String: Int] = [:]
    private var bytes = 0
    /// The program of a caller; a caller without one is its own.
    var programOf: (String) -> String = { $0 }

    var isEmpty: Bool { places.isEmpty }
    /// Whether a call can be handled now.
    var isReady: Bool { !round.isEmpty }
    /// Whether no more should be read for now.
    var isFull: Bool { isReady && bytes >= Self.totalLimit }

    /// Whose limits and turns count for a caller.
    func program(of caller: String) -> String { places[caller].map { queues[$0].program } ?? programOf(caller) }

    /// Whether a further call of this caller must be queued: its program has queued calls or a deficit.
    func mustQueue(_ caller: String) -> Bool {
        if isEmpty, deficits.isEmpty { return false }
        let program = program(of: caller)
        return programs[program] != nil || deficits[program] != nil
    }

    func hasCalls(of caller: String) -> Bool { places[caller] != nil }

    /// Whether another call of this caller can be queued. While all callers are blocked, reading goes on, because the
    /// reply that unblocks them must be read; nothing beyond the limit is queued then.
    func hasRoom(for caller: String, kind: Kind = .other) -> Bool {
        guard bytes < Self.totalLimit || isReady else { return false }
        guard let program = programs[program(of: caller)] else { return true }
        let own = places[caller].map { queues[$0] }
        if own?.count ?? 0 < Self.reservedLength, own?.bytes ?? 0 < Self.reservedBytes { return true }
        if kind == .reading, program.readings >= Self.readingsLimit { return false }
        return program.calls < Self.lengthLimit && program.bytes < Self.bytesLimit
    }

    /// The place of a caller, which gets one at the end of the round if it has none.
    private func place(of caller: String) -> Place {
        if let place = places[caller] { return place }
        let program = programOf(caller)
        let place = free.popLast() ?? queues.count
        if place == queues.count { queues.append(CallerQueue()) }
        queues[place].caller = caller
        queues[place].program = program
        places[caller] = place
        programs[program, default: Program()].callers += 1
        join(place)
        return place
    }

    /// Puts a caller at the end of its program's round.
    private func join(_ place: Place) {
        let program = queues[place].program
        programs[program, default: Program()].round.append(place)
        if programs[program]?.round.count == 1 { round.append(program) }
    }

    /// Takes a caller out of the round.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    private func leave(_ place: Place) -> Bool {
        let program = queues[place].program
        guard let index = programs[program]?.round.firstIndex(of: place) else { return false }
        programs[program]?.round.remove(at: index)
        if programs[program]?.round.isEmpty == true { round.removeAll { $0 == program } }
        return true
    }

    /// Takes the next caller out of the round. Others of its program have their turn when all other programs had
    /// theirs.
    private func popNext() -> Place {
        let program = round.removeFirst()
        guard let place = programs[program]?.round.popFirst() else {
            preconditionFailure("a program in the round has callers")
        }
        if programs[program]?.round.isEmpty == false { round.append(program) }
        return place
    }

    private func count(_ entry: Entry, _ sign: Int, of program: String) {
        bytes += sign * entry.bytes
        programs[program]?.calls += sign
        programs[program]?.bytes += sign * entry.bytes
        if entry.kind == .reading { programs[program]?.readings += sign }
        if entry.kind == .publish { programs[program]?.publishes += sign }
    }

    /// The program of a caller is known now: its queued calls count for that.
    func regroup(_ caller: String) {
        guard let place = places[caller] else { return }
        let (old, new) = (queues[place].program, programOf(caller))
        guard old != new else { return }
        let wasReady = leave(place)
        programs[new, default: Program()].callers += 1
        for entry in queues[place].entries {
            count(entry, -1, of: old)
            count(entry, 1, of: new)
        }
        queues[place].program = new
        drop(from: old)
        // What others of a shared account have used is not this caller's.
        if programs[old] == nil, let deficit = deficits.removeValue(forKey: old) {
            deficits[new, default: 0] += deficit
        }
        if wasReady { join(place) }
    }

    /// A caller of the program has no queued calls any more.
    private func drop(from program: String) {
        programs[program]?.callers -= 1
        if programs[program]?.callers == 0 { programs[program] = nil }
    }

    /// - Parameter bytes: about how long the call is.
    func enqueue(_ call: Call, of caller: String, bytes: Int = 0, kind: Kind = .other) {
        let size = bytes + Self.overhead
        let place = place(of: caller)
        count(queues[place].append(call, bytes: size, kind: kind), 1, of: queues[place].program)
        if kind == .claim, queues[place].claims == 1 { claimants.append(place) }
        if kind != .publish { unthrottle(place) }
    }

    /// Puts the rest of the read that was dequeued last in front. Only the caller's claims overtake it.
    func requeue(_ call: Call, of caller: String) {
        let place = place(of: caller)
        let entry = Entry(call: call, bytes: 0, kind: .reading, number: 0)
        queues[place].readings.prepend(entry)
        count(entry, 1, of: queues[place].program)
    }

    /// Appends what follows the last call of a caller that has disconnected, and drops its reads.
    func enqueueLast(_ call: Call, of caller: String) {
        if let place = places[caller] {
            for entry in queues[place].readings {
                queues[place].bytes -= entry.bytes
                count(entry, -1, of: queues[place].program)
            }
            queues[place].readings = []
        }
        enqueue(call, of: caller)
    }

    /// Whether this caller has queued publishes and nothing else, and its program so many of them that it is throttled
    /// for the sake of others.
    func hasPublishBacklog(_ caller: String) -> Bool {
        guard let place = places[caller], let program = programs[queues[place].program] else { return false }
        return program.publishes > Throttle.backlogThreshold && queues[place].publishes == queues[place].count
    }

    // MARK: Rounds

    /// The caller to be served now. Programs with deficits move to the end of the round, and each move takes a quantum
    /// off.
    func nextCaller() -> String? {
        // A single program delays no other.
        if round.count <= 1 { deficits = [:] }
        var passed = 0
        while let program = round.first, let deficit = deficits[program] {
            guard passed < round.count else {
                reduceDeficits()
                passed = 0
                continue
            }
            deficits[program] = deficit > Self.quantum ? deficit - Self.quantum : nil
            round.append(round.removeFirst())
            passed += 1
        }
        return round.first.flatMap { programs[$0]?.round.first }.map { queues[$0].caller }
    }

    /// Where all programs have deficits, the smallest of them is taken off each.
    private func reduceDeficits() {
        let least = round.compactMap { deficits[$0] }.min() ?? 0
        for program in round {
            guard let deficit = deficits[program] else { continue }
            deficits[program] = deficit > least ? deficit - least : nil
        }
    }

    /// Adds the cost of a handled call to the deficit of its caller's program.
    func charge(_ caller: String, _ cost: Int) {
        guard cost > Self.quantum, !isEmpty else { return }
        deficits[program(of: caller), default: 0] += cost - Self.quantum
    }

    /// Takes the next caller out of the round until `unblock`.
    func blockNext() { queues[popNext()].isBlocked = true }

    func unblock(_ caller: String) {
        guard let place = places[caller], queues[place].isBlocked else { return }
        queues[place].isBlocked = false
        join(place)
    }

    /// Takes the next caller out of the round until `unthrottle`.
    func throttleNext() { throttled.append(popNext()) }

    /// Puts all throttled callers back into the round.
    func unthrottle() {
        for place in throttled { join(place) }
        throttled = []
    }

    private func unthrottle(_ place: Place) {
        guard let index = throttled.firstIndex(of: place) else { return }
        join(throttled.remove(at: index))
    }

    /// Removes the next call of the caller that `nextCaller` has returned.
    func dequeue() -> Call {
        let place = popNext()
        let entry = queues[place].popFirst()
        if settle(place, without: entry) { join(place) }
        return entry.call
    }

    // MARK: Before windows end

    /// Removes a call that has to be handled before windows end: a claim, or a change that stands before one. The
    /// callers are served round robin; blocked ones are skipped.
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
            // A queue that becomes empty leaves the round.
            let isLast = queues[place].count == 0
            if isLast { leave(place) }
            _ = settle(place, without: entry, isClaimant: !hadOneClaim)
            return (caller, entry.call)
        }
        return nil
    }

    /// Accounts for an entry that was removed from a caller's queue.
    ///
    /// - Returns: whether anything is left of the queue.
    private func settle(_ place: Place, without entry: Entry, isClaimant: Bool? = nil) -> Bool {
        let program = queues[place].program
        count(entry, -1, of: program)
        queues[place].bytes -= entry.bytes
        if entry.kind == .publish { queues[place].publishes -= 1 }
        if entry.kind == .claim {
            queues[place].claims -= 1
            if isClaimant == nil, queues[place].claims == 0 { claimants.removeAll { $0 == place } }
        }
        guard queues[place].count == 0 else { return true }
        places[queues[place].caller] = nil
        drop(from: program)
        queues[place].reset()
        free.append(place)
        if isEmpty { deficits = [:] }
        // Releases the memory of many callers.
        if isEmpty, queues.count > 64 { (queues, free) = ([], []) }
        return false
    }
}
