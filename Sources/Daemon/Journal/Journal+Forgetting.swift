import GRDB
import GRDBSQLite
public import Routing

/// Deletes events on request, so that their texts are not in the file any more.
///
/// With `secure_delete` SQLite overwrites a row where it deletes it. But when it moves rows from one page to another,
/// copies of them may stay in the unused part of a page, and nothing overwrites those. So after the deletions all pages
/// are scrubbed.
extension Journal {
    /// Deletes some of the decided events at or below a topic with ids up to `last`, except current values. Their
    /// global ids are kept as long as duplicates are recognised.
    ///
    /// The texts are in the file until `scrub` has returned true.
    ///
    /// - Parameter limit: the greatest number of events, and of topics, that are looked at. Of large events fewer are
    ///   deleted.
    /// - Returns: the deleted events, and the position to continue from; `nil` at the end.
    public func forget(
        _ topic: TopicPrefix, after position: UnreadPosition, upTo last: EventID, limit: Int
    ) throws(JournalError) -> (ids: [EventID], position: UnreadPosition?) {
        // Where the index cannot become larger, deletions make room in it.
        try? fold()
        // Only what is in the file can be deleted.
        dropUnwritten()
        let areEventsWaiting = pending.hasUnindexedEvents(upTo: last)
        var start = position
        start.isIncomplete = position.isIncomplete || areEventsWaiting
        var found = try forgettable(topic, after: start, upTo: last, limit: limit)
        if found.position == nil, start.isIncomplete {
            if areEventsWaiting, found.ids.isEmpty { try fold(leavingRoom: false) }
            found.position = UnreadPosition(before: topic)
        }
        let ids = found.ids.map { EventID(UInt64(bitPattern: $0)) }
        try delete(found.ids) { db in
            for id in found.ids { try self.keepName(of: id, db) }
            // No id is given out twice, also if this was the last one.
            if let newest = ids.max() { try self.keepLastID(newest, db) }
        }
        for id in ids { pending.eventDeleted(id) }
        // What a scrubbing under way has passed may hold what was deleted since it began: the next one begins with the
        // first page.
        if hasRemains { nextPage = 1 }
        return (ids, found.position)
    }

    private func forgettable(
        _ topic: TopicPrefix, after position: UnreadPosition, upTo last: EventID, limit: Int
    ) throws(JournalError) -> (ids: [Int64], position: UnreadPosition?) {
        let limits = deletionLimits()
        return try readIndex { db in
            var ids: [Int64] = []
            var bytes = 0
            let end = try walk(
                topic, after: position, limit: limit, Self.forgettingColumns, Self.topicIndex, last, db
            ) { row in
                let id: Int64 = row[0]
                // On a full disk the index does not get the outcome before there is room.
                guard row[1] || self.pending.decides(EventID(UInt64(bitPattern: id))), !row[2] else { return true }
                ids.append(id)
                bytes += row[3] ?? 0
                return bytes < limits.bytes && ids.count < limits.events
            }
            return (ids, end)
        }
    }

    static let forgettingColumns = "id, outcome <> 0, is_value, length(record)"

    /// A repeat of a forgotten event is recognised as one of a removal is.
    private func keepName(of id: Int64, _ db: Database) throws {
        guard id > retention.newestID(olderThan: limits.deduplicationTime),
            let event = try events(db, "SELECT * FROM event WHERE id = ?", [id]).first
        else { return }
        try keepGlobalID(event.origin, of: event.id, &globalIDs, db)
    }

    // MARK: Scrubbing

    /// The number of pages that `scrub` reads at a time.
    private static var pagesAtOnce: Int { 512 }

    /// Whether pages can be scrubbed: not during an integrity check, which reads a file that does not change.
    public var canScrub: Bool { canDelete && !isCheckpointingPaused }

    /// Overwrites the unused parts of some pages. Each step takes a short time; between steps the journal can be used.
    ///
    /// A transaction between two steps may give a page that is not scrubbed yet the number of one that is: SQLite
    /// numbers pages again when it divides the rows among them. So the pages that were written are scrubbed again.
    ///
    /// - Returns: whether nothing is left of what was deleted before the first step.
    public func scrub() throws(JournalError) -> Bool {
        guard hasRemains || nextPage > 1 else { return true }
        precondition(canScrub, "a checkpoint would change the file that is being checked")
        dropUnwritten()
        // The log has what was deleted too.
        if nextPage == 1 { try fold(leavingRoom: false) }
        // From here on the file has all pages as they are, and the write-ahead log of SQLite has none.
        try checkpoint(.truncate)
        guard let queue else { throw failure ?? .other("the journal is closed") }
        if nextPage == 1 {
            try log?.erase()
            hasRemains = false
        }
        do {
            let next = try queue.writeWithoutTransaction { db in
                let scrubber = try PageScrubber(db, areZerosDoubtful: self.areZerosDoubtful)
                for page in self.rewrittenPages where page < self.nextPage { _ = try scrubber.scrub(page, count: 1) }
                let next = try scrubber.scrub(self.nextPage, count: Self.pagesAtOnce)
                if next == nil { try scrubber.sync() }
                // The cache may hold these pages as they were.
                sqlite3_db_release_memory(db.sqliteConnection)
                return next
            }
            rewrittenPages = []
            nextPage = next ?? 1
        } catch {
            hasRemains = true
            throw giveUp(error)
        }
        guard nextPage == 1 else { return false }
        areZerosDoubtful = false
        try saveRetention()
        return true
    }
}
