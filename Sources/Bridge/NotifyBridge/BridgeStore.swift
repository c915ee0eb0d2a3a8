import Glibc
import NotifyClient
import Systemd

/// A change of the records of a ``BridgeStore``.
public enum RecordChange: Equatable, Sendable {
    /// Keeps a value under a key, instead of the one that was there.
    case put(String, [UInt8])
    /// Removes what is kept under a key, if there is anything.
    case remove(String)
}

extension RecordChange {
    /// Keeps a value, or removes what is there for `nil`.
    package init(_ key: String, _ value: [UInt8]?) { self = value.map { .put(key, $0) } ?? .remove(key) }

    /// Keeps a text.
    public static func put(_ key: String, text: String) -> RecordChange { .put(key, Array(text.utf8)) }

    /// Keeps a number, such as a cursor. ``BridgeStore/number(_:)`` reads it.
    public static func put(_ key: String, _ number: UInt64) -> RecordChange { .put(key, text: "\(number)") }
}

/// What a bridge keeps on disk: records by key, and dead letters.
///
/// A write is on the disk when it is done, whole or not at all, and writes are done in the order in which they are
/// called. Writes that wait for the disk are written together. A damaged file is set aside, and the store begins again:
/// see ``begunAnew``.
public final class BridgeStore: Sendable {
    private struct Write: Sendable {
        let work: @Sendable (SQLiteFile) throws(StoreError) -> Void
        let completion: @Sendable (StoreError?) -> Void
    }

    /// The new name of a file that was damaged when the store was opened; `nil`: the records are those of earlier runs.
    /// A bridge that depends on them reports the loss.
    public let begunAnew: String?
    let path: String
    /// Where it is; bridges inside this package may have files of their own there.
    package let folder: String
    /// Reports how many dead letters there are, on the thread of the store.
    private let onLetters: @Sendable (Int) -> Void
    /// Reports whether the disk takes what is written, on the thread of the store.
    private let onWrite: @Sendable (StoreError?) -> Void
    private let clock: @Sendable () -> Int64
    private let limits: LetterLimits
    /// Its thread waits for the disk, so nothing else runs on it.
    private let loop: WorkLoop
    /// Only `loop` uses it.
    private let database: SQLiteFile
    private let waiting = Locked<[Write]>([])

    /// Opens the store, or makes it.
    ///
    /// - Parameters:
    ///   - folder: is made if it is not there.
    ///   - limits: how many dead letters are kept, and for how long.
    ///   - clock: microseconds since the epoch.
    ///   - onLetters: is called whenever the number of dead letters may have changed.
    ///   - onWrite: is called after each write, with its error.
    package init(
        folder: String, limits: LetterLimits = LetterLimits(),
        clock: @escaping @Sendable () -> Int64 = { SystemClock.wall },
        onLetters: @escaping @Sendable (Int) -> Void = { _ in },
        onWrite: @escaping @Sendable (StoreError?) -> Void = { _ in }
    ) throws(StoreError) {
        self.folder = folder
        path = folder + "/state.db"
        self.limits = limits
        self.clock = clock
        self.onLetters = onLetters
        self.onWrite = onWrite
        do throws(NotifyError) {
            loop = try WorkLoop()
        } catch {
            throw StoreError(.unavailable, error.message)
        }
        try StoreFile.makeFolder(folder)
        do throws(StoreError) {
            database = try StoreFile.open(path)
            begunAnew = nil
        } catch {
            guard error.isDamage else { throw error }
            begunAnew = try StoreFile.setAside(path)
            database = try StoreFile.open(path)
        }
        loop.perform { self.refresh() }
    }

    // MARK: Records

    /// All records whose keys begin with a text, by their keys.
    public func all(prefix: String = "") async throws(StoreError) -> [(key: String, value: [UInt8])] {
        try await onLoop { database throws(StoreError) in
            var found: [(key: String, value: [UInt8])] = []
            try database.rows(
                "SELECT key, value, sum FROM record WHERE key >= ? ORDER BY key", [.text(prefix)]
            ) { row throws(StoreError) in
                let key = row.text(0)
                guard key.utf8.starts(with: prefix.utf8) else { return false }
                found.append((key, try Self.value(row, key)))
                return true
            }
            return found
        }
    }

    /// The value of a key, if there is one.
    public func value(_ key: String) async throws(StoreError) -> [UInt8]? {
        try await onLoop { database throws(StoreError) in
            var found: [UInt8]?
            try database.rows("SELECT key, value, sum FROM record WHERE key = ?", [.text(key)]) {
                row throws(StoreError) in
                found = try Self.value(row, key)
                return false
            }
            return found
        }
    }

    /// The number of a key, if there is one.
    public func number(_ key: String) async throws(StoreError) -> UInt64? {
        guard let bytes = try await value(key) else { return nil }
        guard let number = UInt64(String(decoding: bytes, as: UTF8.self)) else {
            throw StoreError(.damage, "the record \(key) is not a number")
        }
        return number
    }

    private static func value(_ row: SQLiteRow, _ key: String) throws(StoreError) -> [UInt8] {
        let value = row.bytes(1)
        guard row.integer(2) == checksum(key, value) else {
            throw StoreError(.damage, "a record does not have its checksum")
        }
        return value
    }

