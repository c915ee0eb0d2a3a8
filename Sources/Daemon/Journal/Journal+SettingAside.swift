import Foundation
import GRDB
import Glibc

/// Files that are moved out of the way.
extension Journal {
    /// Moves the file of an earlier build, with its log.
    func setEarlierFileAside() throws(JournalError) {
        let earlier = "\(directory)/\(Self.earlierFileName)"
        guard access(earlier, F_OK) == 0 else { return }
        unlink("\(directory)/ballast")
        setAside = SetAside(file: try move(earlier, to: "\(earlier).earlier"), reason: .earlier)
    }

    /// Moves index and log of a build with another coding.
    func setEarlierVersionAside() throws(JournalError) {
        setAside = SetAside(file: try move(path, to: "\(path).earlier"), reason: .earlier)
        for slot in 0..<WriteAheadLog.numberOfFiles {
            let segment = "\(directory)/\(WriteAheadLog.name(slot))"
            if access(segment, F_OK) == 0 { _ = try move(segment, to: "\(segment).earlier") }
        }
    }

    /// Puts a new index in the place of the damaged one, with what can be read of it. Until the new one is complete,
    /// the damaged one keeps its name, so that a crash or a full disk costs nothing.
    func replaceDamagedIndex() throws(JournalError) {
        closeIndex()
        for suffix in ["", "-wal", "-shm"] { unlink(newPath + suffix) }
        try FileCheck.prepare(newPath)
        var new: DatabaseQueue?
        do {
            let queue = try DatabaseQueue(path: newPath, configuration: Self.configuration)
            new = queue
            try IndexSchema.create(queue)
            try carryOver(from: path, to: queue)
            _ = try queue.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
            try queue.close()
            for suffix in ["-wal", "-shm"] { unlink(newPath + suffix) }
        } catch {
            let reason = Self.reason(error, of: new)
            try? new?.close()
            for suffix in ["", "-wal", "-shm"] { unlink(newPath + suffix) }
            throw reason
        }
        guard rename(newPath, readyPath) == 0 else { throw .readOnly }
        try sync(directory)
        try finishReplacing()
        isStartDue = true
    }

    private var newPath: String { path + ".new" }
    private var readyPath: String { path + ".ready" }

    /// Moves the damaged index out of the way of a new one that is complete, perhaps one of an earlier process.
    func finishReplacing() throws(JournalError) {
        guard access(readyPath, F_OK) == 0, JournalError.obstacle(at: readyPath) == nil else { return }
        if access(path, F_OK) == 0 {
            let file = try move(path, to: "\(path).damaged-\(time(nil))")
            setAside = SetAside(file: file, reason: .damaged)
            removeOldDamagedFiles(except: file)
        }
        // The new one must not get what the damaged one had there.
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        guard rename(readyPath, path) == 0 else { throw .readOnly }
        try sync(directory)
        isSuspect = false
    }

    /// Damaged files are kept for whoever wants to look into them, but a disk that damages files must not be filled
    /// with them.
    private func removeOldDamagedFiles(except newest: String) {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let earlier = files.map { "\(directory)/\($0)" }.filter {
            $0.hasPrefix("\(path).damaged-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") && $0 != newest
        }
        for file in earlier.sorted().dropLast(2) {
            for suffix in ["", "-wal", "-shm"] { unlink(file + suffix) }
        }
    }

    private func move(_ file: String, to wanted: String) throws(JournalError) -> String {
        var name = wanted
        // Two files may be set aside within a second.
        while access(name, F_OK) == 0 { name += "-again" }
        guard rename(file, name) == 0 else { throw .readOnly }
        for suffix in ["-wal", "-shm"] {
            if FileCheck.size(file + suffix) > 0 { rename(file + suffix, name + suffix) } else { unlink(file + suffix) }
        }
        return name
    }

    private enum CopiedTable: String, CaseIterable {
        case event, change, state

        var key: String { self == .event ? "id" : self == .change ? "number" : "key" }
    }

    /// Copies what can be read of a damaged index, from both ends of each table. Where something is missing, the log
    /// tells all that it has once more.
    ///
    /// - Throws: if something cannot be written.
    private func carryOver(from file: String, to new: DatabaseQueue) throws {
        var configuration = Configuration()
        configuration.readonly = true
        guard let old = try? DatabaseQueue(path: file, configuration: configuration) else { return }
        defer { try? old.close() }
        var isWhole = true
        for table in CopiedTable.allCases where try !copy(table, from: old, to: new, order: "ASC") {
            isWhole = false
            _ = try copy(table, from: old, to: new, order: "DESC")
        }
        guard !isWhole else { return }
        try new.write { db in
            self.carriedThrough = UInt64(clamping: try self.number(.applied, db) ?? 0)
            try StateTable(db: db).remove(.counter(.applied))
        }
    }

    /// - Returns: whether the whole table was read, and all of its rows were what was written.
    private func copy(
        _ table: CopiedTable, from old: DatabaseQueue, to new: DatabaseQueue, order: String
    ) throws -> Bool {
        var isWhole = true
        var rows: [Row] = []
        func write() throws {
            try new.write { db in
                for row in rows {
                    do { try copy(row, table, db) } catch let error where !(error is DatabaseError) { isWhole = false }
                }
            }
            _ = try new.writeWithoutTransaction { db in try db.checkpoint() }
            rows = []
        }
        do {
            try old.read { db in
                let cursor = try Row.fetchCursor(db, sql: "SELECT * FROM \(table) ORDER BY \(table.key) \(order)")
                while let row = try cursor.next() {
                    rows.append(row.copy())
                    guard rows.count == 500 else { continue }
                    do { try write() } catch { throw CannotWrite(cause: error) }
                }
            }
        } catch let error as CannotWrite {
            throw error.cause
        } catch {
            isWhole = false
        }
        try write()
        return isWhole
    }

    private struct CannotWrite: Error { let cause: any Error }

    private func copy(_ row: Row, _ table: CopiedTable, _ db: Database) throws {
        switch table {
        case .event:
            var writer = RecordWriter()
            // The columns are what the record says.
            try EventState(stored: row).write(by: EventState.insertion(db), &writer)
        case .change:
            try insert(LogRecord(change: row), db)
        case .state:
            // The key is what the record says.
            try StateTable(db: db).store(LogRecord(stored: row.bytes("value")).record)
        }
    }
}
