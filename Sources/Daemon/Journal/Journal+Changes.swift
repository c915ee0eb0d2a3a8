import GRDB
import Glibc
public import Routing

/// What `Changes` lists, in the order in which it was committed.
///
/// An event has a number for its acceptance and another one for its present outcome. Events are accepted in the order of their
/// ids, so the numbers of acceptance need no index: a binary search finds the first one above another. What is rare has a row in
/// the table `change`: starts, read marks, removals, and events of a lost file that are written again after later ones.
extension Journal {
    /// A position among the changes.
    public struct ChangePosition: Sendable, Equatable {
        var number: Int64
        /// No event with a lower id has a higher number of acceptance; `nil`: not searched yet.
        fileprivate var event: Int64?

        /// - Parameter number: the number of a change; 0: before all.
        public init(after number: UInt64) { self.number = Int64(clamping: number) }
    }

    /// Some of the changes behind a position, in their order.
    ///
    /// - Parameters:
    ///   - limit: the greatest number of changes.
    ///   - bytes: the limit for their events, in bytes of memory; one event may exceed it.
    /// - Returns: the changes, and the position to continue from; `nil` at the end.
    public func changes(
        after position: ChangePosition, limit: Int, bytes: Int
    ) throws(JournalError) -> (changes: [StoredChange], position: ChangePosition?) {
        guard limit > 0 else { return ([], position) }
        guard let recent = recent?.after(position.number), recent.count <= limit,
            recent.reduce(0, { $0 + $1.memoryCost }) <= bytes, readableQueue != nil
        else {
            let found = try storedChanges(after: position, limit: limit, bytes: bytes)
            // Who reads to the end goes on from there.
            if found.position == nil, isOpen, recent == nil { recent = RecentChanges(after: lastChange) }
            return found
        }
        assert(agrees(recent, after: position))
        return (recent, nil)
    }

    /// Whether a query finds the same.
    private func agrees(_ changes: [StoredChange], after position: ChangePosition) -> Bool {
        guard let stored = try? storedChanges(after: position, limit: changes.count + 1, bytes: .max) else {
            return true
        }
        return stored.changes == changes
    }

    private func storedChanges(
        after position: ChangePosition, limit: Int, bytes: Int
    ) throws(JournalError) -> (changes: [StoredChange], position: ChangePosition?) {
        try read { db in
            var position = position
            let firstEvent = try position.event ?? self.firstEvent(above: position.number, db)
            position.event = firstEvent
            func rows(_ sql: String, _ arguments: StatementArguments) throws -> RowCursor {
                try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
            }
            let accepted = try rows(Self.acceptedQuery, [firstEvent, position.number])
            let decided = try rows(Self.decidedQuery, [position.number])
            let others = try rows(Self.otherQuery, [position.number])
            func nextAccepted() throws -> StoredChange? {
                try next(accepted) { try StoredChange(RowReader($0).number("number"), .event(RowReader($0).event())) }
            }
            func nextDecided() throws -> StoredChange? {
                try next(decided) { try StoredChange(RowReader($0).number("decided"), .outcome(RowReader($0).event())) }
            }
            func nextOther() throws -> StoredChange? {
                while let row = try next(others, { try RowReader($0).change() }) {
                    if let change = try self.change(of: row, db) { return change }
                }
                return nil
            }
            var heads = [try nextAccepted(), try nextDecided(), try nextOther()]
            var changes: [StoredChange] = []
            var size = 0
            while changes.count < limit {
                let first = heads.indices.filter { heads[$0] != nil }.min { heads[$0]!.number < heads[$1]!.number }
                guard let first, let change = heads[first] else {
                    if let last = self.lastHole, last > position.number {
                        changes.append(StoredChange(last, .hole))
                    }
                    return (changes, nil)
                }
                size += change.memoryCost
                guard size <= bytes || changes.isEmpty else { break }
                changes.append(change)
                position.number = Int64(clamping: change.number)
                if first == 0 { position.event = Self.number(change.id) + 1 }
                heads[first] = try first == 0 ? nextAccepted() : first == 1 ? nextDecided() : nextOther()
            }
            return (changes, position)
        }
    }

    static let acceptedQuery = "SELECT * FROM event WHERE id >= ? AND number > ? ORDER BY id"
    static let decidedQuery = "SELECT * FROM event INDEXED BY event_decided WHERE decided > ? ORDER BY decided"
    private static let otherQuery = "SELECT * FROM change WHERE number > ? ORDER BY number"

