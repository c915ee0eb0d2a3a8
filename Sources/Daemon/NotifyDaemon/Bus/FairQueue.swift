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

    /// A program with queued calls.
    private final class Program {
        let name: String
        /// Its callers that can be served, in the order of their turns.
        var round = Deque<Caller>()
        /// Its callers with queued calls.
        var callers = 0
        var calls = 0
        var readings = 0
        var publishes = 0
        var bytes = 0

        init(_ name: String) { self.name = name }
    }

    /// A caller with queued calls.
    private final class Caller {
        let name: String
        var program: Program
        /// Two queues, so that claims can overtake reads.
        var changes = Deque<Entry>()
        var readings = Deque<Entry>()
        var lastNumber: UInt64 = 0
        var bytes = 0
        var publishes = 0
        var claims = 0
        var isBlocked = false

        var count: Int { changes.count + readings.count }

        init(_ name: String, of program: Program) {
            self.name = name
            self.program = program
        }

        func append(_ call: Call, bytes size: Int, kind: Kind) -> Entry {
            lastNumber += 1
            let entry = Entry(call: call, bytes: size, kind: kind, number: lastNumber)
            if kind == .reading { readings.append(entry) } else { changes.append(entry) }
            bytes += size
            if kind == .publish { publishes += 1 }
            if kind == .claim { claims += 1 }
            return entry
        }

        func popFirst() -> Entry {
            guard let reading = readings.first else { return changes.removeFirst() }
            guard let change = changes.first, change.number < reading.number else { return readings.removeFirst() }
            return changes.removeFirst()
        }
    }

    private var callers: [String: Caller] = [:]
    private var programs: [String: Program] = [:]
    /// The programs with callers that can be served, in the order of the round.
    private var round = Deque<Program>()
    /// The callers that wait for `unthrottle`.
    private var throttled: [Caller] = []
    /// The callers with queued claims, each once.
    private var claimants = Deque<Caller>()
    /// What programs have used beyond their quanta while others waited.
    private var deficits: [String: Int] = [:]
    private var bytes = 0
    /// The program of a caller; a caller without one is its own.
    var programOf: (String) -> String = { $0 }

    var isEmpty: Bool { callers.isEmpty }
    /// Whether a call can be handled now.
    var isReady: Bool { !round.isEmpty }
    /// Whether no more should be read for now.
    var isFull: Bool { isReady && bytes >= Self.totalLimit }

    /// Whose limits and turns count for a caller.
    private func program(of caller: String) -> String { callers[caller]?.program.name ?? programOf(caller) }

    /// Whether a further call of this caller must be queued: its program has queued calls or a deficit.
    func mustQueue(_ caller: String) -> Bool {
        if isEmpty, deficits.isEmpty { return false }
        if callers[caller] != nil { return true }
        let program = programOf(caller)
        return programs[program] != nil || deficits[program] != nil
    }

    func hasCalls(of caller: String) -> Bool { callers[caller] != nil }

    /// Whether another call of this caller can be queued. While all callers are blocked, reading goes on, because the
    /// reply that unblocks them must be read; nothing beyond the limit is queued then.
    func hasRoom(for caller: String, kind: Kind = .other) -> Bool {
        guard bytes < Self.totalLimit || isReady else { return false }
        let own = callers[caller]
        guard let program = own?.program ?? programs[programOf(caller)] else { return true }
        if own?.count ?? 0 < Self.reservedLength, own?.bytes ?? 0 < Self.reservedBytes { return true }
        if kind == .reading, program.readings >= Self.readingsLimit { return false }
        return program.calls < Self.lengthLimit && program.bytes < Self.bytesLimit
    }

    /// A caller, at the end of the round if it had no calls.
    private func caller(_ name: String) -> Caller {
        if let caller = callers[name] { return caller }
        let caller = Caller(name, of: program(named: programOf(name)))
        callers[name] = caller
        caller.program.callers += 1
        joinRound(caller)
        return caller
    }

    private func program(named name: String) -> Program {
        if let program = programs[name] { return program }
        let program = Program(name)
        programs[name] = program
        return program
    }

    /// Puts a caller at the end of its program's round.
    private func joinRound(_ caller: Caller) {
        caller.program.round.append(caller)
        if caller.program.round.count == 1 { round.append(caller.program) }
    }

    /// Takes a caller out of the round.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    private func leaveRound(_ caller: Caller) -> Bool {
        let program = caller.program
        guard let index = program.round.firstIndex(where: { $0 === caller }) else { return false }
        program.round.remove(at: index)
        if program.round.isEmpty { round.removeAll { $0 === program } }
        return true
    }

    /// Takes the next caller out of the round. Others of its program have their turn when all other programs had
    /// theirs.
    private func popNext() -> Caller {
        let program = round.removeFirst()
        // A program in the round has callers.
        let caller = program.round.removeFirst()
        if !program.round.isEmpty { round.append(program) }
        return caller
    }

    private func count(_ entry: Entry, _ sign: Int, of program: Program) {
        bytes += sign * entry.bytes
        program.calls += sign
        program.bytes += sign * entry.bytes
        if entry.kind == .reading { program.readings += sign }
        if entry.kind == .publish { program.publishes += sign }
    }

    /// The program of a caller is known now: its queued calls count for that.
    func regroup(_ name: String) {
        guard let caller = callers[name] else { return }
        let old = caller.program
        let new = program(named: programOf(name))
        guard old !== new else { return }
        let wasReady = leaveRound(caller)
        new.callers += 1
        for entry in Array(caller.changes) + caller.readings {
            count(entry, -1, of: old)
            count(entry, 1, of: new)
        }
        caller.program = new
        drop(from: old)
        // What others of a shared account have used is not this caller's.
        if old.callers == 0, let deficit = deficits.removeValue(forKey: old.name) {
            deficits[new.name, default: 0] += deficit
        }
        if wasReady { joinRound(caller) }
    }

    /// A caller of the program has no queued calls any more.
    private func drop(from program: Program) {
        program.callers -= 1
        if program.callers == 0 { programs[program.name] = nil }
    }

    /// - Parameter bytes: about how long the call is.
    func enqueue(_ call: Call, of name: String, bytes: Int = 0, kind: Kind = .other) {
        let caller = caller(name)
        count(caller.append(call, bytes: bytes + Self.overhead, kind: kind), 1, of: caller.program)
        if kind == .claim, caller.claims == 1 { claimants.append(caller) }
        if kind != .publish, let index = throttled.firstIndex(where: { $0 === caller }) {
            joinRound(throttled.remove(at: index))
        }
    }

    /// Puts the rest of the read that was dequeued last in front. Only the caller's claims overtake it.
    func requeue(_ call: Call, of name: String) {
        let caller = caller(name)
        let entry = Entry(call: call, bytes: 0, kind: .reading, number: 0)
        caller.readings.prepend(entry)
        count(entry, 1, of: caller.program)
    }

    /// Appends what follows the last call of a caller that has disconnected, and drops its reads.
    func enqueueLast(_ call: Call, of name: String) {
        if let caller = callers[name] {
            for entry in caller.readings {
                caller.bytes -= entry.bytes
                count(entry, -1, of: caller.program)
            }
            caller.readings = []
        }
        enqueue(call, of: name)
    }

    /// Whether this caller is throttled for the sake of others: its program has a backlog of publishes, and the caller
    /// has more than its share of them and no other calls. A connection that waits for each reply is not held up by
    /// another connection of its program that does not wait.
    func hasPublishBacklog(_ name: String) -> Bool {
        guard let caller = callers[name] else { return false }
        let program = caller.program
        return program.publishes > Throttle.backlogThreshold && caller.publishes == caller.count
            && caller.publishes > Throttle.backlogThreshold / program.callers
    }

    // MARK: Rounds

    /// The caller to be served now. Programs with deficits move to the end of the round, and each move takes a quantum
    /// off.
    func nextCaller() -> String? {
        // A single program delays no other.
        if round.count <= 1 { deficits = [:] }
        var passed = 0
        while !deficits.isEmpty, let program = round.first?.name, let deficit = deficits[program] {
            guard passed < round.count else {
                reduceDeficits()
                passed = 0
                continue
            }
            deficits[program] = deficit > Self.quantum ? deficit - Self.quantum : nil
            round.append(round.removeFirst())
            passed += 1
        }
        return round.first?.round.first?.name
    }

    /// Where all programs have deficits, the smallest of them is taken off each.
    private func reduceDeficits() {
        let least = round.compactMap { deficits[$0.name] }.min() ?? 0
        for program in round.map(\.name) {
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
    func blockNext() { popNext().isBlocked = true }

    func unblock(_ name: String) {
        guard let caller = callers[name], caller.isBlocked else { return }
        caller.isBlocked = false
        joinRound(caller)
    }

    /// Takes the next caller out of the round until `unthrottle`.
    func throttleNext() { throttled.append(popNext()) }

    /// Puts all throttled callers back into the round.
    func unthrottle() {
        for caller in throttled { joinRound(caller) }
        throttled = []
    }

    /// Removes the next call of the caller that `nextCaller` has returned.
    func dequeue() -> Call {
        let caller = popNext()
        let entry = caller.popFirst()
        if updateCounts(of: caller, without: entry) { joinRound(caller) }
        return entry.call
    }

    // MARK: Before windows end

    /// Removes a call that has to be handled before windows end: a claim, or a change that stands before one. The
    /// callers are served round robin; blocked ones are skipped.
    ///
    /// - Returns: `nil` where no claim can be handled.
    func dequeueForClaim() -> (caller: String, call: Call)? {
        for _ in 0..<claimants.count {
            let caller = claimants.removeFirst()
            guard !caller.isBlocked else {
                claimants.append(caller)
                continue
            }
            let entry = caller.changes.removeFirst()
            let hadOneClaim = caller.claims == 1 && entry.kind == .claim
            if !hadOneClaim { claimants.append(caller) }
            // A queue that becomes empty leaves the round.
            if caller.count == 0 { leaveRound(caller) }
            _ = updateCounts(of: caller, without: entry, isClaimant: !hadOneClaim)
            return (caller.name, entry.call)
        }
        return nil
    }

    /// Accounts for an entry that was removed from a caller's queue.
    ///
    /// - Returns: whether anything is left of the queue.
    private func updateCounts(of caller: Caller, without entry: Entry, isClaimant: Bool? = nil) -> Bool {
        count(entry, -1, of: caller.program)
        caller.bytes -= entry.bytes
        if entry.kind == .publish { caller.publishes -= 1 }
        if entry.kind == .claim {
            caller.claims -= 1
            if isClaimant == nil, caller.claims == 0 { claimants.removeAll { $0 === caller } }
        }
        guard caller.count == 0 else { return true }
        callers[caller.name] = nil
        drop(from: caller.program)
        if isEmpty { deficits = [:] }
        return false
    }
}
