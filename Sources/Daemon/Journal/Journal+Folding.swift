import DequeModule
import GRDB
import GRDBSQLite
import Routing

/// Folding: the records of waiting frames go into the index, one portion, which is one transaction, at a time.
extension Journal {
    /// Records of a portion between two turns at full load: calls wait for it.
    static let portionUnderLoad = 256
    /// Records of a portion while a read waits for all of them.
    private static let portionForRead = 1024
    /// Records of a portion at the start, when nobody can call yet.
    static let portionAtStart = 2048
    /// Records of a portion in idle time, which takes some 0.4 ms: a third of that is the transaction's own.
    static let portionInIdleTime = 64
    /// Records of a portion where the disk is small or full: a transaction takes little then, and so does the
    /// write-ahead log of SQLite.
    private static let portionOnSmallDisk = 16
    /// A portion has at most as many bytes for each of its records: it is smaller where events are large.
    private static let bytesPerRecord = 2 << 10
    /// How long records wait, in microseconds: mostly an event is decided by then, and its row is written once.
    static let foldDelay: Int64 = 1_000_000
    /// At so many pages in the write-ahead log of SQLite a checkpoint is made: even while calls wait, and in idle time.
    private static let checkpointPages = 1000
    private static let idleCheckpointPages = 250

    /// Does a portion of the work that nobody waits for: filling the index, and making room in the log.
    ///
    /// - Returns: after which time there is more to do; `nil`: nothing, until the next commit.
    public func work() throws(JournalError) -> Duration? {
        guard isOpen, indexFailure == nil else { return nil }
        if isFoldDue {
            try foldPortion(Self.portionInIdleTime)
        } else if log?.prepare() == true {
            return .zero
        }
        guard let oldest = pending.frames.first else {
            try checkpointIfDue(atPages: Self.idleCheckpointPages)
            keepRoomForDeletion()
            return nil
        }
        return isFoldDue ? .zero : .microseconds(max(1, Self.foldDelay - abs(realtime() - oldest.written)))
    }

    var isPendingLarge: Bool { pending.isLarge(inSegmentsOf: log?.segmentBytes ?? .max) }

    private var isFoldDue: Bool {
        guard let oldest = pending.frames.first else { return false }
        return isPendingLarge || abs(realtime() - oldest.written) >= Self.foldDelay
    }

    /// Writes everything that waits to the index.
    ///
    /// - Parameter leavingRoom: whether the disk must keep space for deletions. A deletion itself may use it.
    func fold(leavingRoom: Bool = true) throws(JournalError) {
        while !pending.isEmpty {
            let limit = indexFailure == nil ? Self.portionForRead : Self.portionOnSmallDisk
            try foldPortion(limit, leavingRoom: leavingRoom)
        }
    }

    /// - Parameter limit: about how many records. A frame is written whole.
    func foldPortion(_ limit: Int, leavingRoom: Bool = true) throws(JournalError) {
        guard !pending.isEmpty else { return }
        guard isInPlace else {
            // What goes into a file that was deleted is lost; it is written again to the next one.
            indexFailure = .gone
            throw .gone
        }
        let hasRoom = leavingRoom ? try hasRoomInIndex() : true
        guard hasRoom else {
            indexFailure = .diskFull
            throw .diskFull
        }
        let limit = isSmallDisk ? min(limit, Self.portionOnSmallDisk) : limit
        var batch = FoldBatch(tombstones: tombstoneCount, globalIDs: globalIDs)
        do throws(JournalError) {
            try write { db in
                var (records, bytes) = (0, 0)
                for frame in self.pending.frames {
                    for entry in frame.records { try self.apply(entry, of: frame.sequence, to: &batch, db) }
                    batch.frames += 1
                    records += frame.records.count
                    bytes += frame.bytes
                    if records >= limit || bytes >= limit * Self.bytesPerRecord { break }
                }
                try batch.flush(db)
                let sequence = self.pending.frames[batch.frames - 1].sequence
                try StateTable(db: db).store(.counter(.applied, Int64(sequence)))
            }
        } catch {
            indexFailure = error
            guard error == .diskFull else { throw error }
            // The write-ahead log of SQLite takes less once it is empty, and a small portion needs less.
            guard limit > Self.portionOnSmallDisk || !leavingRoom && log?.releaseSpare() == true else { throw error }
            try checkpoint()
            return try foldPortion(Self.portionOnSmallDisk, leavingRoom: leavingRoom)
        }
        indexFailure = nil
        (tombstoneCount, globalIDs) = (batch.tombstones, batch.globalIDs)
        batch.succeeded(through: pending.lastSequence)
        pending.removeFirst(batch.frames)
        try checkpointIfDue(atPages: isSmallDisk ? Self.portionOnSmallDisk : Self.checkpointPages)
    }

