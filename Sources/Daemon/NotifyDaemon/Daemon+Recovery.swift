import Journal
import NotifyText
import Routing

/// What the journal has of earlier runs, and of events that are not in memory.
extension Daemon {
    /// Restores all banners that are up, before something is done that may concern one of them.
    func restoreBanners() throws(Refusal) {
        guard recovery.hasBanners else { return }
        handle(.restored(try banners()))
    }

    /// Called before the router hears from the server about a banner that is not restored yet. Later it would be
    /// restored although it is gone.
    func restoreBanners(before happening: Happening) {
        switch happening {
        case .banner(_, .shown(let id?)):
            // The server has given the number to another banner.
            if recovery.awaits(id) { forgetUnrestoredBanner(id) }
        case .bannerClosed(let id, _):
            guard recovery.awaits(id) else { return }
            // If the journal cannot be read, the outcomes of its events stay as they are.
            do throws(Refusal) { try restoreBanners() } catch { forgetUnrestoredBanner(id) }
        case .actionInvoked(let id, _):
            // If the journal cannot be read, the button does nothing.
            if recovery.awaits(id) { try? restoreBanners() }
        default: break
        }
    }

    private func forgetUnrestoredBanner(_ id: BannerID) {
        recovery.forgetBanner(id)
        storage.append(.bannerGone(id.rawValue))
        host.endTurnWhenIdle()
    }

    /// The topic and the publisher of an event in memory, of this turn or in the journal.
    func origin(of id: EventID) throws(Refusal) -> (topic: Topic, publisher: String)? {
        if let event = router.event(id) { return (event.topic, event.sender) }
        if let event = storage.pendingEvent(id) { return (event.topic, event.sender) }
        guard storage.isReadable else { return nil }
        let event = try storage.read { try $0.event(id) }
        return event.map { ($0.topic, $0.sender) }
    }

    /// A stored event. In memory it has the route that it came under; otherwise it gets the current route of that name.
    func event(_ stored: StoredEvent) -> Event { router.event(stored.id) ?? routed(stored) }

    /// A stored event, with the current route of the same name.
    func routed(_ stored: StoredEvent) -> Event {
        Event(
            id: stored.id, topic: stored.topic, title: stored.title, body: stored.body, fields: stored.fields,
            published: stored.published, sender: stored.sender, origin: stored.origin, urgency: stored.urgency,
            collapse: stored.collapse, retained: stored.retained, appearanceOptions: stored.appearance,
            route: configuration.routes.route(named: stored.route, for: stored.topic))
    }

    /// When the banner of a snoozed event is due again, in microseconds since the epoch; `nil` for any other event.
    func snoozeEnd(of id: EventID) -> Int64? { router.snoozeEnd(of: id).map { clock.moment($0) } }

    /// The state of an event without an outcome in the journal.
    func state(of event: StoredEvent) -> Explanation.State {
        let window = router.window(of: event.id)
        let isOlder = event.id < router.firstID
        let clock = clock
        // Counted on the monotonic clock from when the event was accepted; the wall clock may have been set since.
        func moment(_ instant: Instant) -> Int64 {
            window?.accepted.map { event.accepted + (instant - $0).microseconds } ?? clock.moment(instant)
        }
        return Explanation.State(
            progress: router.progress(of: event.id), opened: window.map { moment($0.opened) },
            deadline: window.map { moment($0.deadline) }, isReplayed: isOlder,
            isOfEarlierBoot: isOlder && event.expires.boot != host.boot)
    }
}

/// What the journal has of earlier runs, for the router.
extension Daemon {
    /// The state that is needed before the first publish. Global ids and undecided events follow in batches.
    func restoration() throws(Refusal) -> Restoration {
        let clock = clock
        storage.journal.advance(to: clock.reading)
        var restoration = try restoredValues()
        try storage.read { journal in
            let quiet = try journal.quiet()
            restoration.quiet = quiet.filter { $0.cause != .schedule }.map {
                (topic: $0.topic, cause: $0.cause, left: $0.end.map { clock.left($0) })
            }
            restoration.liftedSchedules = quiet.compactMap { quiet in
                quiet.began.map { ActiveSchedule.Period(quiet.topic, began: $0) }
            }
            restoration.digests = try journal.digests()
            restoration.lastID = try journal.lastID()
            for snooze in try journal.snoozes() {
                // One with another outcome by now was snoozed by a run that could not write its end.
                guard let event = try journal.event(snooze.event), let decision = event.decision,
                    decision.outcome == .shown || decision.outcome == .muted && !decision.isRead
                else { continue }
                restoration.snoozes.append(
                    Restoration.Remembered(
                        (event: routed(event), age: clock.age(of: event)), left: clock.left(snooze.end)))
            }
            restoration.awaited = try journal.awaited().map { stored in
                Restoration.Remembered(
                    NamedClaim(
                        name: router.name(of: stored.origin), origin: stored.origin, kind: stored.kind,
                        claimant: stored.claimant, place: stored.place, identity: stored.identity,
                        program: stored.program), left: clock.left(stored.end))
            }
        }
        return restoration
    }

