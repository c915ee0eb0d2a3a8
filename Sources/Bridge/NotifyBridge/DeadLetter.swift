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

    /// A message that comes again, after a reconnection for instance, is still one letter. What is kept in part, or
    /// without its content, may be many.
    static func insert(_ letter: DeadLetter, at time: Int64, _ database: SQLiteFile) throws(StoreError) {
        let content = Array(letter.content.prefix(maximumContent))
        if !content.isEmpty, content.count == letter.content.count {
            try database.run(
                """
                DELETE FROM letter WHERE length(content) = ? AND origin = ? AND reason = ? AND topic IS ? AND content = ?
                """,
                [
                    .integer(Int64(content.count)), .text(letter.origin), .text(letter.reason),
                    letter.topic.map { .text($0) } ?? .null, .blob(content),
                ])
        }
        try database.run(
            "INSERT INTO letter (at, topic, origin, reason, content) VALUES (?, ?, ?, ?, ?)",
            [
                .integer(time), letter.topic.map { .text($0) } ?? .null, .text(letter.origin), .text(letter.reason),
                .blob(content),
            ])
    }

    /// Deletes what is too old, and then the oldest ones until the rest is within the limits.
    static func enforce(_ limits: LetterLimits, at time: Int64, _ database: SQLiteFile) throws(StoreError) {
        try database.run("DELETE FROM letter WHERE at <= ?", [.integer(time - limits.age)])
        var count = 0
        var bytes = 0
        var last: Int64?
        try database.rows(
            """
            SELECT id, length(CAST(coalesce(topic, '') AS BLOB)) + length(CAST(origin AS BLOB))
                + length(CAST(reason AS BLOB)) + length(content) + \(overhead) FROM letter ORDER BY id DESC
            """
        ) { row in
            count += 1
            bytes += Int(row.integer(1))
            if count > limits.count || bytes > limits.bytes { last = row.integer(0) }
            return last == nil
        }
        if let last { try database.run("DELETE FROM letter WHERE id <= ?", [.integer(last)]) }
    }

    static func count(_ database: SQLiteFile) throws(StoreError) -> Int {
        Int(try database.integer("SELECT count(*) FROM letter") ?? 0)
    }

    static func all(_ database: SQLiteFile) throws(StoreError) -> [KeptLetter] {
        var letters: [KeptLetter] = []
        try database.rows("SELECT id, at, topic, origin, reason, content FROM letter ORDER BY id") { row in
            letters.append(
                KeptLetter(
                    id: row.integer(0), at: row.integer(1),
                    letter: DeadLetter(
                        topic: row.isNull(2) ? nil : row.text(2), origin: row.text(3), reason: row.text(4),
                        content: row.bytes(5))))
            return true
        }
        return letters
    }

    /// - Returns: how many there were.
    static func delete(below topic: String, _ database: SQLiteFile) throws(StoreError) -> Int {
        if topic == "/" { return try database.run("DELETE FROM letter", []) }
        let below = topic + "/"
        return try database.run(
            "DELETE FROM letter WHERE topic = ? OR substr(topic, 1, ?) = ?",
            [.text(topic), .integer(Int64(below.unicodeScalars.count)), .text(below)])
    }
}