    /// Whether the index leaves space on the disk for deletions, or has enough in itself.
    private func hasRoomInIndex() throws(JournalError) -> Bool {
        guard let log else { return true }
        let margin = 2 * log.segmentBytes
        // A little more is needed to go on than to stop.
        let needed = indexFailure == .diskFull ? margin + margin / 8 : margin
        guard let free = disk.freeSpace, free < needed else { return true }
        // The write-ahead log of SQLite may have the rest.
        if unwrittenFrames == nil { try? checkpoint() }
        guard let free = disk.freeSpace, free < needed else { return true }
        let pages = try readIndex { db in try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0 }
        return free + pages * Self.pageSize >= needed
    }

    /// Makes a checkpoint where the write-ahead log of SQLite has grown, or where the log can use a full segment again,
    /// because the index has what is in it.
    ///
    /// - Parameter pages: so many have grown.
    private func checkpointIfDue(atPages pages: Int) throws(JournalError) {
        let isLogFull = log?.oldestFull.map { $0 <= appliedSequence } ?? false
        let written = try pagesWritten()
        guard isLogFull || written >= pages else { return }
        if isCheckpointingPaused {
            // The check may go on as long as there is a segment to write to.
            guard log?.isCrowded == true else { return }
            try resumeCheckpointing(.failed)
        }
        do throws(JournalError) { try checkpoint() } catch {
            // The log keeps what is not in the file of the index. When it is full, the next frame needs a checkpoint.
            guard isUnsynced else { return }
            throw error
        }
    }

