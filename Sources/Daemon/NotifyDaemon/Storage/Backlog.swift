import DequeModule
import Journal
import Routing

/// Outcomes and other entries that could not be written to the journal: transaction by transaction, the oldest first.
struct Backlog {
    /// Entries in memory: enough for all undecided and shown events.
    private static let limit = 130_000

    private var transactions = Deque<[Record]>()
    /// The number of entries.
    private(set) var count = 0
    /// The number of the oldest entry. Later ones have the next numbers.
    private var first = 0
    /// The newest decision of each event, and the number of its entry.
    private var newest: [EventID: (number: Int, decision: StoredDecision)] = [:]
    /// The events with a read mark.
    private(set) var read: Set<EventID> = []

    var isEmpty: Bool { count == 0 }
    /// All entries.
    var entries: FlattenSequence<Deque<[Record]>> { transactions.joined() }
    /// The events with a decision.
    var decided: Dictionary<EventID, (number: Int, decision: StoredDecision)>.Keys { newest.keys }

    /// The newest decision of an event.
    func decision(of id: EventID) -> StoredDecision? { newest[id]?.decision }

    /// Adds the entries of a transaction.
    ///
    /// - Returns: how many there is no room for.
    mutating func append(_ transaction: [Record]) -> Int {
        let kept = Array(transaction.prefix(max(0, Self.limit - count)))
        for case (let offset, .decided(let id, let decision)) in kept.enumerated() {
            newest[id] = (first + count + offset, decision)
        }
        for case .read(let id, _, _, _) in kept { read.insert(id) }
        if !kept.isEmpty { transactions.append(kept) }
        count += kept.count
        return transaction.count - kept.count
    }

    /// The oldest transactions that have so many entries together at most, but one of them in any case.
    ///
    /// - Returns: their entries, and how many transactions they are.
    func oldest(upTo limit: Int) -> (entries: [Record], transactions: Int) {
        var entries: [Record] = []
        var number = 0
        for transaction in transactions {
            guard number == 0 || entries.count + transaction.count <= limit else { break }
            entries += transaction
            number += 1
        }
        return (entries, number)
    }

    /// Removes the oldest transactions, which have been written.
    mutating func removeOldest(_ number: Int) {
        for transaction in transactions.prefix(number) {
            for entry in transaction {
                if case .decided(let id, _) = entry, newest[id]?.number == first { newest[id] = nil }
                if case .read(let id, _, _, _) = entry { read.remove(id) }
                first += 1
            }
            count -= transaction.count
        }
        transactions.removeFirst(number)
    }

    /// Drops the outcomes, claims and marks of events.
    mutating func drop(_ ids: Set<EventID>) {
        guard !ids.isEmpty, entries.contains(where: { $0.isAbout(ids) }) else { return }
        let before = transactions
        self = Backlog()
        for transaction in before { _ = append(transaction.filter { !$0.isAbout(ids) }) }
    }
}

extension Record {
    /// Whether it is an outcome, a claim or a mark of one of these events.
    fileprivate func isAbout(_ ids: Set<EventID>) -> Bool {
        switch self {
        case .decided(let id, _), .claimed(let id, _), .read(let id, by: _, at: _, from: _): ids.contains(id)
        default: false
        }
    }
}
