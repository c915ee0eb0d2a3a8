import Journal
import Routing

/// Where the daemon stands with what earlier runs left. There may be a hundred thousand names to be remembered and as many
/// undecided events, and somebody who calls meanwhile: both are read a portion a turn, names first.
///
/// Events are announced again in the order of their ids, and each has its fresh window from its announcement on. One to
/// which somebody refers before that is announced out of turn. Who publishes something that has a name has to wait for all
/// names.
struct Recovery {
    /// Names or events a turn; reading and announcing them takes a few milliseconds.
    private static let portion = 128
    /// The next portion waits while so many messages have not been taken by the bus.
    static let queue = 256

    /// The last name that was read; `nil` when there are no more.
    private var name: NamedPush.Position?
    private var position = EventID(0)
    private let end: EventID
    /// How many are still to come.
    private(set) var remaining: Int
    private(set) var isOver = false

    init(of restoration: Restoration, from storage: Storage, limits: Limits) throws(Refusal) {
        let since = WallClock.now() - limits.repeatMemory.microseconds
        name = try storage.read { journal throws(JournalError) in
            try journal.firstName(since: since, last: limits.rememberedRepeats)
        }
        end = restoration.lastID
        remaining = restoration.remaining ?? 0
    }

    var hasNames: Bool { name != nil }

    /// The next portion of names, or all that are left.
    mutating func names(from storage: Storage, atMost limit: Int = portion) throws(Refusal) -> [NamedPush] {
        guard let name else { return [] }
        let names = try storage.read { journal throws(JournalError) in try journal.named(after: name, limit: limit) }
        self.name = names.count < limit ? nil : names.last?.position
        return names
    }

    /// The next portion of events.
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
