import GRDB
import GRDBSQLite
public import Routing

/// Deletes events on request, so that their texts are not in the file any more.
///
/// With `secure_delete` SQLite overwrites a row where it deletes it. But when it moves rows from one page to another, copies of
/// them may stay in the unused part of a page, and nothing overwrites those. So after the deletions all pages are scrubbed.
extension Journal {
    /// Deletes some of the decided events at or below a topic with ids up to `last`, except current values. Their global ids
    /// are kept as long as duplicates are recognised.
    ///
    /// The texts are in the file until `scrub` has returned true.
    ///
    /// - Parameter limit: the greatest number of events, and of topics, that are looked at. Of large events fewer are deleted.
    /// - Returns: the deleted events, and the position to continue from; `nil` at the end.
    public func forget(
        _ topic: TopicPrefix, after position: UnreadPosition, upTo last: EventID, limit: Int
    ) throws(JournalError) -> (ids: [EventID], position: UnreadPosition?) {
        let found = try forgettable(topic, after: position, upTo: last, limit: limit)
        guard let newest = found.ids.max() else { return ([], found.position) }
        isScrubbed = false
        scrubbedPages = 1
        try write { db in
            try self.keepLastChange(db)
            for id in found.ids {
                try self.keepGlobalID(of: id, db)
                try db.cachedStatement(sql: "DELETE FROM event WHERE id = ?").execute(arguments: [id])
                self.count -= db.changesCount
                try db.cachedStatement(sql: "DELETE FROM claim WHERE event = ?").execute(arguments: [id])
            }
            // No id is given out twice, also if this was the last one.
            let last = try Int64.fetchOne(db, sql: "SELECT id FROM last_removal") ?? 0
            if newest > last { try self.noteRemoval(newest, db) }
            try self.limitGlobalIDs(db)
        }
        isRetentionSaved = false
        return (found.ids.map { EventID(UInt64(bitPattern: $0)) }, found.position)
    }

    private func forgettable(
        _ topic: TopicPrefix, after position: UnreadPosition, upTo last: EventID, limit: Int
    ) throws(JournalError) -> (ids: [Int64], position: UnreadPosition?) {
        try read { db in
            var position = position
            var ids: [Int64] = []
            var examined = 0
            var bytes = 0
            while true {
                let rows = try Row.fetchCursor(
                    db.cachedStatement(sql: Self.forgettableOfTopic),
                    arguments: [position.topic, Self.number(position.id), Self.bound(last), limit - examined])
                while let row = try rows.next() {
                    let id: Int64 = row[0]
                    position.id = EventID(UInt64(bitPattern: id))
                    examined += 1
                    guard row[1] else { continue }
                    ids.append(id)
                    bytes += row[2] ?? 0
                    if bytes >= deletedBytesAtOnce || ids.count >= deletedEventsAtOnce { return (ids, position) }
                }
                if examined >= limit { return (ids, position) }
                let (start, end) = Self.topics(behind: position.topic, atOrBelow: topic)
                let next = try String.fetchOne(
                    db.cachedStatement(sql: Self.nextForgettable), arguments: [start, end])
                guard let next else { return (ids, nil) }
                position = UnreadPosition(next, EventID(0))
                examined += 1
            }
        }
    }

    static let forgettableOfTopic = """
        SELECT id, outcome <> 0 AND NOT EXISTS (SELECT 1 FROM value WHERE topic = ?1 AND event = event.id),
            \(bytesOfRow)
        FROM event INDEXED BY event_topic WHERE topic = ?1 AND id > ?2 AND id <= ?3 ORDER BY id LIMIT ?4
        """
    /// About the size of an event's row.
    static let bytesOfRow = "length(CAST(body AS BLOB)) + length(fields)"
    static let nextForgettable = """
        SELECT topic FROM event INDEXED BY event_topic WHERE topic > ? AND topic < ? ORDER BY topic LIMIT 1
        """

    /// A repeat of a forgotten event is recognised as one of a removal is.
    private func keepGlobalID(of id: Int64, _ db: Database) throws {
        guard id > newestID(olderThan: limits.deduplicationTime),
            let event = try events(db, "SELECT * FROM event WHERE id = ?", [id]).first,
            let source = event.origin.source, let name = event.origin.eventID
        else { return }
        try insertGlobalID(event.id, source, name, accepted: event.accepted, db)
        removals += 1
    }

    private func limitGlobalIDs(_ db: Database) throws {
        guard removals > limits.globalIDs else { return }
        try db.execute(
            sql: "DELETE FROM removal WHERE id IN (SELECT id FROM removal ORDER BY id LIMIT ?)",
            arguments: [removals - limits.globalIDs])
        removals -= db.changesCount
    }

    // MARK: Scrubbing

    /// The number of pages that `scrub` reads at a time.
    private static var pagesAtOnce: Int { 512 }

    /// Whether pages can be scrubbed: not during an integrity check, which reads a file that does not change.
    public var canScrub: Bool { isOpen && !isCheckpointingPaused }

    /// Overwrites the unused parts of some pages. Each step takes a short time; between steps the journal can be used.
    ///
    /// A transaction between two steps may give a page that is not scrubbed yet the number of one that is: SQLite numbers pages
    /// anew when it divides the rows among them. So the pages that the log has are scrubbed again.
    ///
    /// - Returns: whether all pages have been scrubbed since `forget` was called last.
    public func scrub() throws(JournalError) -> Bool {
        guard !isScrubbed else { return true }
        guard let queue else { throw .other("the journal is closed") }
        precondition(canScrub, "a checkpoint would change the file that is being checked")
        do {
            try presence?.check()
            // Until the next step the log keeps all pages that are written.
            isScrubbing = true
            let next = try queue.writeWithoutTransaction { db in
                let written = try PageScrubber.pagesInLog(db)
                // From here on the file has all pages as they are, and the log has none.
                _ = try db.checkpoint(.truncate)
                let scrubber = try PageScrubber(db)
                for page in written where page < self.scrubbedPages { _ = try scrubber.scrub(page, count: 1) }
                let next = try scrubber.scrub(self.scrubbedPages, count: Self.pagesAtOnce)
                if next == nil { try scrubber.sync() }
                // The cache may hold these pages as they were.
                sqlite3_db_release_memory(db.sqliteConnection)
                return next
            }
            try recordPresence()
            scrubbedPages = next ?? 1
            isScrubbed = next == nil
            isScrubbing = !isScrubbed
        } catch {
            throw giveUp(error)
        }
        if isScrubbed { try saveRetention() }
        return isScrubbed
    }
}
