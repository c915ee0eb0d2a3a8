import NotifyText

/// Rule 1 of docs/link.md: rows wait for the slowest listener.
///
/// A broker keeps only so many messages for a listener that is slower than they come, 1,000 in mosquitto, and throws
/// away the rest. So every few rows each device that is online gets a `ping` behind them, and no more than as many rows
/// follow until all have answered it: a device answers once it has read everything before.
extension Link {
    struct FlowControl {
        /// Rows sent since the last mark, and when it was made.
        var sent = 0
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
    var isAheadOfListeners: Bool { flow.sent >= limits.rowsPerMark && !flow.awaited.isEmpty }

    mutating func countSentRow(at now: Now) {
        if flow.since.map({ $0 + Self.slow < now.uptime }) ?? true {
            flow.sent = 0
            flow.since = now.uptime
        }
        flow.sent += 1
        checkFlow(at: now)
    }

    mutating func checkFlow(at now: Now) {
        if isDue(flow.deadline, at: now) {
            for device in flow.awaited { flow.silent[device] = now.uptime + Self.silence }
            flow.awaited = []
        }
        flow.awaited = flow.awaited.filter { peers[$0]?.isOnline ?? false }
        guard flow.awaited.isEmpty else { return }
        flow.deadline = nil
        if flow.sent >= limits.rowsPerMark { sendMark(at: now) }
    }

    private mutating func sendMark(at now: Now) {
        flow.sent = 0
        flow.since = now.uptime
        flow.silent = flow.silent.filter { $0.value > now.uptime }
        flow.awaited = Set(peers.keys.filter { peers[$0]!.isOnline && flow.silent[$0] == nil })
        guard !flow.awaited.isEmpty else { return }
        flow.mark = jitter.next()
        flow.deadline = now.uptime + Self.timeout
        for device in flow.awaited.sorted() { send(.ping(flow.mark), to: .questions(device), at: now) }
    }

    /// - Returns: whether it is the answer to a mark.
    mutating func confirmMark(_ id: UInt64, from device: Device) -> Bool {
        guard id == flow.mark, !flow.awaited.isEmpty || flow.silent[device] != nil else { return false }
        flow.silent[device] = nil
        flow.awaited.remove(device)
        return true
    }
}

/// Rule 17 of docs/link.md: while the broker is away, rows that wait are counted, and none of them is kept.
extension Link {
    struct Backlog {
        /// The rows of the journal that are counted end here.
        var through: UInt64 = 0
        /// Those of them that are to be sent, and that the broker has not acknowledged.
        var count = 0
        /// Whether the journal may have rows after those.
        var hasMore = true
        /// Nothing is read before.
        var next: Uptime?
    }

    /// How many rows of the journal wait to be sent, as far as they are counted.
    public var backlog: Int { out.backlog.count }

    mutating func countBacklog(at now: Now) {
        guard line != nil, isDaemonThere, !connection.isUp, out.backlog.hasMore, reads[.backlog] == nil,
            out.backlog.count < limits.countedRows
        else {
            if isDue(out.backlog.next, at: now) { out.backlog.next = nil }
            return
        }
        // Each row is read once; a flood of them must not cost more than the flood itself.
        guard out.backlog.next == nil || isDue(out.backlog.next, at: now) else { return }
        out.backlog.next = nil
        out.backlog.hasMore = false
        readRows(for: .backlog, after: max(out.backlog.through, cursor.scanned), limit: limits.rowsPerPage)
    }

    mutating func countBacklog(in page: ChangesPage, at now: Now) {
        out.backlog.next = now.uptime + limits.countInterval
        if !page.isLast { out.backlog.hasMore = true }
        count(page.changes)
        // Entries of others may come into the journal while the broker is away.
        for change in page.changes { detectRestoredJournal(at: change) }
    }

    /// Counts rows that were read, each of them once.
    mutating func count(_ changes: [Change]) {
        var through = max(out.backlog.through, cursor.scanned)
        for change in changes where change.number > through {
            through = change.number
            if content(of: change) != nil { out.backlog.count += 1 }
        }
        out.backlog.through = through
    }
}
