import Journal
import NotifyText
import Routing

/// What the journal has of earlier runs, and of events that are not in memory.
extension Daemon {
    /// Another file may be another journal.
    func updateDevice() {
        let name = storage.seed.map(host.device) ?? ""
        guard name != device else { return }
        device = name
        host.send(.propertiesChanged([.device]))
    }

    func restoration(of banners: [BannerLeftUp]) -> Restoration {
        storage.restoration(of: banners, routes: configuration.routes, at: clock)
    }

    func restoration(of ids: [NamedPush]) -> Restoration { storage.restoration(of: ids, limits: limits, at: clock) }

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

    func restoration(of events: [StoredEvent]) -> Restoration {
        var restoration = storage.restoration(
            of: events, routes: configuration.routes, minimumWindow: configuration.recoveryWindow, at: clock)
        restoration.remaining = recovery.remaining
        return restoration
    }

    /// The topic and the publisher of an event in memory, of this turn or in the journal.
    func origin(of id: EventID) throws(Refusal) -> (topic: Topic, publisher: String)? {
        if let event = router.event(id) { return (event.topic, event.sender) }
        if let event = storage.pendingEvent(id) { return (event.topic, event.sender) }
        guard storage.isReadable else { return nil }
        let event = try storage.read { journal throws(JournalError) in try journal.event(id) }
        return event.map { ($0.topic, $0.sender) }
    }

    /// A stored event. In memory it has the route that it came under; otherwise it gets the current route of that name.
    func event(_ stored: StoredEvent) -> Event {
        router.event(stored.id) ?? storage.event(stored, routes: configuration.routes)
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

/// What the router asks for while it handles a call. Nothing here touches the router.
extension Daemon: EventReader {
    func event(_ id: EventID) throws(Refusal) -> ColdEvent? {
        // Without the journal the event is unknown. It may be undecided, and its claim must not be lost.
        guard storage.isReadable else { throw .storageUnavailable(storage.degradation) }
        let stored = try storage.read { journal throws(JournalError) in try journal.event(id) }
        guard let event = stored ?? storage.pendingEvent(id) else { throw .noEvent(id) }
        return try cold(storage.current(event))
    }

    func cold(_ stored: StoredEvent) throws(Refusal) -> ColdEvent {
        ColdEvent(
            storage.event(stored, routes: configuration.routes), age: clock.age(of: stored), try coldState(of: stored))
    }

    private func coldState(of stored: StoredEvent) throws(Refusal) -> ColdEvent.State {
        guard let decision = stored.decision else { return .undecided(restoration(of: recovery.take([stored]))) }
        switch decision.outcome {
        case .shown:
            let (banner, isShared) = try storage.bannerStillUp(stored.id, decision, on: server.identity)
            return .shown(banner, isShared: isShared)
        case .muted where !decision.isRead, .expired where !decision.isRead: return .unseen(decision.outcome)
        case .silent where storage.isWritable:
            let isRead = try storage.read { journal throws(JournalError) in try journal.isMarkedRead(stored.id) }
            return isRead ? .decided(.silent, isRead: decision.isRead) : .unseen(.silent)
        case .claimed, .retracted, .dismissed, .silent, .muted, .expired, .withdrawn, .replaced:
            return .decided(decision.outcome, isRead: decision.isRead)
        }
    }

    /// The journal takes care of muted and expired events.
    func event(replacedBy key: CollapseKey) throws(Refusal) -> ColdEvent? {
        guard storage.isWritable,
            var earlier = try storage.read({ journal throws(JournalError) in try journal.replaceable(key) })
        else { return nil }
        if let decision = storage.pendingDecision(of: earlier.id) {
            guard decision.outcome == .shown else { return nil }
            earlier.decision = decision
        }
        return try cold(earlier)
    }

    func event(named origin: Origin) throws(Refusal) -> EventID? {
        try storage.read { journal throws(JournalError) in try journal.event(named: origin) }
    }

    func undecided(_ topic: TopicPrefix) throws(Refusal) -> Restoration {
        restoration(
            of: recovery.take(try storage.read { journal throws(JournalError) in try journal.undecided(topic) }))
    }

    func banners() throws(Refusal) -> Restoration {
        guard recovery.hasBanners else { return Restoration() }
        return restoration(of: try recovery.banners(from: storage, all: true))
    }

    func globalIDs() throws(Refusal) -> Restoration {
        guard recovery.hasGlobalIDs else { return Restoration() }
        return restoration(of: try recovery.globalIDs(from: storage, atMost: .max))
    }

    func permits(_ claim: NamedClaim, at topic: Topic) -> Bool {
        guard !policy.rules.isEmpty else { return true }
        let request = AccessRequest(permission: .claim, scope: .topic(topic))
        guard let rule = policy.denyingRule(for: request, to: Caller(claim.identity)) else { return true }
        recordDenial(of: request, to: claim.claimant, by: rule)
        return false
    }
}
