import Journal
import Routing

/// Where the daemon stands with what earlier runs left undecided. There may be a hundred thousand events, and somebody who
/// calls meanwhile: they are announced again a portion a turn, in the order of their ids, and each has its fresh window
/// from its announcement on. An event to which somebody refers before that is announced out of turn.
struct Recovery {
    /// Events a turn; reading and announcing them takes a few milliseconds.
    private static let portion = 128
    /// The next portion waits while so many messages have not been taken by the bus.
    static let queue = 256

    private var position = EventID(0)
    private let end: EventID
    /// How many are still to come.
    private(set) var remaining: Int
    private(set) var isOver = false

    init(of restoration: Restoration) {
        end = restoration.lastID
        remaining = restoration.remaining ?? 0
    }

    /// The next portion.
    ///
    /// - Parameter isKnown: whether an event has been announced out of turn.
    mutating func next(
        from storage: Storage, except isKnown: (EventID) -> Bool
    ) throws(Refusal) -> [StoredEvent] {
        let events = try storage.read { [position, end] journal throws(JournalError) in
            try journal.undecided(after: position, through: end, limit: Self.portion)
        }
        position = events.last?.id ?? end
        isOver = events.count < Self.portion
        let unknown = events.filter { !isKnown($0.id) }
        // A damaged event is among those that were counted, and never comes.
        if isOver { remaining = 0 } else { take(unknown.count) }
        return unknown
    }

    /// What is still to come at or below a topic, out of turn.
    mutating func rest(
        _ topic: TopicPrefix, from storage: Storage, except isKnown: (EventID) -> Bool
    ) throws(Refusal) -> [StoredEvent] {
        let events = try storage.read { [position, end] journal throws(JournalError) in
            try journal.undecided(topic, after: position, through: end)
        }.filter { !isKnown($0.id) }
        take(events.count)
        return events
    }

    /// So many have been announced.
    mutating func take(_ count: Int) {
        remaining = max(0, remaining - count)
    }
}
