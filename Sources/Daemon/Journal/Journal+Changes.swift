import GRDB
import Routing

/// What `Changes` lists, in the order in which it was committed.
///
/// An event has a number for its acceptance and another one for its present outcome. Events are accepted in the order
/// of their ids, so the numbers of acceptance need no index: a binary search finds the first one above another. What is
/// rare has a row in the table `change`: starts, read marks, removals, and events of a lost file that are written again
/// after later ones.
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
            recent.reduce(0, { $0 + $1.memoryCost }) <= bytes, isReadable
        else {
            let found = try storedChanges(after: position, limit: limit, bytes: bytes)
            // Who reads to the end goes on from there.
            if found.position == nil, isOpen, recent == nil { recent = RecentChanges(after: numbers.last) }
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
                try next(accepted) { try StoredChange($0.number("number"), .event(EventState($0).event)) }
            }
            func nextDecided() throws -> StoredChange? {
                try next(decided) { try StoredChange($0.number("decided"), .outcome(EventState($0).event)) }
            }
            func nextOther() throws -> StoredChange? {
                while let row = try next(others, { try ChangeRow($0) }) {
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
                    if let last = self.numbers.lastHole, last > position.number {
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

    /// The id of the first event with a number above another one, or an id above all. Most who ask know nearly
    /// everything, so the search begins at the end, with steps that double.
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

    /// The highest number that was given out.
    public var newestChange: UInt64 { UInt64(clamping: numbers.last) }

    /// The first change that is complete: what was accepted before it may have been deleted because of its age.
    public var oldestChange: UInt64 { UInt64(numbers.oldest ?? numbers.last + 1) }

    func setOldestChange(_ number: Int64, _ db: Database) throws {
        try StateTable(db: db).put(.number(number), at: .oldestChange)
        try db.cachedStatement(sql: "DELETE FROM change WHERE number < ?").execute(arguments: [number])
        numbers.oldest = number
    }

    /// Keeps the highest number before events are deleted that may have it.
    func keepLastChange(_ db: Database) throws {
        try keepHole(numbers.last, db)
        numbers.lastHole = numbers.last
    }

    /// Keeps the number of a change that has no row, unless a higher one is kept.
    func keepHole(_ number: Int64, _ db: Database) throws {
        let states = StateTable(db: db)
        if case .number(let last)? = try? states.value(at: .lastHole), last >= number, last < 1 << 62 { return }
        try states.put(.number(number), at: .lastHole)
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
}

extension ChangeRow {
    /// - Throws: `Damaged` if the row is not what was written.
    init(_ row: Row) throws {
        guard case .change(let change) = try StateValue(stored: row.bytes("record")),
            try change.number == row.number("number")
        else { throw Damaged() }
        self = change
    }
}
