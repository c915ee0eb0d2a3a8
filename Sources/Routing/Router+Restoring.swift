import DequeModule

/// What an earlier run of the daemon left behind.
public struct Restoration: Sendable {
    /// An event without an outcome, or one that is remembered to recognise a repeat.
    public struct Remembered<Subject: Sendable>: Sendable {
        /// What is remembered.
        public let subject: Subject
        /// What is left of its time; negative when it is over.
        public let left: Duration

        public init(_ subject: Subject, left: Duration) {
            self.subject = subject
            self.left = left
        }
    }

    /// Undecided events with the lengths of their windows, in the order of their ids; all of them or a portion.
    public var undecided: [Remembered<(event: Event, window: Duration)>] = []
    /// How many more there are, in portions to come; `nil` where this is about something else.
    public var remaining: Int?
    /// The current values of topics, and what they cost to keep.
    public var values: [Remembered<(topic: Topic, id: EventID, bytes: Int)>] = []
    /// A pause or a mute, and what is left of it; `nil` where it has no end.
    public typealias Quiet = (topic: TopicPrefix, cause: Routing.Quiet.Cause, left: Duration?)

    /// What held banners back.
    public var quiet: [Quiet] = []
    /// The origins of recent events, in the order of their ids.
    public var origins: [Remembered<(origin: Origin, id: EventID)>] = []
    /// Banners that an earlier run left up, with the server that showed them still there; newest first, all or a portion.
    public var banners: [RestoredBanner] = []
    /// The shortest window of an event that is announced again, so that screens can come back and claim.
    public var minimumWindow: Duration = .seconds(2)

    /// The highest id that was given out: ids grow even where the clock was set back and the journal is found late.
    public var lastID = EventID(0)

    public init() {}
}

/// Going on where an earlier run stopped: what is undecided is announced again, with a fresh window.
extension Router {
    mutating func restore(_ restoration: Restoration, at now: Now) {
        nextID = max(nextID, EventID(restoration.lastID.rawValue + 1))
        unrestored = restoration.remaining ?? unrestored
        for origin in restoration.origins {
            repeats.remember(origin.subject.origin, as: origin.subject.id, at: now.uptime, for: origin.left)
        }
        restoreQuiet(restoration.quiet, at: now)
        for banner in restoration.banners { restore(banner, at: now) }
        for value in restoration.values {
            let (topic, id, bytes) = value.subject
            keepValue(id, of: topic, bytes: bytes, until: now.uptime + value.left)
        }
        for remembered in restoration.undecided {
            let (event, window) = remembered.subject
            guard remembered.left > .zero else {
                statistics.count(.expired)
                var resolution = Resolution(.expired)
                resolution.isReplayed = true
                effects.append(.resolve(event.id, event.topic, resolution))
                continue
            }
            let expires = now.uptime + remembered.left
            if let claim = standingClaim(on: event.topic) {
                announce(event, claimed: claim, expires: expires, isReplayed: true)
            } else {
                let length = max(window, restoration.minimumWindow)
                open(event, length: length, expires: expires, isReplayed: true, at: now)
            }
        }
    }

    /// Takes a banner up again. One that has nothing left behind it is closed: an event that was to join it has a fresh
    /// window, and then a banner of its own.
    private mutating func restore(_ banner: RestoredBanner, at now: Now) {
        guard bannerKeys[banner.id] == nil else { return }
        let shown = banner.events.filter { events[$0.event.id] == nil }
        guard let newest = shown.last?.event else { return close(banner.id) }
        let bytes = shown.reduce(0) { $0 + $1.event.footprint }
        guard retractable.count + shown.count <= limits.retractableEvents,
            retractableBytes + bytes <= limits.retractableBytes
        else {
            hasUnknownBanners = true
            return
        }
        let key = freeKey(banner.isSummary ? .summary : newest.key, named: banner.first)
        putUp(banner.id, at: key, first: banner.first)
        for shown in shown.reversed() {
            banners[key]!.shown.insert(shown.event.id)
            keep(shown.event, age: shown.age, in: .shown(key, banner.id), at: now)
            // What this run has shown is younger.
            retractable.prepend((shown.event.id, shown.event.footprint))
        }
        retractableBytes += bytes
    }

    /// A newer banner of the same key says nothing about an older one, which is closed by itself.
    private func freeKey(_ key: CoalescingKey, named first: EventID) -> CoalescingKey {
        banners[key] == nil ? key : .event(first)
    }

    private mutating func putUp(_ id: BannerID, at key: CoalescingKey, first: EventID) {
        if banners[key] == nil {
            lastSerial += 1
            banners[key] = Banner(serial: lastSerial)
        }
        banners[key]!.id = id
        banners[key]!.first = first
        bannerKeys[id] = key
    }

    /// When its window was is written already.
    private mutating func keep(_ event: Event, age: Duration, in place: OpenEvent.Place, at now: Now) {
        let accepted = Instant(microseconds: now.instant.microseconds - age.microseconds)
        events[event.id] = OpenEvent(
            event: event, accepted: accepted, expires: now.uptime, place: place, opened: accepted, deadline: accepted)
    }

    /// Takes a shown event into memory again, because somebody claims it.
    mutating func recall(_ event: Event, age: Duration, banner: BannerID?, at now: Now) {
        guard events[event.id] == nil else { return }
        var place = OpenEvent.Place.gone(banner)
        if let banner, bannerKeys[banner] == nil {
            let key = freeKey(event.key, named: event.id)
            putUp(banner, at: key, first: event.id)
            banners[key]!.shown.insert(event.id)
            place = .shown(key, banner)
        }
        keep(event, age: age, in: place, at: now)
        remember(event.id)
    }

    /// The window may have ended in the turn in which the event came: then it is already on its way to the server.
    private mutating func withdraw(_ id: EventID, at now: Now) {
        guard let open = events[id], open.isUndecided else { return }
        dropHold(id)
        forgetQuestions(about: id)
        forgetUndecided(open)
        events[id] = nil
        switch open.place {
        case .window(let key):
            windows[key]!.claim(id)
            closeIfOver(key, at: now)
        case .waiting(let key):
            stopWaiting(id, in: key)
        case .carried(let key):
            banners[key]!.carried.remove(id)
        case .held, .shown, .gone:
            break
        }
    }

    /// Takes back events that could not be kept, as if they had never been published.
    mutating func withdraw(_ ids: [EventID], at now: Now) {
        for id in ids { withdraw(id, at: now) }
        repeats.forget(ids)
        for (topic, value) in values where ids.contains(value.id) { dropValue(of: topic) }
        sendBanners(at: now)
    }
}
