import GRDB
import Glibc
import Routing

/// An open file that has lost its name.
struct UnlinkedFile {
    let queue: DatabaseQueue
    let presence: FilePresence
    /// Whether its contents are what was acknowledged.
    let isReadable: Bool
}

/// Recovery after the file was deleted or replaced while it was open. The open file can still be read, and what was
/// acknowledged is written to a new file.
extension Journal {
    /// A file that was deleted, replaced or truncated while it was open.
    public struct Loss: Sendable, Equatable {
        public var file: String
        /// How many undecided events and current values were written again; `nil` if some could not be read.
        public var carriedOver: Int?
    }

    /// Removes the log of a file that has lost its name. SQLite would apply it to the file that has the name now.
    func removeLog() {
        guard let unlinked, unlinked.presence.isLogInPlace else { return }
        // The file may have another name now, and should be complete there.
        _ = try? unlinked.queue.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
        unlink(path + "-wal")
    }

    /// Returns the loss that was not reported yet.
    public func takeLoss() -> Loss? {
        defer { loss = nil }
        return loss
    }

    /// Copies undecided events, current values and pauses from the lost file to the open one.
    ///
    /// - Parameter refused: events that were not acknowledged.
    func carryOver(without refused: Set<EventID>) throws(JournalError) {
        guard loss != nil || unlinked != nil else { return }
        var loss = loss ?? Loss(file: path)
        do throws(JournalError) {
            if let unlinked {
                let index = try lostIndex(unlinked.queue)
                loss.carriedOver = try carryOver(index, without: refused) { ids throws(JournalError) in
                    try read(unlinked.queue) { db in try ids.flatMap { try self.lostEvent($0, db) } }
                }
            } else if let salvage {
                let count = try carryOver(salvage.index, without: refused) { ids in
                    ids.compactMap { salvage.events[$0] }
                }
                loss.carriedOver = salvage.isComplete ? count : nil
            }
        } catch {
            // Only a failure of the new file justifies another attempt.
            guard isOpen else { throw error }
        }
        closeUnlinked()
        salvage = nil
        self.loss = loss
    }

    /// Reads the same into memory, if the lost file cannot stay open until there is a new one. A deleted file uses the space of a
    /// full disk, and a truncated file must be closed before it is opened again.
    func salvage(from queue: DatabaseQueue) {
        guard let index = try? lostIndex(queue) else { return }
        var salvage = Salvage(index: index)
        var size = 0
        // Values come first: undecided events are in the daemon's memory as well.
        for id in index.current.sorted() + index.undecided.subtracting(index.current).sorted() {
            guard let event = try? read(queue, { db in try self.lostEvent(id, db) }).first else {
                salvage.isComplete = false
                continue
            }
            size += event.memoryCost
            guard size <= Salvage.limit else {
                salvage.isComplete = false
                break
            }
            salvage.events[id] = event
        }
        self.salvage = salvage
    }

    private func lostIndex(_ queue: DatabaseQueue) throws(JournalError) -> LostIndex {
        try read(queue) { db in
            LostIndex(
                undecided: Set(try Int64.fetchAll(db, sql: "SELECT id \(Self.undecidedRows)")),
                current: Set(try Int64.fetchAll(db, sql: "SELECT event FROM value")),
                removal: try Int64.fetchOne(db, sql: "SELECT id FROM last_removal"),
                quiet: try Row.fetchAll(db, sql: "SELECT * FROM quiet").compactMap { try? RowReader($0).quiet() },
                seed: try Row.fetchOne(db, sql: "SELECT * FROM identity").flatMap { try? RowReader($0).seed() },
                snoozes: try Row.fetchAll(db, sql: "SELECT * FROM snooze").compactMap { try? RowReader($0).snooze() },
                digests: try Row.fetchAll(db, sql: "SELECT * FROM digest").compactMap { try? RowReader($0).digest() },
                tombstones: try Row.fetchAll(db, sql: "SELECT * FROM tombstone ORDER BY removal")
                    .compactMap { try? RowReader($0).tombstone() },
                awaited: try Row.fetchAll(db, sql: "SELECT * FROM awaited ORDER BY number").compactMap {
                    try? RowReader($0).awaited()
                })
        }
    }

    private func lostEvent(_ id: Int64, _ db: Database) throws -> [StoredEvent] {
        try events(db, "SELECT * FROM event WHERE id = ?", [id])
    }

    /// - Parameter lostEvents: reads some events.
    /// - Returns: how many were written.
    private func carryOver(
        _ index: LostIndex, without refused: Set<EventID>,
        reading lostEvents: ([Int64]) throws(JournalError) -> [StoredEvent]
    ) throws(JournalError) -> Int {
        // It is the same journal, in another file, unless that is one already.
        if isNew, let seed = index.seed { try write { db in try self.setSeed(seed, db) } }
        if let removal = index.removal { try write { db in try self.noteRemoval(removal, db) } }
        try write { db in try self.noteStart(db) }
        isStartDue = false
        try commit([
            .quietReplaced(index.quiet), .snoozesReplaced(index.snoozes), .digestsReplaced(index.digests),
            .tombstones(index.tombstones), .awaitedReplaced(index.awaited),
        ])
        let snoozed = index.snoozes.map { Self.number($0.event) }
        let ids = index.current.union(index.undecided).union(snoozed).subtracting(refused.map(Self.number)).sorted()
        var count = 0
        // On a small disk the log has room for a few events only.
        let step = checkpointPages / 2
        for start in stride(from: 0, to: ids.count, by: step) {
            let events = try lostEvents(Array(ids[start..<min(start + step, ids.count)]))
            // The new file may be an earlier copy of the lost one.
            var missing: [StoredEvent] = []
            for event in events where try !self.holds(event.id) { missing.append(event) }
            try commit(
                missing.flatMap { event in
                    [.accepted(event)] + (event.decision.map { [.decided(event.id, $0)] } ?? [])
                })
            // Values that a later value or a removal has replaced.
            let outdated = missing.filter { $0.retained && !index.current.contains(Self.number($0.id)) }
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

/// The rows of a lost file that the new one must have.
struct LostIndex {
    var undecided: Set<Int64>
    /// The events that are current values.
    var current: Set<Int64>
    var removal: Int64?
    var quiet: [StoredQuiet]
    var seed: String?
    var snoozes: [StoredSnooze]
    var digests: [OwedDigest]
    var tombstones: [Tombstone]
    var awaited: [StoredAwaited]
}

/// The same in memory, with the events that could be read.
struct Salvage {
    /// The limit for events in memory, in bytes: twice the limit for current values.
    static let limit = 32 << 20

    var index: LostIndex
    var events: [Int64: StoredEvent] = [:]
    var isComplete = true
}
