import Foundation
import GRDB
import Routing

/// The tables of the index. A row holds a record in the journal's own coding; the other columns are what is searched.
enum IndexSchema {
    /// The version of tables and records, in `PRAGMA user_version`.
    static let version = 2

    /// SQLite keeps the text of each in the file.
    private static let statements = [
        """
        CREATE TABLE event (
            id INTEGER PRIMARY KEY, topic TEXT NOT NULL,
            -- 0: undecided; below 10: unread.
            outcome INTEGER NOT NULL,
            -- The changes that accepted it and that gave it its outcome.
            number INTEGER, decided INTEGER,
            source TEXT, name TEXT, collapse TEXT,
            -- The first event of the banner in which a shown event is, if it is another one.
            shown_with INTEGER,
            -- Whether it is the current value of its topic.
            is_value INTEGER NOT NULL,
            record BLOB NOT NULL
        )
        """,
        "CREATE INDEX event_topic ON event(topic)",
        "CREATE INDEX event_undecided ON event(topic) WHERE outcome = 0",
        "CREATE INDEX event_unread ON event(topic) WHERE outcome BETWEEN 1 AND 9",
        "CREATE INDEX event_decided ON event(decided) WHERE decided IS NOT NULL",
        "CREATE INDEX event_name ON event(source, name) WHERE name IS NOT NULL",
        "CREATE INDEX event_collapse ON event(topic, collapse) "
            + "WHERE collapse IS NOT NULL AND outcome BETWEEN 0 AND 9",
        "CREATE INDEX event_shown_with ON event(shown_with) WHERE shown_with IS NOT NULL",
        "CREATE INDEX event_value ON event(topic) WHERE is_value = 1",
        // Changes that are neither an event nor an outcome: starts, read marks, removals, and events that came late.
        "CREATE TABLE change (number INTEGER PRIMARY KEY, record BLOB NOT NULL)",
        // Everything else, by the keys of StateKey.
        "CREATE TABLE state (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    ]

    enum State { case empty, present, earlier, newer }

    static func state(of queue: DatabaseQueue) throws -> State {
        try queue.read { db in
            let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            if version > Self.version { return .newer }
            let isEmpty = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0
            if isEmpty { return .empty }
            guard version > 0 else { throw JournalError.damaged }
            return version == Self.version ? .present : .earlier
        }
    }

    static func create(_ queue: DatabaseQueue) throws {
        try queue.write { db in
            for statement in statements { try db.execute(sql: statement) }
            try db.execute(sql: "PRAGMA user_version = \(version)")
        }
    }

    /// Verifies the definitions of the tables. A flipped bit in one would make every statement fail.
    ///
    /// - Throws: `JournalError.damaged` if the tables are others.
    static func verify(_ queue: DatabaseQueue) throws {
        let found = try queue.read { db in try String.fetchSet(db, sql: "SELECT sql FROM sqlite_master") }
        guard found == Set(statements) else { throw JournalError.damaged }
    }
}

/// A row is not what was written.
struct Damaged: Error {}

extension EventState {
    /// What is searched: all columns but the record, in the order of the table.
    private var columns: [(any DatabaseValueConvertible)?] {
        let decision = event.decision
        let shownWith = decision?.outcome == .shown ? decision?.shownWith : nil
        return [
            Journal.number(event.id), event.topic.description, decision?.code ?? 0, number, decided,
            event.origin.source, event.origin.source == nil ? nil : event.origin.eventID, event.collapse,
            shownWith == event.id ? nil : shownWith.map(Journal.number), isValue,
        ]
    }

    /// The row of an event, if there is one.
    static func row(_ id: Int64, _ db: Database) throws -> Row? {
        try Row.fetchOne(db.cachedStatement(sql: "SELECT * FROM event WHERE id = ?"), arguments: [id])
    }

    /// The statement that writes a row.
    static func insertion(_ db: Database) throws -> Statement {
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO event
                    (id, topic, outcome, number, decided, source, name, collapse, shown_with, is_value, record)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
    }

    /// Writes the row, in place of the one with this id.
    func write(by insertion: Statement, _ writer: inout RecordWriter) throws {
        writer.removeAll()
        LogRecord(.event(self)).writeSealed(to: &writer)
        // An array of database values would be slower: for each of them GRDB makes a key path.
        try insertion.execute(arguments: StatementArguments(columns + [Data(writer.bytes)]))
    }

    /// Reads a row of the table `event`, all columns of it.
    ///
    /// - Throws: `Damaged` if the record is not what was written, or the other columns say something else.
    init(_ row: Row) throws {
        let state = try EventState(stored: row)
        guard row.databaseValues.dropLast().elementsEqual(state.columns.map { $0?.databaseValue ?? .null }) else {
            throw Damaged()
        }
        self = state
    }

    /// Reads the record of a row of the table `event`, and no other column.
    init(stored row: Row) throws {
        guard case .event(let state) = try LogRecord(stored: row.bytes("record")).record else { throw Damaged() }
        self = state
    }
}

extension LogRecord {
    init(stored bytes: [UInt8]) throws { self = try bytes.withUnsafeBytes { try LogRecord(sealed: $0) } }

    /// Reads a row of the table `change`.
    ///
    /// - Throws: `Damaged` if the record is not what was written, or has another number.
    init(change row: Row) throws {
        self = try LogRecord(stored: row.bytes("record"))
        guard try number == row.number("number") else { throw Damaged() }
    }
}

/// Columns of a row that is not trusted: a damaged file can hold any type in any column.
extension Row {
    func column<Value: DatabaseValueConvertible>(_ name: String) throws -> Value {
        guard let found: DatabaseValue = self[name], let value = Value.fromDatabaseValue(found) else { throw Damaged() }
        return value
    }

    func number(_ column: String) throws -> Int64 { try self.column(column) }
    func bytes(_ column: String) throws -> [UInt8] { [UInt8](try self.column(column) as Data) }
}
