import GRDB
public import Routing

/// Deletes old events. Their ages come from a clock of the journal's own.
extension Journal {
    /// Advances the journal's clock. Ages refer to the last reading.
    public func advance(to reading: ClockReading) {
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

    /// Whether it is time to delete old events again.
    public var isRetentionDue: Bool { clock.age - (expiredAt ?? .min / 2) >= RetentionMarks.spacing }

    /// The least age of an event.
    public func age(of id: EventID) -> Duration {
        .microseconds(clock.age - (marks.age(of: Self.number(id)) ?? clock.age))
    }

    /// The newest id that certainly has this age; 0 if there is none.
    func newestID(olderThan span: Duration) -> Int64 {
        marks.newestID(notAfter: clock.age - span.microseconds)
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
        let newest = newestID(olderThan: span)
        let step = min(step, deletedEventsAtOnce)
        let deleted = try write { db in
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
                return bytes >= deletedBytesAtOnce
            }
            let ids = rows.prefix(end.map { $0 + 1 } ?? rows.count).map { $0[0] as Int64 }
            if !ids.isEmpty { try self.keepLastChange(db) }
            var last: Int64 = 0
            for id in ids {
                let number = try Int64.fetchOne(
                    db.cachedStatement(sql: "DELETE FROM event WHERE id = ? RETURNING number"), arguments: [id])
                last = max(last, number ?? 0)
                try db.cachedStatement(sql: "DELETE FROM claim WHERE event = ?").execute(arguments: [id])
            }
            if last >= self.oldestNumber ?? 0 { try self.setOldestChange(last + 1, db) }
            self.count -= ids.count
            return (count: ids.count, isOver: isOver && ids.count == rows.count)
        }
        guard deleted.isOver else { return deleted }
        expiredAt = clock.age
        marks.prune(notAfter: clock.age - max(span, limits.removalTime).microseconds)
        if clock.state.isAbsenceCounted, marks.isDue(at: clock.age) {
            let newest = try read { db in try Int64.fetchOne(db, sql: "SELECT max(id) FROM event") ?? 0 }
            marks.add(.init(id: newest, age: clock.age))
        }
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
        "SELECT id, \(bytesOfRow) FROM event WHERE outcome <> 0 AND id NOT IN (SELECT event FROM value) AND id < \(bound)"
    }

    // MARK: Over a restart

    /// Stores the clock, the marks and the number of events.
    func saveRetention() throws(JournalError) {
        let state = clock.state
        try write { db in
            let last = try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(id) FROM event")) ?? 0
            var row = try FastStatement(
                db,
                """
                INSERT OR REPLACE INTO retention
                    (number, age, uptime, boot, lead, absence_counted, events, last, checksum)
                VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
            row.bind(state.age)
            row.bind(state.uptime)
            row.bind(state.boot)
            row.bind(state.lead)
            row.bind(state.isAbsenceCounted ? 1 : 0)
            row.bind(Int64(self.count))
            row.bind(last)
            row.bind(state.checksum(events: Int64(self.count), last: last))
            try row.run()
            let known = Set(try Int64.fetchAll(db.cachedStatement(sql: "SELECT id FROM retention_mark")))
            for id in known.subtracting(self.marks.marks.map(\.id)) {
                try db.execute(sql: "DELETE FROM retention_mark WHERE id = ?", arguments: [id])
            }
            for mark in self.marks.marks where !known.contains(mark.id) {
                try db.execute(
                    sql: "INSERT INTO retention_mark (id, age, checksum) VALUES (?, ?, ?)",
                    arguments: [mark.id, mark.age, mark.checksum])
            }
        }
        isRetentionSaved = true
    }

    /// Loads them. Damaged rows are left out, and events then stay longer.
    ///
    /// - Returns: the number of events, if it is known without counting all rows.
    func loadRetention(_ db: Database) throws -> Int? {
        let rows = try Row.fetchAll(db, sql: "SELECT * FROM retention_mark")
        let marks = rows.compactMap { try? RowReader($0).retentionMark() }
        damagedRows += UInt64(rows.count - marks.count)
        let row = try Row.fetchOne(db, sql: "SELECT * FROM retention")
        let kept = row.flatMap { try? RowReader($0).retention() }
        if row != nil, kept == nil { damagedRows += 1 }
        self.marks = RetentionMarks(marks)
        clock = RetentionClock(kept?.state ?? .init(age: self.marks.marks.last?.age ?? 0))
        guard let kept else { return nil }
        let sql = "SELECT count(*) FROM event WHERE id > ?"
        return Int(kept.events) + (try Int.fetchOne(db, sql: sql, arguments: [kept.last]) ?? 0)
    }
}

extension RetentionClock.State {
    func checksum(events: Int64, last: Int64) -> Int64 {
        var sum = Checksum()
        for number in [age, uptime, lead, isAbsenceCounted ? 1 : 0, events, last] { sum.add(number) }
        sum.add(boot)
        return sum.value
    }
}

extension RetentionMarks.Mark {
    var checksum: Int64 {
        var sum = Checksum()
        sum.add(id)
        sum.add(age)
        return sum.value
    }
}

extension RowReader {
    func retention() throws -> (state: RetentionClock.State, events: Int64, last: Int64) {
        let state = RetentionClock.State(
            age: try number("age"), uptime: try number("uptime"), boot: try text("boot"),
            lead: try optionalNumber("lead"), isAbsenceCounted: try number("absence_counted") != 0)
        let events = try number("events")
        let last = try number("last")
        guard state.checksum(events: events, last: last) == (try number("checksum")) else { throw Damaged() }
        return (state, events, last)
    }

    func retentionMark() throws -> RetentionMarks.Mark {
        let mark = RetentionMarks.Mark(id: try number("id"), age: try number("age"))
        guard mark.checksum == (try number("checksum")) else { throw Damaged() }
        return mark
    }
}
