import Foundation
import GRDB
import Routing

/// What the table `state` is searched by: the code of the record, and what distinguishes records of that kind.
struct StateKey {
    /// Records of a kind stand in the order of these bytes.
    let bytes: [UInt8]

    private init(_ code: Record.Code, _ rest: some Sequence<UInt8> = EmptyCollection()) {
        bytes = [code.rawValue] + rest
    }

    static var quiet: StateKey { StateKey(.quietReplaced) }
    static var snoozes: StateKey { StateKey(.snoozesReplaced) }
    static var digests: StateKey { StateKey(.digestsReplaced) }
    static var seed: StateKey { StateKey(.seed) }
    static var retention: StateKey { StateKey(.retention) }
    static func counter(_ counter: Record.Counter) -> StateKey { StateKey(.counter, counter.rawValue.utf8) }
    static func banner(_ number: UInt32) -> StateKey { StateKey(.bannerUp, bigEndian(number)) }
    static func globalID(_ id: EventID) -> StateKey { StateKey(.globalID, bigEndian(id.rawValue)) }
    static func tombstone(_ topic: Topic) -> StateKey { StateKey(.tombstone, topic.description.utf8) }
    /// No text on the bus has the byte 0.
    static func awaited(_ origin: Origin) -> StateKey {
        StateKey(.awaited, Array((origin.source ?? "").utf8) + [0] + (origin.eventID ?? "").utf8)
    }

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    /// - Returns: `nil` for a record that the table does not have.
    init?(_ record: Record) {
        switch record {
        case .quietReplaced: self = .quiet
        case .snoozesReplaced: self = .snoozes
        case .digestsReplaced: self = .digests
        case .seed: self = .seed
        case .retention: self = .retention
        case .counter(let counter, _): self = .counter(counter)
        case .bannerUp(let banner): self = .banner(banner.number)
        case .globalID(let push): self = .globalID(push.id)
        case .tombstone(let tombstone): self = .tombstone(tombstone.topic)
        case .awaited(let awaited): self = .awaited(awaited.origin)
        default: return nil
        }
    }
}

extension DatabaseValue {
    init(blob bytes: [UInt8]) { self = Data(bytes).databaseValue }
}

extension Record.Code {
    /// The keys of records of this kind.
    fileprivate var range: (first: DatabaseValue, end: DatabaseValue) {
        (DatabaseValue(blob: [rawValue]), DatabaseValue(blob: [rawValue + 1]))
    }
}

/// The table `state`: records that are not about one event, and of which the last one counts.
struct StateTable {
    let db: Database

    /// Writes a record in place of the earlier one.
    func store(_ record: Record) throws {
        guard let key = StateKey(record) else { return }
        var writer = RecordWriter()
        LogRecord(record).writeSealed(to: &writer)
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)")
            .execute(arguments: [DatabaseValue(blob: key.bytes), DatabaseValue(blob: writer.bytes)])
    }

    func remove(_ key: StateKey) throws {
        try db.cachedStatement(sql: "DELETE FROM state WHERE key = ?").execute(
            arguments: [DatabaseValue(blob: key.bytes)])
    }

    func removeAll(_ kind: Record.Code) throws { _ = try removeFirst(.max, of: kind) }

    /// Removes the first records of a kind, in the order of their keys.
    ///
    /// - Returns: how many.
    func removeFirst(_ count: Int, of kind: Record.Code) throws -> Int {
        let range = kind.range
        try db.execute(
            sql:
                "DELETE FROM state WHERE key IN "
                + "(SELECT key FROM state WHERE key >= ? AND key < ? ORDER BY key LIMIT ?)",
            arguments: [range.first, range.end, count])
        return db.changesCount
    }

    func contains(_ key: StateKey) throws -> Bool {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT 1 FROM state WHERE key = ?"), arguments: [DatabaseValue(blob: key.bytes)])
            != nil
    }

    func count(_ kind: Record.Code) throws -> Int {
        let range = kind.range
        return try Int.fetchOne(
            db, sql: "SELECT count(*) FROM state WHERE key >= ? AND key < ?", arguments: [range.first, range.end]) ?? 0
    }

    /// - Returns: the record; `nil` if there is none.
    /// - Throws: `Damaged` if it is not what was written.
    func value(at key: StateKey) throws -> Record? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT key, value FROM state WHERE key = ?"),
            arguments: [DatabaseValue(blob: key.bytes)])
        return try row.map { try Record(state: $0) }
    }

    /// A number that may be used up to 2⁶²; `nil` if there is none, or it is damaged.
    func number(_ counter: Record.Counter) throws -> Int64? {
        guard case .counter(counter, let number)? = try value(at: .counter(counter)), number < 1 << 62 else {
            return nil
        }
        return number
    }

    /// Whether a row has another key than its record says. No checksum of a record notices that, and nobody finds the
    /// row.
    func hasMisplacedRows() throws -> Bool {
        let rows = try Row.fetchCursor(db, sql: "SELECT key, value FROM state")
        while let row = try rows.next() {
            guard let record = try? LogRecord(stored: row.bytes("value")).record else { continue }
            if try StateKey(record)?.bytes != row.bytes("key") { return true }
        }
        return false
    }

    /// The rows of a kind, in the order of their keys.
    ///
    /// - Parameter last: only those behind this key.
    func rows(_ kind: Record.Code, after last: StateKey? = nil) throws -> RowCursor {
        let range = kind.range
        return try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT key, value FROM state WHERE key > ? AND key < ? ORDER BY key"),
            arguments: [last.map { DatabaseValue(blob: $0.bytes) } ?? range.first, range.end])
    }
}

extension Record {
    /// Reads a row of the table `state`.
    ///
    /// - Throws: `Damaged` if the record is not what was written, or belongs to another key.
    init(state row: Row) throws {
        self = try LogRecord(stored: row.bytes("value")).record
        guard let key = StateKey(self), try key.bytes == row.bytes("key") else { throw Damaged() }
    }
}
