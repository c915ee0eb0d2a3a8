public import NotifyText

/// Restores the state of an earlier run. Undecided events are announced again with a new window.
extension Router {
    mutating func restore(_ restoration: Restoration, at now: Now) {
        events.restoring(last: restoration.lastID, remaining: restoration.remaining)
        restoreNames(restoration, at: now)
        quietPeriods.restore(restoration, limits: limits, at: now.uptime, timers: &timers)
        for claim in restoration.awaited {
            names.restore(claim, at: now.uptime, timers: &timers, output: &output)
        }
        for snoozed in restoration.snoozes { restore(snoozed, at: now) }
        for banner in restoration.banners { restore(banner, at: now) }
        for value in restoration.values {
            let (topic, version, bytes) = value.subject
            names.setValue(version, of: topic, bytes: bytes, until: now.uptime + value.left, timers: &timers)
        }
        for tombstone in restoration.tombstones where tombstone.left > .zero {
            names.remember(tombstone.subject, for: tombstone.left, at: now.uptime)
        }
        for remembered in restoration.undecided {
            let (event, window, age) = remembered.subject
            guard remembered.left > .zero else {
                output.statistics[.expired] += 1
                var resolution = Resolution(.expired)
                resolution.isReplayed = true
                resolution.isOfEarlierBoot = age == nil
                output.append(.resolve(event.id, event.topic, resolution))
                if event.collapse != nil { endSuccession(of: event) }
                continue
            }
            let expires = now.uptime + remembered.left
            if let claim = names.awaitedClaim(of: event.id, event.origin) {
                // The run that took it in ended before it could keep more of it.
                announce(event, claimedBefore: claim, expires: expires, age: age, isReplayed: true)
                names.endAwait(of: claim, for: event.id, output: &output)
                if event.collapse != nil { endSuccession(of: event) }
            } else if let claim = screens.standingClaim(on: event.topic) {
                announce(event, claimed: claim, expires: expires, age: age, isReplayed: true)
                if event.collapse != nil { endSuccession(of: event) }
            } else {
                let length = max(window, restoration.minimumWindow)
                let isOver = openWindow(
                    for: event, length: length, expires: expires, age: age, isReplayed: true, at: now)
                guard isOver else { continue }
                endWindow(event.key, at: now)
                sendBanners(at: now)
            }
        }
        if events.unrestored == 0 { endLostSuccessions() }
    }

    /// An event that a restored banner was kept for is decided.
    private mutating func endSuccession(of event: Event) {
        if banners[event.key]?.successor == event.id { endSuccession(in: event.key) }
    }

    /// The banners that are still kept for events which do not come any more.
    private mutating func endLostSuccessions() {
        for key in banners.takeRestoredSuccessions() {
            guard let successor = banners[key]?.successor, events[successor]?.window != key else { continue }
            endSuccession(in: key)
        }
    }

    /// Restores a banner without events. It is kept for an undecided event that takes the place of its last one, and
    /// closed otherwise: any other replayed event has a new window, and then its own banner.
    private mutating func restoreEmpty(_ banner: RestoredBanner) {
        guard let successor = banner.successor, banners[successor.key] == nil else { return close(banner.id) }
        banners.restoreEmpty(banner.id, of: successor.key, first: banner.first, for: successor.id)
    }

    /// Restores a banner.
    mutating func restore(_ banner: RestoredBanner, at now: Now) {
        guard banners.keys[banner.id] == nil else { return }
        let shown = banner.events.filter { events[$0.event.id] == nil }
        guard let newest = shown.last?.event else { return restoreEmpty(banner) }
        let bytes = shown.reduce(0) { $0 + $1.event.memoryCost }
        guard events.hasRoom(for: shown.count, bytes: bytes, limits: limits) else {
            return banners.forgetNumber(banner.id)
        }
        let key = freeKey(banner.isSummary ? .summary : newest.key, named: banner.first)
        banners.setNumber(banner.id, of: key, first: banner.first)
        for shown in shown.reversed() {
            banners.show(shown.event.id, in: key)
            keep(shown.event, age: shown.age, in: .shown(key, banner.id), at: now)
            // Events shown in this run are younger.
            events.keepRetractable(shown.event, isOldest: true)
        }
    }

    /// A key for a restored banner: its own, or that of its first event if this run has a banner of the same key.
    private func freeKey(_ key: CoalescingKey, named first: EventID) -> CoalescingKey {
        banners[key] == nil ? key : .eventNumbered(CoalescingKey.Number(first))
    }

    /// Takes in a shown event. The times of its window are not needed: they are recorded already.
    mutating func keep(_ event: Event, age: Duration?, in place: TrackedEvent.Place, at now: Now) {
        keep(TrackedEvent(event, in: place, age: age, at: now))
    }

