import DequeModule

/// Calls that have been read and wait to be handled: a line for every caller. The callers are served in turn, by what their
/// calls cost: a caller whose last call was dear lets the others go first until they have had as much.
///
/// Calls of one caller keep their order, with one exception: before windows end its claims, and what they may depend on, go
/// ahead of its reading.
struct FairQueue<Call> {
    /// As many calls of one caller may wait as the caller may have events open.
    static var lengthLimit: Int { 10_000 }
    /// What the calls of one caller may say together, in bytes.
    static var bytesLimit: Int { 8 << 20 }
    /// What all of them may say together: beyond that nothing is read any more until something has been handled.
    static var totalLimit: Int { 32 << 20 }
    /// What is counted for every call, beside what it says.
    private static var overhead: Int { 512 }
    /// What a caller may use in a turn before the others have theirs; microseconds, as all costs.
    private static var share: Int { 250 }

    /// What matters about a call for its place in the line.
    enum Kind {
        /// It publishes something.
        case push
        /// It may decide about an event, and can come too late.
        case claim
        /// It changes nothing.
        case reading
        /// It changes something else.
        case other
    }

    private struct Entry {
        let call: Call
        let bytes: Int
        let kind: Kind
        /// Counts the calls of one caller.
        let number: UInt64
    }

    private struct Line {
        /// What changes something, and what reads, each in its order.
        var changes = Deque<Entry>()
        var readings = Deque<Entry>()
        var lastNumber: UInt64 = 0
        var bytes = 0
        var pushes = 0
        var claims = 0
        var isHeld = false

        var count: Int { changes.count + readings.count }

        mutating func takeFirst() -> Entry {
            guard let reading = readings.first else { return changes.removeFirst() }
            guard let change = changes.first, change.number < reading.number else { return readings.removeFirst() }
            return changes.removeFirst()
        }
    }

    private var lines: [String: Line] = [:]
    /// Callers whose turn comes, in this order.
    private var turns = Deque<String>()
    /// Callers who wait for `resume`.
    private var resting: [String] = []
    /// Callers with claims in their lines, each once.
    private var claimants = Deque<String>()
    /// What callers have used beyond their shares, while others wait.
    private var debts: [String: Int] = [:]
    private var bytes = 0

    var isEmpty: Bool { lines.isEmpty }
    /// Whether there is a call that can be handled.
    var isReady: Bool { !turns.isEmpty }
    /// Whether there is so much to be handled that nothing more should be read.
    var isFull: Bool { isReady && bytes >= Self.totalLimit }

    /// Whether something of this caller waits, or the caller owes the others their turns: then a further call waits too.
    func mustWait(_ caller: String) -> Bool { lines[caller] != nil || debts[caller] != nil }

    /// Whether something of this caller waits.
    func isWaiting(_ caller: String) -> Bool { lines[caller] != nil }

    /// Whether one more call of this caller may wait. Where all wait for `release`, reading goes on, for that is to be read;
    /// so nothing more may wait then.
    func hasRoom(for caller: String) -> Bool {
        guard bytes < Self.totalLimit || isReady else { return false }
        guard let line = lines[caller] else { return true }
        return line.count < Self.lengthLimit && line.bytes < Self.bytesLimit
    }

    /// - Parameter bytes: about what it says.
    mutating func put(_ call: Call, of caller: String, bytes: Int = 0, kind: Kind = .other) {
        let size = bytes + Self.overhead
        if lines[caller] == nil { turns.append(caller) }
        var line = lines.removeValue(forKey: caller) ?? Line()
        line.lastNumber += 1
        let entry = Entry(call: call, bytes: size, kind: kind, number: line.lastNumber)
        if kind == .reading { line.readings.append(entry) } else { line.changes.append(entry) }
        line.bytes += size
        if kind == .push { line.pushes += 1 }
        if kind == .claim { line.claims += 1 }
        if kind == .claim, line.claims == 1 { claimants.append(caller) }
        lines[caller] = line
        self.bytes += size
        if kind != .push { resume(caller) }
    }

    /// Puts back what is left of the call that was taken last. Nothing of this caller but its claims goes before it.
    mutating func putBack(_ call: Call, of caller: String) {
        if lines[caller] == nil { turns.append(caller) }
        lines[caller, default: Line()].readings.prepend(Entry(call: call, bytes: 0, kind: .reading, number: 0))
    }

