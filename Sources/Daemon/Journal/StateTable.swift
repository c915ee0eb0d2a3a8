import Foundation
import GRDB
import Routing

/// What the table `state` is searched by: a byte for the kind, and what distinguishes values of that kind.
enum StateKey {
    /// The sequence of the last frame of the log that the index has.
    case applied
    case seed
    case quiet
    case snoozes
    case digests
    /// The clock of the journal, the marks in it, and the number of events.
    case retention
    /// The first change that is complete.
    case oldestChange
    /// The highest number of a change that may have no row.
    case lastHole
    /// The highest id that belongs to no event.
    case lastID
    case banner(UInt32)
    case tombstone(Topic)
    /// The global id of a removal or of a forgotten event.
    case globalID(EventID)
    case awaited(Origin)

    enum Kind: UInt8 {
        case applied = 1
        case seed, quiet, snoozes, digests, retention, oldestChange, lastHole, lastID, banner, tombstone, globalID,
            awaited

        /// The keys of this kind.
        var range: (first: DatabaseValue, end: DatabaseValue) {
            (DatabaseValue(blob: [rawValue]), DatabaseValue(blob: [rawValue + 1]))
        }
    }

    private var kind: Kind {
        switch self {
        case .applied: .applied
        case .seed: .seed
        case .quiet: .quiet
        case .snoozes: .snoozes
        case .digests: .digests
        case .retention: .retention
        case .oldestChange: .oldestChange
        case .lastHole: .lastHole
        case .lastID: .lastID
        case .banner: .banner
        case .tombstone: .tombstone
        case .globalID: .globalID
        case .awaited: .awaited
        }
    }

    /// Values of a kind stand in the order of these bytes.
    var bytes: [UInt8] {
        var bytes = [kind.rawValue]
        switch self {
        case .applied, .seed, .quiet, .snoozes, .digests, .retention, .oldestChange, .lastHole, .lastID: break
        case .banner(let number): withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
        case .globalID(let id): withUnsafeBytes(of: id.rawValue.bigEndian) { bytes += $0 }
        case .tombstone(let topic): bytes += topic.description.utf8
        case .awaited(let origin):
            bytes += (origin.source ?? "").utf8
            // No text on the bus has this byte.
            bytes.append(0)
            bytes += (origin.eventID ?? "").utf8
        }
        return bytes
    }
}

extension DatabaseValue {
    init(blob bytes: [UInt8]) { self = Data(bytes).databaseValue }
}

/// The table `state`.
struct StateTable {
    let db: Database

    /// Writes a value in place of the earlier one.
    func put(_ value: StateValue, at key: StateKey) throws {
        var writer = RecordWriter()
        value.write(to: &writer)
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)")
            .execute(arguments: [DatabaseValue(blob: key.bytes), DatabaseValue(blob: writer.bytes)])
    }

    /// - Returns: whether there was one.
    @discardableResult
    func remove(_ key: StateKey) throws -> Bool {
        try db.cachedStatement(sql: "DELETE FROM state WHERE key = ?").execute(
            arguments: [DatabaseValue(blob: key.bytes)])
        return db.changesCount > 0
    }

    func removeAll(_ kind: StateKey.Kind) throws {
        let range = kind.range
        try db.execute(sql: "DELETE FROM state WHERE key >= ? AND key < ?", arguments: [range.first, range.end])
    }

    /// Removes the first values of a kind, in the order of their keys.
    ///
    /// - Returns: how many.
    func removeFirst(_ count: Int, of kind: StateKey.Kind) throws -> Int {
        let range = kind.range
        try db.execute(
            sql:
                "DELETE FROM state WHERE key IN (SELECT key FROM state WHERE key >= ? AND key < ? ORDER BY key LIMIT ?)",
            arguments: [range.first, range.end, count])
        return db.changesCount
    }

    func contains(_ key: StateKey) throws -> Bool {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT 1 FROM state WHERE key = ?"), arguments: [DatabaseValue(blob: key.bytes)])
            != nil
    }

    func count(_ kind: StateKey.Kind) throws -> Int {
        let range = kind.range
        return try Int.fetchOne(
            db, sql: "SELECT count(*) FROM state WHERE key >= ? AND key < ?", arguments: [range.first, range.end]) ?? 0
    }

    /// - Returns: the value; `nil` if there is none.
    /// - Throws: `Damaged` if it is not what was written.
    func value(at key: StateKey) throws -> StateValue? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT key, value FROM state WHERE key = ?"),
            arguments: [DatabaseValue(blob: key.bytes)])
        return try row.map { try StateValue($0) }
    }

    /// Whether a row has another key than its value says. No checksum of a value notices that, and nobody finds the
    /// row.
    func hasMisplacedRows() throws -> Bool {
        let rows = try Row.fetchCursor(db, sql: "SELECT key, value FROM state")
        while let row = try rows.next() {
            guard let key = (try? StateValue(stored: row.bytes("value")))?.key else { continue }
            if (try? row.bytes("key")) != key.bytes { return true }
        }
        return false
    }

    /// Writes all rows again, at the keys that their values say. Others may not be found, and are out of order.
    func repair() throws {
        let rows = try Row.fetchAll(db, sql: "SELECT key, value FROM state")
        try db.execute(sql: "DELETE FROM state")
        for row in rows {
            let value = row["value"] as DatabaseValue
            let key = (try? StateValue(stored: row.bytes("value")))?.key?.bytes
            try db.execute(
                sql: "INSERT OR IGNORE INTO state (key, value) VALUES (?, ?)",
                arguments: [key.map { DatabaseValue(blob: $0) } ?? row["key"], value])
        }
    }

    /// The rows of a kind, in the order of their keys.
    ///
    /// - Parameter last: only those behind this key.
    func rows(_ kind: StateKey.Kind, after last: StateKey? = nil) throws -> RowCursor {
        let range = kind.range
        return try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT key, value FROM state WHERE key > ? AND key < ? ORDER BY key"),
            arguments: [last.map { DatabaseValue(blob: $0.bytes) } ?? range.first, range.end])
    }
}

extension StateValue {
    /// Reads a row of the table `state`.
    ///
    /// - Throws: `Damaged` if the value is not what was written, or belongs to another key.
    init(_ row: Row) throws {
        self = try StateValue(stored: row.bytes("value"))
        if let key, try key.bytes != row.bytes("key") { throw Damaged() }
    }

    /// The key, where the value says it.
    fileprivate var key: StateKey? {
        switch self {
        case .banner(let banner): .banner(banner.number)
        case .tombstone(let tombstone): .tombstone(tombstone.topic)
        case .removal(let removal, accepted: _): .globalID(removal.id)
        case .awaited(let awaited): .awaited(awaited.origin)
        case .seed: .seed
        case .quiet: .quiet
        case .snoozes: .snoozes
        case .digests: .digests
        case .retention: .retention
        case .number, .change: nil
        }
    }
}
