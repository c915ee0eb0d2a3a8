import GRDB
import GRDBSQLite
public import Routing

/// Deletes old events. Their ages come from a clock of the journal's own.
extension Journal {
    /// Advances the journal's clock. Ages refer to the last reading.
    public func advance(to reading: ClockReading) { retention.advance(to: reading) }

    /// Whether it is time to delete old events again.
    public var isRetentionDue: Bool { retention.isDue }

    /// The least age of an event.
    public func age(of id: EventID) -> Duration { retention.age(of: Self.number(id)) }

    /// How much a transaction deletes, in bytes of records: with `secure_delete` they are all written once more.
    static let deletedBytesAtOnce = 1 << 20

    /// How much a transaction deletes at most, of events and of bytes: some five pages for each event must find room on
    /// the disk, or in the spare segment.
    func deletionLimits() -> (events: Int, bytes: Int) {
        let room = max(log?.segmentBytes ?? 0, disk.freeSpace ?? .max) / 8
        return (max(4, room / (5 * Self.pageSize)), min(room, Self.deletedBytesAtOnce))
    }

    /// Has the write-ahead log of SQLite contain room for a deletion, so that old events can make room also where
    /// another program has filled the disk.
    func keepRoomForDeletion() {
        let events = max(4, (log?.segmentBytes ?? 0) / 8 / (5 * Self.pageSize))
        let room = events * 5 * (Self.pageSize + 24)
        try? readIndex { db in
            guard let log = DatabaseFile(SQLITE_FCNTL_JOURNAL_POINTER, db.sqliteConnection) else { return }
            let size = try log.size()
            // SQLite takes what is behind its frames for what is left of earlier use.
            if size < room { try log.write([UInt8](repeating: 0, count: room - size)[...], at: size) }
        }
    }

    /// Deletes events. On a full disk that gets the space of the spare segment, and leaves it free.
    ///
    /// - Parameter before: what is to be written with it.
    func delete(_ ids: [Int64], _ before: (Database) throws -> Void) throws(JournalError) {
        guard !ids.isEmpty else { return }
        hasRemains = true
        func transaction(_ db: Database) throws {
            try keepLastChange(db)
            try before(db)
            let deletion = try db.cachedStatement(sql: "DELETE FROM event WHERE id = ?")
            for id in ids { try deletion.execute(arguments: [id]) }
        }
        var isTight = indexFailure == .diskFull || isSmallDisk
        do throws(JournalError) {
            if isTight { try checkpoint() }
            try write(transaction)
        } catch .diskFull {
            isTight = true
            _ = log?.releaseSpare()
            try checkpoint()
            try write(transaction)
        }
        count -= ids.count
        retention.isDirty = true
        if isTight { try checkpoint() }
    }

    /// Deletes a few of the oldest decided events beyond the limits. A step takes a short time only.
    ///
    /// - Parameters:
    ///   - span: the greatest age of events.
    ///   - count: the greatest number of events.
    ///   - step: the greatest number of events to delete. Of large events fewer are deleted.
    /// - Returns: the number of deleted events, and whether none is left to delete.
    public func expire(
        olderThan span: Duration, keeping count: Int, step: Int = 200
    ) throws(JournalError) -> (count: Int, isOver: Bool) {
        let newest = retention.newestID(olderThan: span)
        let isDue = isRetentionDue
        if isDue || self.count > count || newest > 0 || indexFailure != nil {
            // The index must have everything first. To fill it at once would hold calls up.
            if indexFailure == nil, pending.count > Self.portionInIdleTime {
                try foldPortion(Self.portionInIdleTime)
                return (0, false)
            }
            // What does not fit into the index may do so when old events are gone.
            try? fold()
        }
        let limits = deletionLimits()
        let step = min(step, limits.events)
        // Only what is in the file can be deleted.
        dropUnwritten()
        let found = try readIndex { db in
            var rows = try Row.fetchAll(db.cachedStatement(sql: Self.tooOldQuery), arguments: [newest, step])
            let excess = min(self.count - rows.count - count, step - rows.count)
            if excess > 0 {
                let old = Set(rows.map { $0[0] as Int64 })
                let oldest = try Row.fetchAll(
                    db.cachedStatement(sql: Self.oldestQuery), arguments: [excess + old.count])
                rows += oldest.filter { !old.contains($0[0]) }.prefix(excess)
            }
            let isOver = rows.count < step
            var bytes = 0
            let end = rows.firstIndex { row in
                bytes += row[1] ?? 0
                return bytes >= limits.bytes
            }
            let chosen = rows.prefix(end.map { $0 + 1 } ?? rows.count)
            let last = chosen.compactMap { $0[2] as Int64? }.max() ?? 0
            return (ids: chosen.map { $0[0] as Int64 }, last: last, isOver: isOver && chosen.count == rows.count)
        }
        try delete(found.ids) { db in
            if found.last >= self.numbers.oldest ?? 0 { try self.setOldestChange(found.last + 1, db) }
        }
        let deleted = (count: found.ids.count, isOver: found.isOver)
        guard found.isOver else { return deleted }
        retention.expired(keeping: max(span, self.limits.removalTime), newest: newestID)
        if isDue { try deleteOldNames() }
        try saveRetention()
        return deleted
    }