    /// The event of a row that names one; `nil` if it was deleted.
    private func change(of row: ChangeRow, _ db: Database) throws -> StoredChange? {
        switch row.kind {
        case .removed, .replaced:
            guard let topic = row.topic else { return nil }
            let cause: ValueRemoval.Cause =
                row.kind == .replaced ? .replaced : row.published == nil ? .expired : .publisher
            let removal = StoredRemoval(
                id: row.event, topic: topic, origin: row.origin, published: row.published, removed: row.moment,
                cause: cause)
            return StoredChange(row.number, .removed(removal))
        case .start: return StoredChange(row.number, .start(last: UInt64(clamping: row.published ?? 0)))
        case .accepted, .read:
            let found = try events(db, "SELECT * FROM event WHERE id = ?", [Self.number(row.event)]).first
            guard let found else { return nil }
            return StoredChange(
                row.number,
                row.kind == .accepted
                    ? .event(found)
                    : .read(
                        found, by: row.claimant ?? "", at: row.moment,
                        from: ClaimPlace(device: row.device, via: row.origin.via)))
        }
    }

    /// The id of the first event with a number above another one, or an id above all. Most who ask know nearly everything, so the
    /// search begins at the end, with steps that double.
    private func firstEvent(above number: Int64, _ db: Database) throws -> Int64 {
        let probe = try db.cachedStatement(
            sql: "SELECT id, number FROM event WHERE id >= ? AND number IS NOT NULL ORDER BY id LIMIT 1")
        var low = try Int64.fetchOne(db.cachedStatement(sql: "SELECT min(id) FROM event")) ?? 0
        var high = (try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(id) FROM event")) ?? 0) + 1
        var step: Int64? = 1
        while low < high {
            let middle = step.map { max(low, high - $0) } ?? low + (high - low) / 2
            if let row = try Row.fetchOne(probe, arguments: [middle]), let id: Int64 = row[0], id < high,
                let found: Int64 = row[1], found <= number
            {
                low = id + 1
                step = nil
            } else {
                high = middle
                step = step.map { $0 * 2 }
            }
        }
        return low
    }

    /// Whether an event has a read mark of its own.
    public func isMarkedRead(_ id: EventID) throws(JournalError) -> Bool {
        try read { db in try self.hasReadMark(id, db) }
    }

    private func hasReadMark(_ id: EventID, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM change WHERE event = ? AND kind = ?)")
        return try Bool.fetchOne(statement, arguments: [Self.number(id), ChangeRow.Kind.read.rawValue]) ?? false
    }

    /// An event that was marked as read while it was undecided is read when it becomes muted or expired.
    func withReadMark(_ decision: StoredDecision, of id: EventID, _ db: Database) throws -> StoredDecision {
        guard let marked = decision.markedRead, try hasReadMark(id, db) else { return decision }
        return marked
    }

    // MARK: Numbers

    /// The number of the next change.
    func takeChangeNumber() -> Int64 {
        lastChange += 1
        return lastChange
    }

    /// Numbers go on above those in the file and above the time, so that they grow also after an older copy of the file was put
    /// in its place.
    func loadChanges(_ db: Database) throws {
        newestID = try Int64.fetchOne(db, sql: "SELECT max(id) FROM event") ?? 0
        let last = try [
            "SELECT number FROM event WHERE number IS NOT NULL ORDER BY id DESC LIMIT 1",
            "SELECT max(decided) FROM event INDEXED BY event_decided WHERE decided IS NOT NULL",
            "SELECT max(number) FROM change",
        ].compactMap { try Int64.fetchOne(db, sql: $0) }
        let lastRow = try Row.fetchOne(db, sql: "SELECT * FROM change_last")
        let kept = lastRow.flatMap { try? RowReader($0).changeNumber("last") }
        if lastRow != nil, kept == nil { damagedRows += 1 }
        // A damaged number may be so high that none is left above it.
        lastHole = kept.flatMap { $0 < 1 << 62 ? $0 : nil }
        lastChangeInFile = (last + [kept ?? 0]).filter { $0 < 1 << 62 }.max() ?? 0
        lastChange = max(lastChange, realtime(), lastChangeInFile)
        let row = try Row.fetchOne(db, sql: "SELECT * FROM change_start")
        let start = row.flatMap { try? RowReader($0).changeNumber("oldest") }
        if row != nil, start == nil { damagedRows += 1 }
        oldestNumber = start
    }

    /// The highest number that was given out.
    public var newestChange: UInt64 { UInt64(clamping: lastChange) }

    /// The first change that is complete: what was accepted before it may have been deleted because of its age.
    public var oldestChange: UInt64 { UInt64(oldestNumber ?? lastChange + 1) }

