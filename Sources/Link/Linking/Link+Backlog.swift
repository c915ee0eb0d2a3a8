import Routing

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
