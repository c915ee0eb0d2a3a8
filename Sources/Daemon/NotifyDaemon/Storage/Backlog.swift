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
    /// The newest decision of each event. Until all is written, it is here also when it is in the journal.
    private var newest: [EventID: StoredDecision] = [:]
    /// The events with a read mark, likewise.
    private(set) var read: Set<EventID> = []

    var isEmpty: Bool { count == 0 }
    /// All entries.
    var entries: FlattenSequence<Deque<[Record]>> { transactions.joined() }
    /// The events with a decision.
    var decided: Set<EventID> { Set(entries.compactMap { if case .decided(let id, _) = $0 { id } else { nil } }) }

    /// The newest decision of an event.
    func decision(of id: EventID) -> StoredDecision? { newest[id] }

    /// Adds the entries of a transaction.
    ///
    /// - Returns: how many there is no room for.
    mutating func append(_ transaction: [Record]) -> Int {
        let kept = Array(transaction.prefix(max(0, Self.limit - count)))
        for case .decided(let id, let decision) in kept { newest[id] = decision }
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
        for transaction in transactions.prefix(number) { count -= transaction.count }
        transactions.removeFirst(number)
        if isEmpty { self = Backlog() }
    }
}
