import Journal
import Routing

/// Reads the state of earlier runs for the router.
extension Storage {
    /// The id of the next event. It is at least the time, so that it is above all earlier ids even without a journal,
    /// and above all ids in the journal, in case the clock was set back.
    ///
    /// - Parameter wall: microseconds since the epoch.
    func firstID(at wall: Int64) -> EventID {
        let known = (try? read { journal throws(JournalError) in try journal.lastID() }) ?? EventID(0)
        return EventID(max(UInt64(wall), known.rawValue + 1))
    }

    /// The state that is needed before the first publish. Global ids and undecided events follow in batches.
    func restoration(_ limits: Limits, at clock: WallClock) throws(Refusal) -> Restoration {
        journal?.advance(to: clock.reading)
        var restoration = try restoredValues(limits, at: clock)
        let quiet = try read { journal throws(JournalError) in try journal.quiet() }
        restoration.quiet = quiet.filter { $0.cause != .schedule }.map {
            (topic: $0.topic, cause: $0.cause, left: $0.end.map { clock.left($0) })
        }
        restoration.liftedSchedules = quiet.compactMap { quiet in
            quiet.began.map { ActiveSchedule.Period(quiet.topic, began: $0) }
        }
        restoration.digests = try read { journal throws(JournalError) in try journal.digests() }
        restoration.lastID = try read { journal throws(JournalError) in try journal.lastID() }
        return restoration
    }

    /// The snoozed events. One that has another outcome by now was snoozed by a run that could not write its end.
    func restoredSnoozes(
        routes: RouteTable, at clock: WallClock
    ) throws(Refusal) -> [Restoration.Remembered<RestoredBanner.Shown>] {
        try read { journal throws(JournalError) in
            var restored: [Restoration.Remembered<RestoredBanner.Shown>] = []
            for snooze in try journal.snoozes() {
                guard let event = try journal.event(snooze.event),
                    let decision = event.decision,
                    decision.outcome == .shown || decision.outcome == .muted && !decision.isRead
                else { continue }
                restored.append(
                    Restoration.Remembered(
                        RestoredBanner.Shown(self.event(event, routes: routes), age: clock.age(of: event)),
                        left: clock.left(snooze.end)))
            }
            return restored
        }
    }

    /// The claims of events that had not come.
    ///
    /// - Parameter name: the name of an event with this source and event-id.
    func restoredAwaited(
        at clock: WallClock, name: (Origin) -> EventName
    ) throws(Refusal) -> [Restoration.Remembered<NamedClaim>] {
        try read { journal throws(JournalError) in try journal.awaited() }.map { stored in
            Restoration.Remembered(
                NamedClaim(
                    name: name(stored.origin), origin: stored.origin, kind: stored.kind, claimant: stored.claimant,
                    place: stored.place, identity: stored.identity, program: stored.program),
                left: clock.left(stored.end))
        }
    }

    /// Global ids, so that duplicates are recognised.
    func restoration(of names: [NamedPush], limits: Limits, at clock: WallClock) -> Restoration {
        journal?.advance(to: clock.reading)
        var restoration = Restoration()
        restoration.origins = names.map {
            let age = journal?.age(of: $0.id) ?? .zero
            return Restoration.Remembered((origin: $0.origin, id: $0.id), left: limits.deduplicationTime - age)
        }
        return restoration
    }

    /// Undecided events of an earlier run.
    func restoration(
        of undecided: [StoredEvent], routes: RouteTable, minimumWindow: Duration, at clock: WallClock
    ) -> Restoration {
        var restoration = Restoration()
        restoration.minimumWindow = minimumWindow
        restoration.undecided = undecided.map {
            Restoration.Remembered(
                (event: event($0, routes: routes), window: .microseconds($0.window), age: clock.age(of: $0)),
                left: clock.left($0.expires))
        }
        return restoration
    }

    /// The current values in the journal, and removals. In memory, an event that could not be stored may have replaced
    /// a value.
    func restoredValues(_ limits: Limits, at clock: WallClock) throws(Refusal) -> Restoration {
        var restoration = Restoration()
        restoration.values = try read { journal throws(JournalError) in try journal.values(.all) }.map {
            let version = ValueVersion(published: $0.published, id: $0.id, origin: $0.origin)
            return Restoration.Remembered(
                (topic: $0.topic, version: version, bytes: $0.memoryCost), left: clock.left($0.expires))
        }
        restoration.tombstones = try read { journal throws(JournalError) in
            try journal.tombstones().map {
                Restoration.Remembered($0, left: limits.removalTime - journal.age(of: $0.removal))
            }
        }
        return restoration
    }

    /// A stored event, with the current route of the same name.
    func event(_ stored: StoredEvent, routes: RouteTable) -> Event {
        Event(
            id: stored.id, topic: stored.topic, title: stored.title, body: stored.body, fields: stored.fields,
            published: stored.published, sender: stored.sender, origin: stored.origin, urgency: stored.urgency,
            collapse: stored.collapse, retained: stored.retained, appearanceOptions: stored.appearance,
            route: routes.route(named: stored.route, for: stored.topic))
    }

    /// Banners that an earlier run left up. Those of another server are deleted.
    ///
    /// - Parameter server: the identity of the current server.
    func bannersLeftUp(by server: String?) throws(Refusal) -> [StoredBanner] {
        let banners = try read { journal throws(JournalError) in try journal.banners() }
        let void = banners.filter { $0.server != server }
        if void.count == banners.count {
            if !void.isEmpty { append(.allBannersGone) }
            return []
        }
        // This run has shown the others while the journal could not be read.
        for banner in void { append(.bannerGone(banner.number)) }
        return banners.filter { $0.server == server }
    }

    func restoration(of banners: [BannerLeftUp], routes: RouteTable, at clock: WallClock) -> Restoration {
        var restoration = Restoration()
        restoration.banners = banners.map { left in
            RestoredBanner(
                BannerID(left.banner.number), first: left.banner.first, isSummary: left.banner.isSummary,
                events: left.events.map { RestoredBanner.Shown(event($0, routes: routes), age: clock.age(of: $0)) },
                successor: left.successor.map { event($0, routes: routes) })
        }
        return restoration
    }

    /// The undecided event that takes the place of the first one of a banner.
    func successor(of banner: StoredBanner) throws(Refusal) -> StoredEvent? {
        try read { journal throws(JournalError) in
            guard let first = try journal.event(banner.first), first.decision?.outcome == .replaced,
                let collapse = first.collapse,
                let latest = try journal.replaceable(CollapseKey(topic: first.topic, text: collapse))
            else { return nil }
            return latest.decision == nil ? latest : nil
        }
    }

    /// An event's banner, without its events, if it may still be up, and whether it shows others too.
    ///
    /// - Parameter server: the identity of the current server.
    func bannerStillUp(
        _ id: EventID, _ decision: StoredDecision, on server: String?
    ) throws(Refusal) -> (banner: RestoredBanner?, isShared: Bool) {
        guard let first = decision.shownWith else { return (nil, false) }
        return try read { journal throws(JournalError) in
            guard let banner = try journal.banner(startingWith: first), banner.server == server,
                !hasUnwrittenEnd(of: banner.number)
            else { return (nil, false) }
            let isShared = try journal.shown(in: banner, limit: 2).contains { $0.id != id }
            let restored = RestoredBanner(
                BannerID(banner.number), first: banner.first, isSummary: banner.isSummary, events: [])
            return (restored, isShared)
        }
    }
}