    /// The current values in the journal, and removals. In memory, an event that could not be stored may have replaced
    /// a value.
    func restoredValues() throws(Refusal) -> Restoration {
        let clock = clock
        var restoration = Restoration()
        try storage.read { journal in
            restoration.values = try journal.values(.all).map {
                let version = ValueVersion(published: $0.published, id: $0.id, origin: $0.origin)
                return Restoration.Remembered(
                    (topic: $0.topic, version: version, bytes: $0.memoryCost), left: clock.left($0.expires))
            }
            restoration.tombstones = try journal.tombstones().map {
                Restoration.Remembered($0, left: limits.removalTime - journal.age(of: $0.removal))
            }
        }
        return restoration
    }

    /// Undecided events of an earlier run, which are not restored yet.
    func restoration(of undecided: [StoredEvent]) -> Restoration {
        let clock = clock
        var restoration = Restoration()
        restoration.minimumWindow = configuration.recoveryWindow
        restoration.undecided = recovery.takeOutOfTurn(undecided).map {
            Restoration.Remembered(
                (event: routed($0), window: .microseconds($0.window), age: clock.age(of: $0)),
                left: clock.left($0.expires))
        }
        restoration.remaining = recovery.remaining
        return restoration
    }

    /// The banner of a shown event, without its events, if it may still be up.
    private func bannerStillUp(_ id: EventID, _ decision: StoredDecision) throws(Refusal) -> ColdEvent.State {
        guard let first = decision.shownWith else { return .shown(nil, isShared: false) }
        return try storage.read { journal in
            guard let banner = try journal.banner(startingWith: first), banner.server == server.identity,
                !storage.hasUnwrittenEnd(of: banner.number)
            else { return .shown(nil, isShared: false) }
            let isShared = try journal.shown(in: banner, limit: 2).contains { $0.id != id }
            let restored = RestoredBanner(
                BannerID(banner.number), first: banner.first, isSummary: banner.isSummary, events: [])
            return .shown(restored, isShared: isShared)
        }
    }
}

/// What the router asks for while it handles a call. Nothing here touches the router.
extension Daemon: EventReader {
    func event(_ id: EventID) throws(Refusal) -> ColdEvent? {
        // Without the journal the event is unknown. It may be undecided, and its claim must not be lost.
        guard storage.isReadable else { throw storage.unreadable }
        let stored = try storage.read { try $0.event(id) }
        guard let event = stored ?? storage.pendingEvent(id) else { throw .noEvent(id) }
        return try cold(storage.current(event))
    }

    func cold(_ stored: StoredEvent) throws(Refusal) -> ColdEvent {
        ColdEvent(routed(stored), age: clock.age(of: stored), try coldState(of: stored))
    }

    private func coldState(of stored: StoredEvent) throws(Refusal) -> ColdEvent.State {
        guard let decision = stored.decision else { return .undecided(restoration(of: [stored])) }
        switch decision.outcome {
        case .shown:
            return try bannerStillUp(stored.id, decision)
        case .muted where !decision.isRead, .expired where !decision.isRead: return .unseen(decision.outcome)
        case .silent where storage.isWritable:
            let isRead = try storage.read { try $0.state(of: stored.id)?.isMarkedRead ?? false }
            return isRead ? .decided(.silent, isRead: decision.isRead) : .unseen(.silent)
        case .claimed, .retracted, .dismissed, .silent, .muted, .expired, .withdrawn, .replaced:
            return .decided(decision.outcome, isRead: decision.isRead)
        }
    }

    /// The journal takes care of muted and expired events.
    func event(replacedBy key: CollapseKey) throws(Refusal) -> ColdEvent? {
        guard storage.isWritable,
            var earlier = try storage.read({ try $0.replaceable(key) })
        else { return nil }
        if let decision = storage.pendingDecision(of: earlier.id) {
            guard decision.outcome == .shown else { return nil }
            earlier.decision = decision
        }
        return try cold(earlier)
    }

    func event(named origin: Origin) throws(Refusal) -> EventID? {
        try storage.read { try $0.event(named: origin) }
    }

    func undecided(_ topic: TopicPrefix) throws(Refusal) -> Restoration {
        restoration(of: try storage.read { try $0.undecided(topic) })
    }

    func banners() throws(Refusal) -> Restoration {
        guard recovery.hasBanners else { return Restoration() }
        return try recovery.banners(in: self, all: true)
    }

    func globalIDs() throws(Refusal) -> Restoration {
        guard recovery.hasGlobalIDs else { return Restoration() }
        return try recovery.globalIDs(in: self, atMost: .max)
    }

    func permits(_ claim: NamedClaim, at topic: Topic) -> Bool {
        guard !policy.rules.isEmpty else { return true }
        let request = AccessRequest(permission: .claim, scope: .topic(topic))
        return denyingRule(for: request, to: Caller(claim.identity), claim.claimant) == nil
    }
}
