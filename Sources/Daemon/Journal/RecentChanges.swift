import DequeModule
import Routing

/// The last changes, in memory: who follows the journal reads a change as soon as it is committed, and needs no query for it.
///
/// It holds what a query would find, without a gap up to the end. Everything that this type does not know ends it, and it begins
/// again with the next commit.
struct RecentChanges {
    /// The greatest number of changes, and about how many bytes they may take.
    private static let limit = 64
    private static let bytesLimit = 128 << 10

    /// Every change with a higher number is here.
    private var start: Int64
    private var changes: Deque<StoredChange> = []
    private var bytes = 0

    /// - Parameter number: of the last change.
    init(after number: Int64) { start = number }

    /// The changes above a number; `nil` if they are not all here.
    func after(_ number: Int64) -> [StoredChange]? {
        guard number >= start else { return nil }
        let later = changes.reversed().prefix { $0.number > UInt64(clamping: number) }
        return later.reversed()
    }

    /// An event that was accepted or decided lately, with its present outcome.
    func event(_ id: EventID) -> StoredEvent? { changes.last { $0.id == id }?.event }

    mutating func accepted(_ event: StoredEvent, number: Int64) {
        append(StoredChange(number, .event(event)))
    }

    /// An event has another outcome. An event has one row for its outcome: the one before it is gone.
    mutating func decided(_ id: EventID, _ decision: StoredDecision, number: Int64) {
        guard var event = event(id) else { return end(at: number) }
        event.decision = decision
        changes.removeAll { change in
            guard case .outcome(let decided) = change.content, decided.id == id else { return false }
            bytes -= change.memoryCost
            return true
        }
        for index in changes.indices where changes[index].id == id {
            if case .event = changes[index].content { changes[index].content = .event(event) }
        }
        append(StoredChange(number, .outcome(event)))
    }

    /// Something else was written, up to this number.
    mutating func end(at number: Int64) { self = RecentChanges(after: number) }

    private mutating func append(_ change: StoredChange) {
        changes.append(change)
        bytes += change.memoryCost
        while changes.count > Self.limit || bytes > Self.bytesLimit, let first = changes.popFirst() {
            bytes -= first.memoryCost
            start = Int64(clamping: first.number)
        }
    }
}

extension StoredChange {
    /// The event that was accepted or decided.
    fileprivate var event: StoredEvent? {
        switch content {
        case .event(let event), .outcome(let event): event
        case .read, .removed, .start, .deleted: nil
        }
    }
}
