import GRDB
import Glibc
import Routing

/// Going on after the file was deleted or replaced while it was in use: it can still be read, and what was promised is
/// written again.
extension Journal {
    /// A file that lost its name while it was in use.
    public struct Loss: Sendable, Equatable {
        public var file: String
        /// How many undecided events and current values were written again; `nil` where not all could be read.
        public var carriedOver: Int?
    }

    /// A log whose file has lost its name would be taken for that of the file that has the name now, and damage it.
    func takeLogAway() {
        guard let nameless, nameless.presence.isLogInPlace else { return }
        // The file may have another name, and is to be complete there.
        _ = try? nameless.queue.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
        unlink(path + "-wal")
    }

    /// What is to be told of such a file, once.
    public func takeLoss() -> Loss? {
        defer { loss = nil }
        return loss
    }

    /// Writes into the open file what the nameless one still holds and must not be missing.
    ///
    /// - Parameter refused: events that were not acknowledged.
    func carryOver(without refused: Set<EventID>) throws(JournalError) {
        guard let nameless else { return }
        var loss = Loss(file: path)
        do throws(JournalError) {
            loss.carriedOver = try carryOver(from: nameless.queue, without: refused)
        } catch {
            // Only a failure of the new file is worth another try.
            guard isOpen else { throw error }
        }
        closeNameless()
        self.loss = loss
    }

    private func carryOver(from nameless: DatabaseQueue, without refused: Set<EventID>) throws(JournalError) -> Int {
        let (undecided, current, removal, quiet) = try read(nameless) { db in
            (
                try Int64.fetchAll(db, sql: "SELECT id \(Self.undecidedRows)"),
                Set(try Int64.fetchAll(db, sql: "SELECT event FROM value")),
                try Int64.fetchOne(db, sql: "SELECT id FROM last_removal"),
                try Row.fetchAll(db, sql: "SELECT * FROM quiet").compactMap { try? RowReader($0).quiet() }
            )
        }
        if let removal { try write { db in try self.noteRemoval(removal, db) } }
        try commit([.quietReplaced(quiet)])
        let ids = current.union(undecided).subtracting(refused.map(Self.number)).sorted()
        var count = 0
        for start in stride(from: 0, to: ids.count, by: 500) {
            let events = try read(nameless) { db in
                try ids[start..<min(start + 500, ids.count)].flatMap {
                    try self.events(db, "SELECT * FROM event WHERE id = ?", [$0])
                }
            }
            // What took the place of the file may be an earlier copy of it.
            var missing: [StoredEvent] = []
            for event in events where try self.event(event.id) == nil { missing.append(event) }
            try commit(
                missing.flatMap { event in
                    [.accepted(event)] + (event.decision.map { [.decided(event.id, $0)] } ?? [])
                })
            // A value that a later one or a removal has taken the place of.
            let outdated = missing.filter { $0.retained && !current.contains(Self.number($0.id)) }
            try write { db in
                for event in outdated {
                    try db.execute(sql: "DELETE FROM value WHERE event = ?", arguments: [Self.number(event.id)])
                }
            }
            count += missing.count
        }
        return count
    }

    private func read<Result>(
        _ queue: DatabaseQueue, _ body: (Database) throws -> Result
    ) throws(JournalError) -> Result {
        do { return try queue.read(body) } catch { throw JournalError(error) }
    }
}
