internal import GRDB

internal import struct Foundation.Data

/// What can never be delivered: it is kept for a while, counted and told, so that somebody can see what was lost.
public struct DeadLetter: Hashable, Sendable {
    /// The topic of the event, if there is one. `notifyctl forget` deletes the letter with the events of the topic.
    public var topic: String?
    /// Where it came from, such as a device or a server.
    public var origin: String
    /// Why it cannot be delivered, without anything of its contents.
    public var reason: String
    /// The message; of a large one, only the first 256 KiB are kept.
    public var content: [UInt8]

    public init(topic: String? = nil, origin: String, reason: String, content: [UInt8] = []) {
        self.topic = topic
        self.origin = origin
        self.reason = reason
        self.content = content
    }
}

/// A dead letter in the store.
public struct KeptLetter: Hashable, Sendable {
    /// Grows with every letter.
    public var id: Int64
    /// When it was kept, in microseconds since the epoch.
    public var at: Int64
    /// The letter itself.
    public var letter: DeadLetter
}

/// How many dead letters are kept.
package struct LetterLimits: Sendable {
    package var count: Int
    /// Bytes of all together.
    package var bytes: Int
    /// Microseconds.
    package var age: Int64

    package init(count: Int = 1000, bytes: Int = 16 << 20, age: Int64 = 7 * 86_400_000_000) {
        self.count = count
        self.bytes = bytes
        self.age = age
    }
}

/// The table of dead letters.
enum LetterTable {
    private static let maximumContent = 256 << 10
    /// What a letter takes beside its texts.
    private static let overhead = 64

    static func insert(_ letter: DeadLetter, at time: Int64, _ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO letter (at, topic, origin, reason, content) VALUES (?, ?, ?, ?, ?)",
            arguments: [
                time, letter.topic, letter.origin, letter.reason, Data(letter.content.prefix(maximumContent)),
            ])
    }

    /// Deletes what is too old, and then the oldest ones until the rest is within the limits.
    static func enforce(_ limits: LetterLimits, at time: Int64, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM letter WHERE at <= ?", arguments: [time - limits.age])
        let sizes = try Row.fetchCursor(
            db,
            sql: """
                SELECT id, length(CAST(coalesce(topic, '') AS BLOB)) + length(CAST(origin AS BLOB))
                    + length(CAST(reason AS BLOB)) + length(content) + \(overhead) FROM letter ORDER BY id DESC
                """)
        var count = 0
        var bytes = 0
        var last: Int64?
        while let row = try sizes.next() {
            count += 1
            bytes += row[1] as Int
            guard count <= limits.count, bytes <= limits.bytes else {
                last = row[0]
                break
            }
        }
        if let last { try db.execute(sql: "DELETE FROM letter WHERE id <= ?", arguments: [last]) }
    }

    static func count(_ db: Database) throws -> Int { try Int.fetchOne(db, sql: "SELECT count(*) FROM letter") ?? 0 }

    static func all(_ db: Database) throws -> [KeptLetter] {
        try Row.fetchAll(db, sql: "SELECT id, at, topic, origin, reason, content FROM letter ORDER BY id").map { row in
            KeptLetter(
                id: row[0], at: row[1],
                letter: DeadLetter(
                    topic: row[2], origin: row[3], reason: row[4], content: Array(row[5] as Data? ?? Data())))
        }
    }

    /// - Returns: how many there were.
    static func delete(below topic: String, _ db: Database) throws -> Int {
        if topic == "/" {
            try db.execute(sql: "DELETE FROM letter")
        } else {
            let below = topic + "/"
            try db.execute(
                sql: "DELETE FROM letter WHERE topic = ? OR substr(topic, 1, ?) = ?",
                arguments: [topic, below.unicodeScalars.count, below])
        }
        return db.changesCount
    }
}