    /// The pages that were written to the write-ahead log of SQLite since the last attempt at a checkpoint.
    private func pagesWritten(isAttempt: Bool = false) throws(JournalError) -> Int {
        try readIndex { db in
            var (pages, highest): (CInt, CInt) = (0, 0)
            let reset: CInt = isAttempt ? 1 : 0
            sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, reset)
            return Int(pages)
        }
    }

    /// The last frame that the index has.
    private var appliedSequence: UInt64 {
        pending.frames.first.map { $0.sequence - 1 } ?? log?.lastSequence ?? 0
    }

    /// Writes the write-ahead log of SQLite to the index, and syncs both; the log needs nothing of it any more.
    ///
    /// - Parameter kind: `.passive` leaves the file its size, so that on a full disk there is room in it.
    func checkpoint(_ kind: Database.CheckpointMode = .passive) throws(JournalError) {
        guard let queue, !isCheckpointingPaused, !isReadOnly else { return }
        guard !isUnsynced else { throw indexFailure ?? .inputOutput }
        dropUnwritten()
        _ = try pagesWritten(isAttempt: true)
        do {
            try queue.writeWithoutTransaction { db in
                // Those that were scrubbed may have got copies of deleted rows again.
                if self.nextPage > 1 { self.rewrittenPages.formUnion(try PageScrubber.pagesInLog(db)) }
                let result = try db.checkpoint(kind)
                guard result.checkpointedFrameCount == result.walFrameCount else { throw JournalError.inUse }
            }
        } catch {
            throw giveUp(error)
        }
        log?.release(through: appliedSequence)
    }

    // MARK: Applying

    func apply(
        _ entry: LogRecord, of sequence: UInt64, to batch: inout FoldBatch, _ db: Database
    ) throws {
        let states = StateTable(db: db)
        switch entry.record {
        case .accepted(let event):
            if event.retained { try clearValue(of: event.topic, in: &batch, db) }
            batch.insert(event, pending.event(event.id), number: entry.number)
        case .decided(let id, _):
            guard !batch.hasOutcome(of: id, pending.event(id), as: sequence) else { return }
            let isThere = try batch.change(id, db) { $0.apply(entry) }
            // A start says the highest number, also if it is that of a deleted event.
            if !isThere, let number = entry.number {
                try store(number, as: .lastHole, db)
                numbers.lastHole = max(numbers.lastHole ?? 0, number)
            }
        case .claimed(let id, let claim):
            try batch.change(id, db) { state in
                // An event that was carried over from a damaged index has its claims.
                if sequence > self.carriedThrough || !state.claims.contains(claim) { state.apply(entry) }
            }
        case .named(_, _, let id):
            let hasOutcome = batch.hasOutcome(of: id, pending.event(id), as: sequence)
            try batch.change(id, db) { state in
                let decision = state.event.decision
                state.apply(entry)
                if hasOutcome { state.event.decision = decision }
            }
        case .read(let id, by: _, at: _, from: _):
            try batch.change(id, db) { $0.apply(entry) }
            try insert(entry, db)
        case .late, .start: try insert(entry, db)
        case .quietReplaced, .snoozesReplaced, .digestsReplaced, .bannerUp: try states.store(entry.record)
        case .bannerGone(let number): try states.remove(.banner(number))
        case .allBannersGone: try states.removeAll(.bannerUp)
        case .awaited:
            try states.store(entry.record)
            try store(entry.number ?? 0, as: .lastHole, db)
        case .awaitedGone(let origin): try states.remove(.awaited(origin))
        case .allAwaitedGone: try states.removeAll(.awaited)
        case .removed(let removal, let version):
            try keepLastID(removal.id, db)
            try insert(entry, db)
            if let version {
                try clearValue(of: removal.topic, in: &batch, db)
                try store(Tombstone(topic: removal.topic, version: version, removal: removal.id), to: &batch, db)
            }
            try keepGlobalID(removal.origin, of: removal.id, &batch.globalIDs, db)
        case .tombstone(let tombstone):
            if case .tombstone(let present)? = try? states.value(at: .tombstone(tombstone.topic)),
                present.removal >= tombstone.removal
            {
                return
            }
            try store(tombstone, to: &batch, db)
        // The log never has these.
        case .event, .globalID, .seed, .retention, .counter: break
        }
    }

    /// A topic has no current value any more.
    private func clearValue(of topic: Topic, in batch: inout FoldBatch, _ db: Database) throws {
        // It may be one of this batch.
        try batch.flush(db)
        let ids = try Int64.fetchAll(
            db.cachedStatement(sql: "SELECT id FROM event WHERE is_value = 1 AND topic = ?"),
            arguments: [topic.description])
        for id in ids { try batch.change(EventID(UInt64(bitPattern: id)), db) { $0.isValue = false } }
    }

    /// Takes the place of the topic's earlier one. Those that are too old or too many are deleted from time to time.
    private func store(_ tombstone: Tombstone, to batch: inout FoldBatch, _ db: Database) throws {
        let states = StateTable(db: db)
        if try !states.contains(.tombstone(tombstone.topic)) { batch.tombstones += 1 }
        try states.store(.tombstone(tombstone))
        guard batch.tombstones > limits.removals + limits.removals / 8 else { return }
        let excess = try tombstones(db).prefix(batch.tombstones - limits.removals)
        for tombstone in excess { try states.remove(.tombstone(tombstone.topic)) }
        batch.tombstones -= excess.count
    }

    /// No id is given out twice, also if that of no event is the last one.
    func keepLastID(_ id: EventID, _ db: Database) throws { try store(Self.number(id), as: .lastID, db) }

    /// Keeps a number, unless a higher one is kept.
    func store(_ number: Int64, as counter: Record.Counter, _ db: Database) throws {
        let states = StateTable(db: db)
        guard (try? states.number(counter)) ?? .min < number else { return }
        try states.store(.counter(counter, number))
    }

    /// Keeps the global id of a removal or of a forgotten event, and deletes the oldest if there are too many.
    func keepGlobalID(_ origin: Origin, of id: EventID, _ count: inout Int, _ db: Database) throws {
        guard origin.isGlobalID else { return }
        let states = StateTable(db: db)
        if try !states.contains(.globalID(id)) { count += 1 }
        try states.store(.globalID(NamedPush(origin: Origin(source: origin.source, eventID: origin.eventID), id: id)))
        if count > limits.globalIDs { count -= try states.removeFirst(count - limits.globalIDs, of: .globalID) }
    }

    /// Writes a row of the table `change`.
    func insert(_ entry: LogRecord, _ db: Database) throws {
        var writer = RecordWriter()
        entry.writeSealed(to: &writer)
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO change (number, record) VALUES (?, ?)")
            .execute(arguments: [entry.number, DatabaseValue(blob: writer.bytes)])
    }
}