    func setOldestChange(_ number: Int64, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO change_start (number, oldest, checksum) VALUES (1, ?, ?)")
            .execute(arguments: [number, Self.checksum(of: number)])
        try db.cachedStatement(sql: "DELETE FROM change WHERE number < ?").execute(arguments: [number])
        oldestNumber = number
    }

    /// Keeps the highest number: before events are deleted that may have it, and when it was given to what has no row.
    func keepLastChange(_ db: Database) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO change_last (number, last, checksum) VALUES (1, ?, ?)")
            .execute(arguments: [lastChange, Self.checksum(of: lastChange)])
        lastHole = lastChange
    }

    /// Writes the row `start`, if it is due.
    func noteStart(_ db: Database) throws {
        guard isStartDue else { return }
        try insert(
            ChangeRow(
                number: takeChangeNumber(), kind: .start, event: EventID(0), moment: realtime(),
                published: lastChangeInFile), db)
    }

    fileprivate static func checksum(of number: Int64) -> Int64 {
        var sum = Checksum()
        sum.add(number)
        return sum.value
    }

    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    // MARK: Rows

    func insert(_ row: ChangeRow, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO change (number, kind, event, topic, claimant, moment, published, source, source_id, via,
                    device, checksum)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: [
                row.number, row.kind.rawValue, Self.number(row.event), row.topic?.description, row.claimant,
                row.moment, row.published, row.origin.source, row.origin.eventID, row.origin.via, row.device,
                row.checksum,
            ])
    }

    /// A read mark of an event that keeps its outcome.
    ///
    /// - Parameter reader: empty if unknown.
    func noteRead(
        _ id: EventID, by reader: String, at moment: Int64, from place: ClaimPlace = ClaimPlace(), _ db: Database
    ) throws {
        try insert(
            ChangeRow(
                number: takeChangeNumber(), kind: .read, event: id, claimant: reader, moment: moment,
                origin: Origin(via: place.via), device: place.device), db)
    }

    func deleteReadMarks(of id: EventID, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM change WHERE event = ? AND kind = ?",
            arguments: [Self.number(id), ChangeRow.Kind.read.rawValue])
    }

    /// An event that was accepted after one with a higher id.
    func noteLate(_ event: StoredEvent, _ db: Database) throws {
        try insert(
            ChangeRow(number: takeChangeNumber(), kind: .accepted, event: event.id, moment: event.accepted), db)
    }
}

/// A row of the table `change`.
package struct ChangeRow: Sendable, Equatable {
    enum Kind: Int64, CaseIterable {
        case accepted = 1
        case read = 2
        case removed = 3
        case start = 4
        /// A removal with the cause `replaced`.
        case replaced = 5
    }

    var number: Int64
    var kind: Kind
    /// The event, or the removal itself.
    var event: EventID
    /// The topic of a removal.
    var topic: Topic?
    var claimant: String?
    /// Microseconds since the epoch.
    var moment: Int64
    /// When a removal was published; `nil`: the lifetime of the value ended. Of a start: the highest number before it.
    var published: Int64?
    var origin = Origin()
    /// Where a read mark was made. Its line is the `via` of the origin.
    var device: String?

    var checksum: Int64 {
        var sum = Checksum()
        for number in [number, kind.rawValue, Int64(bitPattern: event.rawValue), moment] {
            sum.add(number)
        }
        sum.add(published)
        for text in [topic?.description, claimant, origin.source, origin.eventID, origin.via] { sum.add(text) }
        // Rows of earlier versions do not have this column.
        if let device { sum.add(device) }
        return sum.value
    }
}

extension RowReader {
    /// A number that is alone in its row.
    fileprivate func changeNumber(_ column: String) throws -> Int64 {
        let value = try number(column)
        guard Journal.checksum(of: value) == (try number("checksum")) else { throw Damaged() }
        return value
    }

    func change() throws -> ChangeRow {
        guard let kind = ChangeRow.Kind(rawValue: try number("kind")) else { throw Damaged() }
        let row = ChangeRow(
            number: try number("number"), kind: kind, event: try id("event"),
            topic: try optionalText("topic").map { try Topic($0) }, claimant: try optionalText("claimant"),
            moment: try number("moment"), published: try optionalNumber("published"),
            origin: Origin(
                source: try optionalText("source"), eventID: try optionalText("source_id"), via: try optionalText("via")
            ), device: try optionalText("device"))
        guard row.checksum == (try number("checksum")) else { throw Damaged() }
        return row
    }
}
