import Journal
import Routing

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
        do throws(Refusal) {
            var restoration = try daemon.restoration()
            banners = try leftUp(in: daemon)[...]
            (lastGlobalID, ids) = try daemon.storage.read { journal in
                (try journal.firstName(last: daemon.limits.globalIDs), try journal.undecidedIDs()[...])
            }
            restoration.remaining = ids.count
            daemon.server.inherit(bannerIDs)
            restoration.banners = try banners(in: daemon).banners
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
        let restoration =
            if hasBanners {
                try banners(in: daemon)
            } else if hasGlobalIDs {
                try globalIDs(in: daemon, atMost: portion)
            } else {
                try events(in: daemon)
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

    /// The banners that earlier runs left up. Those of another server are deleted.
    private func leftUp(in daemon: Daemon) throws(Refusal) -> [StoredBanner] {
        let (storage, server) = (daemon.storage, daemon.server.identity)
        let banners = try storage.read { try $0.banners() }
        let void = banners.filter { $0.server != server }
        if void.count == banners.count {
            if !void.isEmpty { storage.append(.allBannersGone) }
            return []
        }
        // This run has shown the others while the journal could not be read.
        for banner in void { storage.append(.bannerGone(banner.number)) }
        return banners.filter { $0.server == server }
    }

    /// The next banners with their events: a batch, or all that are left. If one cannot be read, all are left.
    func banners(in daemon: Daemon, all: Bool = false) throws(Refusal) -> Restoration {
        let clock = daemon.clock
        var restoration = Restoration()
        var size = 0
        for banner in banners {
            guard all || size < portion else { break }
            let restored = try daemon.storage.read { journal in
                let events = try journal.shown(in: banner, limit: .max)
                let successor = events.isEmpty ? try Self.successor(of: banner, in: journal) : nil
                return RestoredBanner(
                    BannerID(banner.number), first: banner.first, isSummary: banner.isSummary,
                    events: events.map { (event: daemon.routed($0), age: clock.age(of: $0)) },
                    successor: successor.map(daemon.routed))
            }
            restoration.banners.append(restored)
            size += max(1, restored.events.count)
        }
        banners = banners.dropFirst(restoration.banners.count)
        return restoration
    }

    /// The undecided event that takes the place of the first one of a banner.
    private static func successor(
        of banner: StoredBanner, in journal: Journal
    ) throws(JournalError) -> StoredEvent? {
        guard let first = try journal.event(banner.first), first.decision?.outcome == .replaced,
            let collapse = first.collapse,
            let latest = try journal.replaceable(CollapseKey(topic: first.topic, text: collapse))
        else { return nil }
        return latest.decision == nil ? latest : nil
    }

    /// Called when the server that showed them is gone.
    func forgetBanners() { banners = [] }

    /// Called when a banner that is not loaded yet is gone.
    func forgetBanner(_ id: BannerID) { banners.removeAll { $0.number == id.rawValue } }

    /// The next global ids, so that duplicates are recognised.
    func globalIDs(in daemon: Daemon, atMost limit: Int) throws(Refusal) -> Restoration {
        guard let lastGlobalID else { return Restoration() }
        daemon.storage.journal.advance(to: daemon.clock.reading)
        var restoration = Restoration()
        restoration.origins = try daemon.storage.read { journal in
            try journal.named(after: lastGlobalID, limit: limit).map {
                let left = daemon.limits.deduplicationTime - journal.age(of: $0.id)
                return Restoration.Remembered((origin: $0.origin, id: $0.id), left: left)
            }
        }
        self.lastGlobalID = restoration.origins.count < limit ? nil : restoration.origins.last?.subject.id
        return restoration
    }

    private func events(in daemon: Daemon) throws(Refusal) -> Restoration {
        let next = ids.prefix(portion)
        var restoration = daemon.restoration(
            of: try daemon.storage.read { try $0.undecided(next) })
        ids = ids.dropFirst(portion)
        outOfTurn.subtract(next)
        restoration.remaining = remaining
        return restoration
    }

    /// Filters events that are announced early because a call refers to them. An event that was announced and decided
    /// in this run may still be undecided on disk.
    func takeOutOfTurn(_ events: [StoredEvent]) -> [StoredEvent] {
        let awaited = events.filter { isToCome($0.id) }
        outOfTurn.formUnion(awaited.map(\.id))
        return awaited
    }

    private func isToCome(_ id: EventID) -> Bool {
        guard !outOfTurn.contains(id) else { return false }
        let index = ids.position(of: id)
        return index < ids.endIndex && ids[index] == id
    }
}
