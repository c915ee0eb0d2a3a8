import DequeModule
import Routing

/// The last changes, in memory: who follows the journal reads a change as soon as it is committed, and needs no query
/// for it.
///
/// It holds what a query would find, without a gap up to the end. Everything that this type does not know ends it, and
/// it begins again with the next commit.
struct RecentChanges {
    /// The greatest number of changes, and about how many bytes they may take.
    private static let limit = 64
    private static let bytesLimit = 128 << 10

    /// An event with its present outcome. The changes of an event share it.
    private final class Known {
        var event: StoredEvent

        init(_ event: StoredEvent) { self.event = event }
    }

    private struct Row {
        var number: Int64
        var id: EventID
        var isOutcome: Bool
        /// In bytes.
        var cost: Int
        var known: Known

        var change: StoredChange { StoredChange(number, isOutcome ? .outcome(known.event) : .event(known.event)) }
    }

    /// Every change with a higher number is here.
    private var start: Int64
    private var rows: Deque<Row> = []
    private var bytes = 0

    /// - Parameter number: of the last change.
    init(after number: Int64) { start = number }

    /// The changes above a number; `nil` if they are not all here.
    func after(_ number: Int64) -> [StoredChange]? {
        guard number >= start else { return nil }
        let later = rows.reversed().prefix { $0.number > number }
        return later.reversed().map(\.change)
    }

    /// An event that was accepted or decided lately, with its present outcome.
    func event(_ id: EventID) -> StoredEvent? { rows.last { $0.id == id }?.known.event }

    mutating func accepted(_ event: StoredEvent, number: Int64) {
        let cost = StoredChange(number, .event(event)).memoryCost
        append(Row(number: number, id: event.id, isOutcome: false, cost: cost, known: Known(event)))
    }

    /// An event has another outcome. An event has one row for its outcome: the one before it is gone.
    mutating func decided(_ id: EventID, _ decision: StoredDecision, number: Int64) {
        guard let known = rows.last(where: { $0.id == id })?.known else { return end(at: number) }
        if known.event.decision != nil, let index = rows.firstIndex(where: { $0.id == id && $0.isOutcome }) {
            bytes -= rows.remove(at: index).cost
        }
        known.event.decision = decision
        let cost = StoredChange(number, .outcome(known.event)).memoryCost
        append(Row(number: number, id: id, isOutcome: true, cost: cost, known: known))
    }

    /// Something else was written, up to this number.
    mutating func end(at number: Int64) { self = RecentChanges(after: number) }

    private mutating func append(_ row: Row) {
        rows.append(row)
        bytes += row.cost
        while rows.count > Self.limit || bytes > Self.bytesLimit, let first = rows.popFirst() {
            bytes -= first.cost
            start = first.number
        }
    }
}
