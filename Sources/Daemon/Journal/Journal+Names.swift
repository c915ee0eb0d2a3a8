import Foundation
import GRDB
import Routing

/// A new number for a journal that two machines share, because the disk of one was copied to the other.
extension Journal {
    /// Rows that are rewritten at once.
    private static let batch = 500

    /// Makes the journal another one. What it has said so far keeps its global names: those that the old number gave are written
    /// into the rows.
    ///
    /// - Parameter source: the source of the events that had no global name of their own.
    public func makeNewSeed(namingEarlierEvents source: String) throws(JournalError) {
        try write { db in
            try self.nameEvents(source, db)
            try self.nameRemovals(source, db)
            try self.nameTombstones(source, db)
            try self.makeSeed(db)
        }
    }

    private func nameEvents(_ source: String, _ db: Database) throws {
        var last = Int64.min
        while true {
            let rows = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT * FROM event WHERE id > ? AND (source IS NULL OR source_id IS NULL) ORDER BY id LIMIT ?
                        """), arguments: [last, Self.batch])
            guard let end = rows.last?["id"] as Int64? else { return }
            last = end
            for row in rows {
                // A damaged row is left out when it is read, whatever its name.
                guard var event = try? RowReader(row).event(), let fields: Data = row["fields"] else { continue }
                event.origin = Self.named(event.origin, source, event.id)
                let appearance: Data? = row["appearance"]
                try db.cachedStatement(sql: "UPDATE event SET source = ?, source_id = ?, checksum = ? WHERE id = ?")
                    .execute(
                        arguments: [
                            event.origin.source, event.origin.eventID,
                            event.checksum(fields: [UInt8](fields), appearance: appearance.map { [UInt8]($0) }),
                            Self.number(event.id),
                        ])
            }
        }
    }

    private func nameRemovals(_ source: String, _ db: Database) throws {
        let kinds = [ChangeRow.Kind.removed.rawValue, ChangeRow.Kind.replaced.rawValue]
        let rows = try Row.fetchAll(
            db, sql: "SELECT * FROM change WHERE kind IN (?, ?) AND (source IS NULL OR source_id IS NULL)",
            arguments: StatementArguments(kinds))
        for row in rows {
            guard var change = try? RowReader(row).change() else { continue }
            change.origin = Self.named(change.origin, source, change.event)
            try db.cachedStatement(sql: "UPDATE change SET source = ?, source_id = ?, checksum = ? WHERE number = ?")
                .execute(
                    arguments: [change.origin.source, change.origin.eventID, change.checksum, change.number])
        }
    }

    private func nameTombstones(_ source: String, _ db: Database) throws {
        let rows = try Row.fetchAll(db, sql: "SELECT * FROM tombstone WHERE source IS NULL OR source_id IS NULL")
        for row in rows {
            guard let tombstone = try? RowReader(row).tombstone() else { continue }
            let version = tombstone.version
            let named = ValueVersion(
                published: version.published, id: version.id, origin: Self.named(version.origin, source, version.id))
            try insert(
                Tombstone(topic: tombstone.topic, version: named, removal: tombstone.removal), db)
        }
    }

    private static func named(_ origin: Origin, _ source: String, _ id: EventID) -> Origin {
        Origin(source: source, eventID: id.description, via: origin.via)
    }
}
