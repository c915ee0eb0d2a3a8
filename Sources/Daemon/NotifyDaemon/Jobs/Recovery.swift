import Journal
import Routing

/// A banner that an earlier run left up.
struct BannerLeftUp {
    let banner: StoredBanner
    /// Those that it shows.
    let events: [StoredEvent]
    /// The undecided event that takes the place of its first one, if it shows none.
    let successor: StoredEvent?
}

/// Reads what earlier runs left. There may be 100,000 global ids and as many undecided events. They are read in
/// batches, one per turn, global ids first.
///
/// Banners that are up are read before both, and their first batch before any call. A claim that may concern another
/// banner reads all of them first, and so does a message of the notification server about one that is not loaded yet.
///
/// Events are announced again in the order of their ids, each with a new window. An event that a call refers to is
/// announced early. Publishing with an event-id waits until earlier event-ids are loaded.
final class Recovery: Job {
    /// Global ids or events per turn; reading and announcing them takes a few milliseconds.
    static let usualPortion = 128

    private let portion: Int
    /// Whether the journal has been read for the first time.
    private(set) var isRestored = false
    /// Whether something may be left to read.
    private(set) var isUnderWay = false
    /// The banners that are not loaded yet, newest first.
    private var banners: ArraySlice<StoredBanner> = []
    /// The event of the last global id that was read; `nil` when all are read.
    private var lastGlobalID: EventID?
    /// The undecided events that are not loaded yet, except those announced early.
    private var ids: ArraySlice<EventID> = []
    /// Events announced early.
    private var outOfTurn: Set<EventID> = []

    /// - Parameter portion: global ids or events per turn.
    init(portion: Int) { self.portion = portion }

    var hasGlobalIDs: Bool { lastGlobalID != nil }
    var hasBanners: Bool { !banners.isEmpty }
    /// Events that are not loaded yet; `nil` while it is not under way.
    var remaining: Int? { isUnderWay ? ids.count - outOfTurn.count : nil }

    /// The numbers of the banners that are not loaded yet.
    var bannerIDs: [BannerID] { banners.map { BannerID($0.number) } }

    /// Whether this banner is not loaded yet.
    func awaits(_ id: BannerID) -> Bool { banners.contains { $0.number == id.rawValue } }

    /// Loads the state of earlier runs, once the journal can be read.
    func begin(in daemon: Daemon) {
        guard !isRestored else { return }
        let (storage, server, clock) = (daemon.storage, daemon.server, daemon.clock)
        do throws(Refusal) {
            var restoration = try storage.restoration(daemon.limits, at: clock)
            banners = try storage.bannersLeftUp(by: server.identity)[...]
            (lastGlobalID, ids) = try storage.read { journal throws(JournalError) in
                (try journal.firstName(last: daemon.limits.globalIDs), try journal.undecidedIDs()[...])
            }
            restoration.remaining = ids.count
            restoration.snoozes = try storage.restoredSnoozes(routes: daemon.configuration.routes, at: clock)
            restoration.awaited = try storage.restoredAwaited(at: clock) { daemon.router.name(of: $0) }
            server.inherit(bannerIDs)
            restoration.banners = daemon.restoration(of: try banners(from: storage)).banners
            (isRestored, isUnderWay) = (true, true)
            daemon.handle(.restored(restoration))
            daemon.host.endTurnWhenIdle()
        } catch {
            // `Degraded` names the error, and the journal is tried again.
            (banners, lastGlobalID, ids) = ([], nil, [])
        }
    }

    var needsBus: Bool { isUnderWay }

    func step(in daemon: Daemon, at clock: WallClock) throws(Refusal) -> Duration? {
        guard isUnderWay else { return nil }
        let restoration: Restoration
        if hasBanners {
            restoration = daemon.restoration(of: try banners(from: daemon.storage))
        } else if hasGlobalIDs {
            restoration = daemon.restoration(of: try globalIDs(from: daemon.storage))
        } else {
            restoration = daemon.restoration(of: try events(from: daemon.storage))
        }
        isUnderWay = hasBanners || hasGlobalIDs || !ids.isEmpty
        if !isUnderWay {
            // Much of what the start needs is not needed again. Recovered events need memory until their windows have
            // ended.
            let isNothingRecovered = daemon.router.undecidedCount == 0
            daemon.jobs.memory.request(
                at: daemon.host.now.instant
                    + (isNothingRecovered ? .milliseconds(500) : daemon.configuration.recoveryWindow + .seconds(1)))
        }
        daemon.handle(.restored(restoration))
        return .zero
    }

    // MARK: Portions

    /// The next banners with their events: a batch, or all that are left. If one cannot be read, all are left.
    func banners(from storage: Storage, all: Bool = false) throws(Refusal) -> [BannerLeftUp] {
        var found: [BannerLeftUp] = []
        var size = 0
        for banner in banners {
            guard all || size < portion else { break }
            let events = try storage.read { journal throws(JournalError) in try journal.shown(in: banner, limit: .max) }
            let successor = events.isEmpty ? try storage.successor(of: banner) : nil
            found.append(BannerLeftUp(banner: banner, events: events, successor: successor))
            size += max(1, events.count)
        }
        banners = banners.dropFirst(found.count)
        return found
    }

    /// Called when the server that showed them is gone.
    func forgetBanners() { banners = [] }

    /// Called when a banner that is not loaded yet is gone.
    func forgetBanner(_ id: BannerID) { banners.removeAll { $0.number == id.rawValue } }

    /// The next batch of global ids, or all that are left.
    func globalIDs(from storage: Storage, atMost limit: Int? = nil) throws(Refusal) -> [NamedPush] {
        guard let lastGlobalID else { return [] }
        let limit = limit ?? portion
        let names = try storage.read { journal throws(JournalError) in
            try journal.named(after: lastGlobalID, limit: limit)
        }
        self.lastGlobalID = names.count < limit ? nil : names.last?.id
        return names
    }

    func events(from storage: Storage) throws(Refusal) -> [StoredEvent] {
        let next = ids.prefix(portion)
        let events = try storage.read { [outOfTurn] journal throws(JournalError) in
            try journal.undecided(next.filter { !outOfTurn.contains($0) })
        }
        ids = ids.dropFirst(portion)
        outOfTurn.subtract(next)
        return events
    }

    /// Filters events that are announced early because a call refers to them. An event that was announced and decided
    /// in this run may still be undecided on disk.
    func take(_ events: [StoredEvent]) -> [StoredEvent] {
        let awaited = events.filter { isToCome($0.id) }
        outOfTurn.formUnion(awaited.map(\.id))
        return awaited
    }

    private func isToCome(_ id: EventID) -> Bool {
        guard !outOfTurn.contains(id) else { return false }
        var (low, high) = (ids.startIndex, ids.endIndex)
        while low < high {
            let middle = (low + high) / 2
            if ids[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low < ids.endIndex && ids[low] == id
    }
}
