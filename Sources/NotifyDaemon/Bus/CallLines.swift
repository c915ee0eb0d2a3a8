import DequeModule

/// Calls that have been read and wait to be handled: a line for every caller. The callers are served in turn, one call each,
/// so that one who calls without end keeps nobody waiting but himself.
struct CallLines<Call> {
    /// As many calls of one caller may wait as he may have events open.
    static var lengthLimit: Int { 10_000 }
    /// What the calls of one caller may say together, in bytes.
    static var bytesLimit: Int { 8 << 20 }
    /// What all of them may say together: beyond that nothing is read any more until something has been handled.
    static var totalLimit: Int { 32 << 20 }
    /// What is counted for every call, beside what it says.
    private static var overhead: Int { 512 }

    private struct Line {
        var calls = Deque<(call: Call, bytes: Int, isPush: Bool)>()
        var bytes = 0
        var pushes = 0
        var isHeld = false
    }

    private var lines: [String: Line] = [:]
    /// Callers whose turn comes, in this order.
    private var turns = Deque<String>()
    /// Callers who wait for `resume`.
    private var resting: [String] = []
    private var bytes = 0

    var isEmpty: Bool { lines.isEmpty }
    /// Whether there is a call that can be handled.
    var isReady: Bool { !turns.isEmpty }
    /// Whether there is so much to be handled that nothing more should be read.
    var isFull: Bool { isReady && bytes >= Self.totalLimit }

    /// Whether something of this caller waits, so that whatever else comes of him has to wait behind it.
    func isWaiting(_ caller: String) -> Bool { lines[caller] != nil }

    /// Whether one more call of this caller may wait. Where all wait for `release`, reading goes on, for that is to be read;
    /// so nothing more may wait then.
    func hasRoom(for caller: String) -> Bool {
        guard bytes < Self.totalLimit || isReady else { return false }
        guard let line = lines[caller] else { return true }
        return line.calls.count < Self.lengthLimit && line.bytes < Self.bytesLimit
    }

    /// - Parameters:
    ///   - bytes: about what it says.
    ///   - isPush: whether it publishes something. Whatever else it may be, a claim perhaps, ends the rest of a line.
    mutating func put(_ call: Call, of caller: String, bytes: Int = 0, isPush: Bool = false) {
        let size = bytes + Self.overhead
        if lines[caller] == nil { turns.append(caller) }
        lines[caller, default: Line()].calls.append((call, size, isPush))
        lines[caller]!.bytes += size
        if isPush { lines[caller]!.pushes += 1 } else { resume(caller) }
        self.bytes += size
    }

    /// Whether so many pushes of this caller wait, and nothing else of him, that others need room beside them.
    func isCrowd(_ caller: String) -> Bool {
        guard let line = lines[caller] else { return false }
        return line.pushes > FloodGate.crowd && line.pushes == line.calls.count
    }

    /// Whose turn it is.
    var next: String? { turns.first }

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

    /// Takes the call whose turn it is.
    mutating func takeNext() -> Call {
        let caller = turns.removeFirst()
        let (call, size, isPush) = lines[caller]!.calls.removeFirst()
        bytes -= size
        lines[caller]!.bytes -= size
        if isPush { lines[caller]!.pushes -= 1 }
        if lines[caller]!.calls.isEmpty { lines[caller] = nil } else { turns.append(caller) }
        return call
    }
}
