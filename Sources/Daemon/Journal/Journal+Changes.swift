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
        // Who follows the journal reads a change as soon as it is committed.
        if isReadable, numbers.lastHole ?? 0 <= position.number, let changes = pending.changes(after: position.number),
            changes.count <= limit, changes.reduce(0, { $0 + $1.memoryCost }) <= bytes
        {
            return (changes, nil)
        }
        return try storedChanges(after: position, limit: limit, bytes: bytes)
    }

    func storedChanges(
        after position: ChangePosition, limit: Int, bytes: Int
    ) throws(JournalError) -> (changes: [StoredChange], position: ChangePosition?) {
        try read { db in
            var position = position
            let firstEvent = try position.event ?? self.firstEvent(above: position.number, db)
            position.event = firstEvent
            let accepted = try rows(db, Self.acceptedQuery, [firstEvent, position.number])
            let decided = try rows(db, Self.decidedQuery, [position.number])
            let others = try rows(db, Self.otherQuery, [position.number])
            func nextAccepted() throws -> StoredChange? {
                try next(accepted) { try StoredChange($0.number("number"), .event(EventState($0).event)) }
            }
            func nextDecided() throws -> StoredChange? {
                try next(decided) { try StoredChange($0.number("decided"), .outcome(EventState($0).event)) }
            }
            func nextOther() throws -> StoredChange? {
                while let row = try next(others, { try LogRecord(change: $0) }) {
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

    /// The change that a row tells; `nil` if its event was deleted.
    private func change(of entry: LogRecord, _ db: Database) throws -> StoredChange? {
        func event(_ id: EventID) throws -> StoredEvent? {
            try events(db, "SELECT * FROM event WHERE id = ?", [Self.number(id)]).first
        }
        let content: StoredChange.Content? =
            switch entry.record {
            case .removed(let removal, leaving: _): .removed(removal)
            case .start(let last, at: _): .start(last: last)
            case .late(let id): try event(id).map { .event($0) }
            case .read(let id, let claimant, let moment, let place):
                try event(id).map { .read($0, by: claimant, at: moment, from: place) }
            default: nil
            }
        return content.map { StoredChange(entry.number ?? 0, $0) }
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
        try StateTable(db: db).store(.counter(.oldestChange, number))
        try db.cachedStatement(sql: "DELETE FROM change WHERE number < ?").execute(arguments: [number])
        numbers.oldest = number
    }

    /// Keeps the highest number before events are deleted that may have it.
    func keepLastChange(_ db: Database) throws {
        try store(numbers.last, as: .lastHole, db)
        numbers.lastHole = numbers.last
    }
}