/// The events of a portion, each written once at its end.
struct FoldBatch {
    /// In the order in which they are written.
    private var states: [EventState] = []
    /// Where they are in `states`.
    private var places: [EventID: Int] = [:]
    /// Inserted events, whose outcome may come from a later frame than those of the portion.
    private var inserted: [EventID: Pending.AcceptedEvent] = [:]
    private var writer = RecordWriter()
    /// The frames that are applied.
    var frames = 0
    var tombstones: Int
    var globalIDs: Int

    init(tombstones: Int, globalIDs: Int) {
        self.tombstones = tombstones
        self.globalIDs = globalIDs
    }

    /// An event with its present outcome, whose record may be in a later frame.
    mutating func insert(_ event: StoredEvent, _ waiting: Pending.AcceptedEvent?, number: Int64?) {
        var state = EventState(event: event, number: number, isValue: event.retained)
        if let waiting {
            state.event.decision = waiting.state.event.decision
            state.decided = waiting.state.decided
            inserted[event.id] = waiting
        }
        // An undecided event may be written again after a failure.
        if let place = places[event.id] { states[place] = state } else { add(state) }
    }

    /// Whether the index has the outcome that a frame tells, or a later one.
    func hasOutcome(of id: EventID, _ waiting: Pending.AcceptedEvent?, as sequence: UInt64) -> Bool {
        inserted[id] != nil || waiting?.indexedThrough.map { $0 >= sequence } ?? false
    }

    /// Changes an event, if there is one: it may have been deleted.
    ///
    /// - Returns: whether there is one.
    @discardableResult
    mutating func change(_ id: EventID, _ db: Database, _ body: (inout EventState) -> Void) throws -> Bool {
        if let place = places[id] {
            body(&states[place])
        } else if var state = try Self.state(of: id, db) {
            body(&state)
            add(state)
        } else {
            return false
        }
        return true
    }

    private mutating func add(_ state: EventState) {
        places[state.event.id] = states.count
        states.append(state)
    }

    private static func state(of id: EventID, _ db: Database) throws -> EventState? {
        let row = try EventState.row(Journal.number(id), db)
        // A damaged row stays what it is.
        return row.flatMap { try? EventState($0) }
    }

    mutating func flush(_ db: Database) throws {
        let insertion = try EventState.insertion(db)
        for state in states { try state.write(by: insertion, &writer) }
        states.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
    }

    /// The portion is written, and the frames after it up to this one were looked at.
    func succeeded(through sequence: UInt64) {
        for event in inserted.values { event.indexedThrough = sequence }
    }
}