    static var tooOldQuery: String {
        "\(deletable(below: "min(?1 + 1, (SELECT max(id) FROM event))")) ORDER BY id LIMIT ?2"
    }

    static var oldestQuery: String {
        "\(deletable(below: "(SELECT max(id) FROM event)")) ORDER BY id LIMIT ?"
    }

    /// Undecided events, current values and the event with the highest id stay, whatever their age.
    ///
    /// - Parameter bound: one expression, because SQLite uses an index for one of two bounds only.
    private static func deletable(below bound: String) -> String {
        "SELECT id, length(record), number FROM event WHERE outcome <> 0 AND is_value = 0 AND id < \(bound)"
    }

    /// Deletes global ids of removals, and removals, that nothing is compared with any more.
    private func deleteOldNames() throws(JournalError) {
        let named = retention.newestID(olderThan: limits.deduplicationTime)
        let removed = retention.newestID(olderThan: limits.removalTime)
        try write { db in
            let states = StateTable(db: db)
            let old = try records(.globalID, db).prefix { record in
                if case .globalID(let push) = record { Self.number(push.id) <= named } else { true }
            }
            self.globalIDs -= try states.removeFirst(old.count, of: .globalID)
            for tombstone in try tombstones(db) where Self.number(tombstone.removal) <= removed {
                try states.remove(.tombstone(tombstone.topic))
                self.tombstoneCount -= 1
            }
        }
    }

    /// Stores the clock, the marks and the number of events.
    func saveRetention() throws(JournalError) {
        try write { db in
            let last = try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(id) FROM event")) ?? 0
            // Those that wait are counted when they come.
            let events = self.count - self.pending.unindexedCount
            try StateTable(db: db).store(
                .retention(retention.clock.state, retention.marks.marks, events: Int64(events), last: last))
        }
        retention.isDirty = false
    }
}

/// The clock for the ages of events, and the events that were the newest at some of them.
struct RetentionState {
    private(set) var clock = RetentionClock()
    private(set) var marks = RetentionMarks()
    /// The last event that this process has written.
    private var lastAccepted: Int64 = 0
    /// The event that was the last one at the latest reading of the clocks.
    private var lastRead: RetentionMarks.Mark?
    /// The age of the journal when old events were last deleted.
    private var expiredAt: Int64?
    /// Whether the index has something else.
    var isDirty = false

    init() {}

    /// - Parameter newest: the last event when the clock was stored. It is at least as old as that.
    init(clock: RetentionClock.State, marks: [RetentionMarks.Mark], newest: Int64) {
        self.clock = RetentionClock(clock)
        self.marks = RetentionMarks(marks)
        if clock.isAbsenceCounted, self.marks.isDue(at: clock.age) {
            self.marks.add(.init(id: newest, age: clock.age))
        }
    }

    mutating func accepted(_ id: Int64) {
        lastAccepted = max(lastAccepted, id)
        isDirty = true
    }

    mutating func advance(to reading: ClockReading) {
        // Ids begin at the wall clock's time and never go back.
        clock.advance(to: reading, notBefore: marks.marks.last?.id ?? .min)
        // Until the time between the boots counts, events of both boots would have the same age.
        guard clock.state.isAbsenceCounted else {
            lastRead = nil
            return
        }
        guard lastAccepted > lastRead?.id ?? 0 else { return }
        // Events before a month without events are a month old.
        if let lastRead, marks.isDue(at: clock.age) { marks.add(lastRead) }
        lastRead = .init(id: lastAccepted, age: clock.age)
    }

    var isDue: Bool { clock.age - (expiredAt ?? .min / 2) >= RetentionMarks.spacing }

    func age(of id: Int64) -> Duration { .microseconds(clock.age - (marks.age(of: id) ?? clock.age)) }

    /// The newest id that certainly has this age; 0 if there is none.
    func newestID(olderThan span: Duration) -> Int64 { marks.newestID(notAfter: clock.age - span.microseconds) }

    /// Old events were deleted.
    mutating func expired(keeping span: Duration, newest: Int64) {
        expiredAt = clock.age
        marks.prune(notAfter: clock.age - span.microseconds)
        if clock.state.isAbsenceCounted, marks.isDue(at: clock.age) { marks.add(.init(id: newest, age: clock.age)) }
    }
}
