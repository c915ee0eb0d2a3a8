import NotifyText

/// Rule 1 of docs/link.md: what is said waits for the slowest listener.
///
/// A broker keeps only so many messages for a listener that is slower than they come, 1,000 in mosquitto, and throws
/// away the rest. So every few rows each device that is online gets a `ping` behind them, and no more than as many rows
/// follow until all have answered it: a device answers once it has read everything before.
extension Link {
    struct Pace {
        /// Rows said since the last mark, and when it was made.
        var said = 0
        var since: Uptime?
        /// The `ping` of the last mark, and who has not answered it.
        var mark: UInt64 = 0
        var awaited: Set<Device> = []
        var deadline: Uptime?
        /// Devices that did not answer in time, and until when nobody waits for them.
        var silent: [Device: Uptime] = [:]
    }

    /// Rows that come more slowly than a mark in this time need none.
    private static let slow: Duration = .seconds(10)
    private static let timeout: Duration = .seconds(5)
    private static let silence: Duration = .seconds(60)

    /// Whether the next row waits for an answer.
    var isAheadOfListeners: Bool { pace.said >= limits.rowsPerMark && !pace.awaited.isEmpty }

    mutating func noteSaidRow(at now: Now) {
        if pace.since.map({ $0 + Self.slow < now.uptime }) ?? true {
            pace.said = 0
            pace.since = now.uptime
        }
        pace.said += 1
        checkPace(at: now)
    }

    mutating func checkPace(at now: Now) {
        if isDue(pace.deadline, at: now) {
            for device in pace.awaited { pace.silent[device] = now.uptime + Self.silence }
            pace.awaited = []
        }
        pace.awaited = pace.awaited.filter { peers[$0]?.isOnline ?? false }
        guard pace.awaited.isEmpty else { return }
        pace.deadline = nil
        if pace.said >= limits.rowsPerMark { mark(at: now) }
    }

    private mutating func mark(at now: Now) {
        pace.said = 0
        pace.since = now.uptime
        pace.silent = pace.silent.filter { $0.value > now.uptime }
        pace.awaited = Set(peers.keys.filter { peers[$0]!.isOnline && pace.silent[$0] == nil })
        guard !pace.awaited.isEmpty else { return }
        pace.mark = jitter.next()
        pace.deadline = now.uptime + Self.timeout
        for device in pace.awaited.sorted() { _ = say(.ping(pace.mark), on: .questions(device), at: now) }
    }

    /// - Returns: whether it is the answer to a mark.
    mutating func answeredMark(_ id: UInt64, by device: Device) -> Bool {
        guard id == pace.mark, !pace.awaited.isEmpty || pace.silent[device] != nil else { return false }
        pace.silent[device] = nil
        pace.awaited.remove(device)
        return true
    }
}

/// Rule 17 of docs/link.md: while the broker is away, what waits to be said is counted, and nothing of it is kept.
extension Link {
    struct Backlog {
        /// The rows of the journal that are counted end here.
        var through: UInt64 = 0
        /// Those of them that say something, and that the broker has not acknowledged.
        var count = 0
        /// Whether the journal may have rows after those.
        var hasMore = true
        var reading: ReadToken?
        /// Nothing is read before.
        var next: Uptime?
    }

    /// How many rows of the journal wait to be said, as far as they are counted.
    public var backlog: Int { out.backlog.count }

    mutating func countBacklog(at now: Now) {
        guard line != nil, isDaemonThere, !connection.isUp, out.backlog.hasMore, out.backlog.reading == nil,
            out.backlog.count < limits.countedRows
        else {
            if isDue(out.backlog.next, at: now) { out.backlog.next = nil }
            return
        }
        // Each row is read once; a flood of them must not cost more than the flood itself.
        guard out.backlog.next.map({ $0 <= now.uptime }) ?? true else { return }
        out.backlog.next = nil
        out.backlog.hasMore = false
        let token = ReadToken(rawValue: token())
        out.backlog.reading = token
        effects.append(
            .readChanges(token, after: max(out.backlog.through, out.cursor.scanned), limit: limits.rowsPerPage))
    }

    mutating func tookBacklog(_ page: ChangesPage, at now: Now) {
        out.backlog.reading = nil
        out.backlog.next = now.uptime + limits.countInterval
        if !page.isLast { out.backlog.hasMore = true }
        count(page.changes)
        // What others said may be taken while the broker is away.
        for change in page.changes { noteNumber(of: change) }
    }

    /// Counts rows that were read, each of them once.
    mutating func count(_ changes: [Change]) {
        var through = max(out.backlog.through, out.cursor.scanned)
        for change in changes where change.number > through {
            through = change.number
            if content(of: change) != nil { out.backlog.count += 1 }
        }
        out.backlog.through = through
    }

    /// What was counted says nothing any more: other topics are shared, or the cursor has gone back.
    mutating func recountBacklog() { out.backlog = Backlog() }
}