    /// Writes changes, all or none.
    ///
    /// - Parameters:
    ///   - changes: in their order.
    ///   - completion: runs on the thread of the store when they are on the disk, or cannot be written.
    public func write(_ changes: [RecordChange], _ completion: @escaping @Sendable (StoreError?) -> Void) {
        write(changes, keeping: [], completion)
    }

    /// Writes changes and keeps dead letters, all or none: a cursor that moves over a message is never without the
    /// letter of it.
    package func write(
        _ changes: [RecordChange], keeping letters: [DeadLetter],
        _ completion: @escaping @Sendable (StoreError?) -> Void
    ) {
        let now = clock()
        submit(completion) { [limits] database throws(StoreError) in
            for letter in letters { try LetterTable.insert(letter, at: now, database) }
            if !letters.isEmpty { try LetterTable.enforce(limits, at: now, database) }
            for change in changes {
                switch change {
                case .put(let key, let value):
                    try database.run(
                        "INSERT OR REPLACE INTO record (key, value, sum) VALUES (?, ?, ?)",
                        [.text(key), .blob(value), .integer(Self.checksum(key, value))])
                case .remove(let key): try database.run("DELETE FROM record WHERE key = ?", [.text(key)])
                }
            }
        }
        if !letters.isEmpty { refreshSoon() }
    }

    /// Writes changes, all or none. When it returns, they are on the disk.
    public func write(_ changes: [RecordChange]) async throws(StoreError) { try await write(changes, keeping: []) }

    private func write(_ changes: [RecordChange], keeping letters: [DeadLetter]) async throws(StoreError) {
        let error = await withCheckedContinuation { continuation in
            write(changes, keeping: letters) { continuation.resume(returning: $0) }
        }
        if let error { throw error }
    }

    /// Deletes what was removed or replaced from the file, too.
    package func purge() async throws(StoreError) { try await onLoop(Self.emptyLog) }

    /// SQLite's write-ahead log has deleted texts until it is truncated.
    private static func emptyLog(_ database: SQLiteFile) throws(StoreError) {
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    // MARK: Dead letters

    /// Keeps what can never be delivered. If there are too many dead letters, the oldest ones are deleted.
    ///
    /// - Parameters:
    ///   - letter: what cannot be delivered.
    ///   - completion: runs on the thread of the store when it is on the disk, or cannot be written.
    public func keep(_ letter: DeadLetter, _ completion: @escaping @Sendable (StoreError?) -> Void) {
        write([], keeping: [letter], completion)
    }

    /// Keeps what can never be delivered. When it returns, it is on the disk.
    public func keep(_ letter: DeadLetter) async throws(StoreError) { try await write([], keeping: [letter]) }

    /// The dead letters, the oldest first.
    public func letters() async throws(StoreError) -> [KeptLetter] {
        expireLetters()
        return try await onLoop { database throws(StoreError) in try LetterTable.all(database) }
    }

    /// Deletes the dead letters at or below a topic, also from the file; `/` stands for all, those without a topic
    /// included.
    ///
    /// - Returns: how many there were.
    @discardableResult
    public func forgetLetters(below topic: String = "/") async throws(StoreError) -> Int {
        let count = try await onLoop { database throws(StoreError) in
            let count = try database.transaction { database throws(StoreError) in
                try LetterTable.delete(below: topic, database)
            }
            try Self.emptyLog(database)
            return count
        }
        refreshSoon()
        return count
    }

    /// Deletes the dead letters that are too old.
    func expireLetters() {
        let now = clock()
        submit { [limits] database throws(StoreError) in try LetterTable.enforce(limits, at: now, database) }
        refreshSoon()
    }

    private func refreshSoon() { loop.perform { self.refresh() } }

    private func refresh() {
        if let count = try? LetterTable.count(database) { onLetters(count) }
    }

    // MARK: On the loop

    /// Waits until all earlier calls are done.
    func wait() async { try? await onLoop { _ in } }

    /// Closes the file when all earlier calls are done. No call may follow.
    package func close() async { try? await onLoop { $0.close() } }

    private func submit(
        _ completion: @escaping @Sendable (StoreError?) -> Void = { _ in },
        _ work: @escaping @Sendable (SQLiteFile) throws(StoreError) -> Void
    ) {
        let isFirst = waiting.withLock { waiting in
            waiting.append(Write(work: work, completion: completion))
            return waiting.count == 1
        }
        if isFirst { loop.perform { self.flush() } }
    }

    /// Writes everything that waits in one transaction. If one write fails, none is on disk, and all report the error.
    private func flush() {
        let writes = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        var failure: StoreError?
        Failpoint.beforeWrite.hit()
        do throws(StoreError) {
            try database.transaction { database throws(StoreError) in
                for write in writes { try write.work(database) }
            }
        } catch {
            failure = error
        }
        Failpoint.afterWrite.hit()
        onWrite(failure)
        for write in writes { write.completion(failure) }
    }

    private func onLoop<Content: Sendable>(
        _ body: @escaping @Sendable (SQLiteFile) throws(StoreError) -> Content
    ) async throws(StoreError) -> Content {
        let result: Result<Content, StoreError> = await withCheckedContinuation { continuation in
            loop.perform { [database] in
                do throws(StoreError) {
                    continuation.resume(returning: .success(try body(database)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    /// The checksum of a key and its value, by which a damaged record is recognised.
    private static func checksum(_ key: String, _ value: [UInt8]) -> Int64 {
        Int64(bitPattern: FNV1a.sum(of: Array(key.utf8) + [0xFF] + value))
    }
}