    /// Puts what comes after the last call of a caller who has left. What the caller only wanted to read is dropped.
    mutating func putLast(_ call: Call, of caller: String) {
        if let readings = lines[caller]?.readings {
            let size = readings.reduce(0) { $0 + $1.bytes }
            lines[caller]!.readings = []
            lines[caller]!.bytes -= size
            bytes -= size
        }
        put(call, of: caller)
    }

    /// Whether so many pushes of this caller wait, and nothing else, that others need room beside them.
    func isCrowd(_ caller: String) -> Bool {
        guard let line = lines[caller] else { return false }
        return line.pushes > FloodGate.crowd && line.pushes == line.count
    }

    // MARK: Turns

    /// Whose turn it is. Callers with debts go to the end, and each time a share less is owed.
    mutating func next() -> String? {
        // Nobody waits for a caller who is alone.
        if turns.count <= 1 { debts = [:] }
        var passed = 0
        while let caller = turns.first, let debt = debts[caller] {
            guard passed < turns.count else {
                forgive()
                passed = 0
                continue
            }
            debts[caller] = debt > Self.share ? debt - Self.share : nil
            turns.append(turns.removeFirst())
            passed += 1
        }
        return turns.first
    }

    /// Where all who wait owe something, the least of it is owed to nobody.
    private mutating func forgive() {
        let least = turns.compactMap { debts[$0] }.min() ?? 0
        for caller in turns {
            guard let debt = debts[caller] else { continue }
            debts[caller] = debt > least ? debt - least : nil
        }
    }

    /// A call of this caller has cost so much.
    mutating func charge(_ caller: String, _ cost: Int) {
        guard cost > Self.share, !isEmpty else { return }
        debts[caller, default: 0] += cost - Self.share
    }

    /// Has the caller whose turn it is wait for `release`.
    mutating func holdNext() {
        lines[turns.removeFirst()]!.isHeld = true
    }

    /// What a caller wants has its turn again.
    mutating func release(_ caller: String) {
        guard lines[caller]?.isHeld == true else { return }
        lines[caller]!.isHeld = false
        turns.append(caller)
    }

    /// Has the caller whose turn it is wait for `resume`.
    mutating func restNext() {
        resting.append(turns.removeFirst())
    }

    /// Those who rest have their turns again.
    mutating func resume() {
        turns.append(contentsOf: resting)
        resting = []
    }

    private mutating func resume(_ caller: String) {
        guard let index = resting.firstIndex(of: caller) else { return }
        turns.append(resting.remove(at: index))
    }

    /// Takes the call whose turn it is, after `next` has said whose that is.
    mutating func takeNext() -> Call {
        let caller = turns.removeFirst()
        var line = lines.removeValue(forKey: caller)!
        let entry = line.takeFirst()
        if keep(line, of: caller, without: entry) { turns.append(caller) }
        return entry.call
    }

    // MARK: Before windows end

    /// Takes a call that has to be handled before windows end: a claim, or what stands before one in its line and may have to
    /// do with it. The callers are served in turn; one who is held is passed over.
    ///
    /// - Returns: `nil` where no claim waits that can be handled.
    mutating func takeForClaim() -> (caller: String, call: Call)? {
        for _ in 0..<claimants.count {
            let caller = claimants.removeFirst()
            guard lines[caller]!.isHeld == false else {
                claimants.append(caller)
                continue
            }
            var line = lines.removeValue(forKey: caller)!
            let entry = line.changes.removeFirst()
            let hadOneClaim = line.claims == 1 && entry.kind == .claim
            if !hadOneClaim { claimants.append(caller) }
            if !keep(line, of: caller, without: entry, isClaimant: !hadOneClaim) {
                turns.removeAll { $0 == caller }
            }
            return (caller, entry.call)
        }
        return nil
    }

    /// - Returns: whether there is more in the line.
    private mutating func keep(
        _ line: Line, of caller: String, without entry: Entry, isClaimant: Bool? = nil
    ) -> Bool {
        var line = line
        bytes -= entry.bytes
        line.bytes -= entry.bytes
        if entry.kind == .push { line.pushes -= 1 }
        if entry.kind == .claim {
            line.claims -= 1
            if isClaimant == nil, line.claims == 0 { claimants.removeAll { $0 == caller } }
        }
        if line.count > 0 { lines[caller] = line }
        if lines.isEmpty { debts = [:] }
        return line.count > 0
    }
}
