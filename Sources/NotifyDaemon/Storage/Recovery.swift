import Journal
import Routing

/// Where the daemon stands with what earlier runs left. There may be a hundred thousand names to be remembered and as many
/// undecided events, and somebody who calls meanwhile: both are read a portion a turn, names first.
///
/// Banners that are up come before both, and the first portion of them before any call. Claims of what may be in the others
/// wait for all of them.
///
/// Events are announced again in the order of their ids, and each has its fresh window from its announcement on. One to
/// which somebody refers before that is announced out of turn. Who publishes something that has a name has to wait for all
/// names.
struct Recovery {
    /// Names or events a turn; reading and announcing them takes a few milliseconds.
    static let usualPortion = 128
    /// The next portion waits while so many messages have not been taken by the bus.
    static let queue: UInt64 = 256

    private let portion: Int
    /// The banners that are still to be taken up again, newest first.
    private var banners: ArraySlice<StoredBanner>
    /// The last name that was read; `nil` when there are no more.
    private var name: EventID?
    /// The undecided events that are still to come, some of which may have been announced out of turn.
    private var ids: ArraySlice<EventID>
    /// Those of them.
    private var outOfTurn: Set<EventID> = []

    /// How many names and events have been read.
    private var count = 0

    /// - Parameters:
    ///   - server: the present notification server, as the journal names it.
    ///   - portion: how many names or events are read a turn.
    init(from storage: Storage, server: String?, limits: Limits, portion: Int) throws(Refusal) {
        self.portion = portion
        banners = try storage.bannersLeftUp(by: server)[...]
        let found = try storage.read { journal throws(JournalError) in
            (
                name: try journal.firstName(last: limits.rememberedRepeats),
                undecided: try journal.undecidedIDs()
            )
        }
        name = found.name
        ids = found.undecided[...]
    }

    var hasNames: Bool { name != nil }
    var hasBanners: Bool { !banners.isEmpty }
    var isOver: Bool { !hasBanners && !hasNames && ids.isEmpty }
    /// Whether reading has taken so many turns that it leaves a lot of free memory behind.
    var isLong: Bool { count > 8 * portion }
    /// How many events are still to come.
    var remaining: Int { ids.count - outOfTurn.count }

    /// The next banners with what is shown in them: a portion of events, or all that are left.
    mutating func banners(
        from storage: Storage, all: Bool = false
    ) throws(Refusal) -> [(banner: StoredBanner, events: [StoredEvent])] {
        var found: [(banner: StoredBanner, events: [StoredEvent])] = []
        var size = 0
        while let banner = banners.first, all || size < portion {
            let events = try storage.read { journal throws(JournalError) in try journal.shown(in: banner, limit: .max) }
            found.append((banner, events))
            size += max(1, events.count)
            banners.removeFirst()
        }
        count += size
        return found
    }

    /// The server that showed them is gone.
    mutating func forgetBanners() {
        banners = []
    }

    /// The next portion of names, or all that are left.
    mutating func names(from storage: Storage, atMost limit: Int? = nil) throws(Refusal) -> [NamedPush] {
        guard let name else { return [] }
        let limit = limit ?? portion
        let names = try storage.read { journal throws(JournalError) in try journal.named(after: name, limit: limit) }
        count += names.count
        self.name = names.count < limit ? nil : names.last?.id
        return names
    }

    /// The next portion of events.
    mutating func events(from storage: Storage) throws(Refusal) -> [StoredEvent] {
        let next = ids.prefix(portion)
        let events = try storage.read { [outOfTurn] journal throws(JournalError) in
            try journal.undecided(next.filter { !outOfTurn.contains($0) })
        }
        count += next.count
        ids = ids.dropFirst(portion)
        outOfTurn.subtract(next)
        return events
    }

    /// Events that are announced now because somebody refers to them; those of them that have not been.
    mutating func take(_ events: [StoredEvent], except isKnown: (EventID) -> Bool) -> [StoredEvent] {
        let unknown = events.filter { !isKnown($0.id) }
        outOfTurn.formUnion(unknown.map(\.id))
        return unknown
    }
}