    /// Takes a shown event into memory again, because it is claimed, withdrawn, snoozed or replaced. Whoever keeps it
    /// there adds it to those that a late claim can retract.
    mutating func recall(_ cold: ColdEvent, at now: Now) {
        let event = cold.event
        guard events[event.id] == nil, case .shown(var banner, let isShared) = cold.state else { return }
        // Other events keep it up, unless it is one that this run updates.
        if isShared, let up = banner, !remembers(up.id, startingWith: up.first) { banner = nil }
        var place = TrackedEvent.Place.gone(banner?.id)
        if let banner, let key = banners.keys[banner.id], remembers(banner.id, startingWith: banner.first) {
            // Newer events are behind the banner too. It is updated for what becomes of this one.
            banners.show(event.id, in: key)
            place = .shown(key, banner.id)
        } else if let banner, banners.keys[banner.id] == nil {
            let key = freeKey(banner.isSummary ? .summary : event.key, named: banner.first)
            banners.setNumber(banner.id, of: key, first: banner.first)
            banners.show(event.id, in: key)
            place = .shown(key, banner.id)
        }
        keep(event, age: cold.age, in: place, at: now)
    }

    /// Whether a banner is up that this run remembers.
    ///
    /// - Parameters:
    ///   - banner: the number that the server has given it. Servers use numbers again.
    ///   - first: the first event that it showed.
    public func remembers(_ banner: BannerID, startingWith first: EventID) -> Bool {
        banners.keys[banner].map { banners[existing: $0].first == first } ?? false
    }

    /// Drops decided events. A banner that shows nothing else is closed.
    mutating func forget(_ ids: [EventID], awaited: Bool, at now: Now) {
        if awaited {
            names.awaited.removeAll()
            output.append(.changed(.awaited))
        }
        for id in ids {
            guard events[id]?.isUndecided == false, let key = removeFromPlace(id).banner else { continue }
            if let banner = banners.emptyBanner(key) { close(banner) }
            banners.removeIfUnused(key)
        }
        sendBanners(at: now)
    }
}

/// The state of an earlier run of the daemon.
public struct Restoration: Sendable {
    /// Something with a time after which it is forgotten.
    public struct Remembered<Subject: Sendable>: Sendable {
        /// What was kept.
        public let subject: Subject
        /// What is left of its time; negative if it is over.
        public let left: Duration

        public init(_ subject: Subject, left: Duration) {
            self.subject = subject
            self.left = left
        }
    }

    /// An undecided event, the length of its window, and how long ago it was accepted; `nil` in an earlier boot.
    public typealias Undecided = (event: Event, window: Duration, age: Duration?)

    /// Undecided events in the order of their ids; all of them or a portion.
    public var undecided: [Remembered<Undecided>] = []
    /// How many more there are in later portions; `nil`: this portion has no undecided events.
    public var remaining: Int?
    /// The current values of topics with their memory costs.
    public var values: [Remembered<(topic: Topic, version: ValueVersion, bytes: Int)>] = []
    /// Removals of values, in the order of their ids.
    public var tombstones: [Remembered<Tombstone>] = []
    /// A pause or a mute, and what is left of it; `nil`: until it is lifted.
    public typealias Quiet = (topic: TopicPrefix, cause: Routing.Quiet.Cause, left: Duration?)

    /// The pause and the mutes.
    public var quiet: [Quiet] = []
    /// The schedules that were lifted; those that are still on stay lifted.
    public var liftedSchedules: [ActiveSchedule.Period] = []
    /// The periods of schedules that owe a digest.
    public var digests: [OwedDigest] = []
    /// Snoozed events, and what is left of their snoozes.
    public var snoozes: [Remembered<RestoredBanner.Shown>] = []
    /// Claims of events that had not come, and what is left of their times.
    public var awaited: [Remembered<NamedClaim>] = []
    /// The origins of recent events, in the order of their ids.
    public var origins: [Remembered<(origin: Origin, id: EventID)>] = []
    /// Banners that are still up on the same server; newest first, all or a portion.
    public var banners: [RestoredBanner] = []
    /// The shortest window of a replayed event, so that screens can come back and claim.
    public var minimumWindow: Duration = .seconds(2)

    /// The highest id of earlier runs: ids grow even if the clock was set back and the journal is found late.
    public var lastID = EventID(0)

    public init() {}
}

/// A banner that an earlier run left up.
public struct RestoredBanner: Sendable {
    /// A shown event, with the route that its topic has in the current configuration, and how long ago it was accepted;
    /// `nil` for an event of an earlier boot.
    public typealias Shown = (event: Event, age: Duration?)

    /// The server's number.
    public let id: BannerID
    /// The first event that it showed; it identifies the banner.
    public let first: EventID
    /// Whether it is the summary of events beyond the rate limit.
    public let isSummary: Bool
    /// In the order of their ids; empty where all have another outcome.
    public let events: [Shown]
    /// If there are none: the undecided event that takes the place of one of them.
    public let successor: Event?

    public init(_ id: BannerID, first: EventID, isSummary: Bool, events: [Shown], successor: Event? = nil) {
        self.id = id
        self.first = first
        self.isSummary = isSummary
        self.events = events
        self.successor = successor
    }
}
