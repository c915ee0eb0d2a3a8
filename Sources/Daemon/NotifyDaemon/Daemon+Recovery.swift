import Journal
import NotifyText
import Routing

/// Loads what the router needs of the journal.
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

    func restoration(of ids: [NamedPush]) -> Restoration {
        storage.restoration(of: ids, limits: limits, at: clock)
    }

    /// Loads all banners that are up, before a claim that may concern one of them.
    func loadBanners() throws(Refusal) {
        guard recovery.hasBanners else { return }
        handle(.restored(restoration(of: try recovery.banners(from: storage, all: true))))
    }

    /// Called before the router hears from the server about a banner that is not loaded yet. Loaded later, it would be
    /// restored although it is gone.
    func loadBanners(before happening: Happening) {
        switch happening {
        case .bannerShown(_, let id?):
            // The server has given the number to another banner.
            if recovery.awaits(id) { forgetUnloadedBanner(id) }
        case .bannerClosed(let id, _):
            guard recovery.awaits(id) else { return }
            // If the journal cannot be read, the outcomes of its events stay as they are.
            do throws(Refusal) { try loadBanners() } catch { forgetUnloadedBanner(id) }
        case .actionInvoked(let id, _):
            // If the journal cannot be read, the button does nothing.
            if recovery.awaits(id) { try? loadBanners() }
        default: break
        }
    }

    private func forgetUnloadedBanner(_ id: BannerID) {
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

    /// Something happened to the names in the state directory. Whoever deletes it is not done yet: the next retry begins afresh.
    func journalNamesChanged() { storage.namesChanged() }

    /// Tries a failed journal again now.
    func retryStorage() { jobs.retry.retry(self) }

    /// The topic and the publisher of an event in memory, of this turn or in the journal.
    func origin(of id: EventID) throws(Refusal) -> (topic: Topic, publisher: String)? {
        if let topic = router.topic(of: id), let publisher = router.publisher(of: id) { return (topic, publisher) }
        if let event = storage.pendingEvent(id) { return (event.topic, event.sender) }
        guard storage.isReadable else { return nil }
        let event = try storage.read { journal throws(JournalError) in try journal.event(id) }
        return event.map { ($0.topic, $0.sender) }
    }

    /// A stored event. In memory it has the route that it came under; otherwise it gets the current route of that name.
    func event(_ stored: StoredEvent) -> Event {
        router.event(stored.id) ?? storage.event(stored, routes: configuration.routes)
    }

    /// Loads what the router must know before a call is handled.
    func load(for call: Call) throws(Refusal) {
        switch call {
        case .published(let publication):
            try loadGlobalID(publication.options.origin)
            try loadReplaced(by: publication)
        case .claimed(let id, let caller, _), .withdrawn(let id, let caller):
            try load(id, toDecide: true, by: caller)
        case .claimedProvisionally(let id, _, _), .completed(let id, _), .released(let id, _), .passed(let id, _):
            try load(id, toDecide: false)
        case .topicClaimed(let topic, _, _), .markedRead(let topic, _, _): try load(topic)
        case .screenOpened, .screenUpdated: try loadBanners()
        case .claimedNamed, .screenClosed, .pausedFor, .muted, .snoozed, .digestsCounted: break
        }
    }

    /// Loads the event that a call refers to. An event that was shown long ago or by an earlier run is loaded only for a
    /// call that may decide it (`Claim`, `Withdraw`), because whether it is the last event of its banner may change later.
    ///
    /// - Parameters:
    ///   - claimant: who claims, withdraws or presses a button of it, and so has read it.
    ///   - place: where that was done, if the claimant passes it on.
    func load(
        _ id: EventID, toDecide: Bool, by claimant: String? = nil, from place: ClaimPlace = ClaimPlace()
    ) throws(Refusal) {
        recalled = nil
        guard !remembers(id) else { return }
        // Without the journal the event is unknown. It may be undecided, and its claim must not be lost.
        guard storage.isReadable else { throw .storageUnavailable(storage.degradation) }
        endTurn()
        if toDecide { try loadBanners() }
        guard !remembers(id) else { return }
        guard let event = try storage.read({ journal throws(JournalError) in try journal.event(id) }) else {
            throw .noEvent(id)
        }
        // It may be decided as soon as it is announced again.
        recalled = (id, clock.age(of: event))
        guard let decision = storage.current(event).decision else {
            // An earlier run left it undecided, and it has not been announced again yet.
            return announceEarly([event])
        }
        if toDecide, let marked = decision.markedRead { return markRead(id, marked, by: claimant, from: place) }
        if toDecide, decision.outcome == .shown { try recall(event, decision) }
        if toDecide, decision.outcome == .silent, storage.isWritable, let claimant,
            try !storage.read({ journal throws(JournalError) in try journal.isMarkedRead(id) })
        {
            storage.append(.read(id, by: claimant, at: clock.wall, from: place))
            host.endTurnWhenIdle()
        }
    }

    /// - Parameter marked: the decision about the event, with the mark.
    func markRead(_ id: EventID, _ marked: StoredDecision, by claimant: String?, from place: ClaimPlace) {
        var marked = marked
        marked.place = place
        storage.append(.decided(id, marked))
        storage.append(.read(id, by: claimant ?? "", at: clock.wall, from: place))
        jobs.marks.count()
        host.endTurnWhenIdle()
    }

    func recall(_ event: StoredEvent, _ decision: StoredDecision) throws(Refusal) {
        handle(
            .recalled(
                storage.event(event, routes: configuration.routes), age: clock.age(of: event),
                banner: try storage.bannerStillUp(event.id, decision, server: server, router: router)))
    }

    /// Loads the undecided or shown event whose place a new one takes. Of muted and expired ones the journal takes care.
    func loadReplaced(by publication: Publication) throws(Refusal) {
        guard let collapse = publication.options.collapse, storage.isWritable else { return }
        let key = CollapseKey(topic: publication.topic, text: collapse)
        guard !router.remembers(key) else { return }
        try loadBanners()
        guard !router.remembers(key) else { return }
        var earlier = try storage.read { journal throws(JournalError) in try journal.replaceable(key) }
        if let id = earlier?.id, storage.hasPendingDecision(of: id) {
            endTurn()
            earlier = try storage.read { journal throws(JournalError) in try journal.replaceable(key) }
        }
        guard let earlier else { return }
        if let decision = earlier.decision { try recall(earlier, decision) } else { announceEarly([earlier]) }
    }

    /// Loads the global id of an event that a new one may repeat. The router remembers recent ones; the others are in the
    /// journal.
    func loadGlobalID(_ origin: Origin) throws(Refusal) {
        guard origin.isGlobalID else { return }
        try requireGivenName(origin)
        try loadGlobalIDs()
        guard storage.isWritable, !router.remembers(origin, at: host.now),
            let id = try event(named: origin)
        else { return }
        var restoration = Restoration()
        restoration.origins = [Restoration.Remembered((origin: origin, id: id), left: limits.deduplicationTime)]
        handle(.restored(restoration))
    }

    /// Whether a name is one that this device gives to events without a name of their own.
    private func isOwn(_ origin: Origin) -> Bool {
        !device.isEmpty && origin.source?.hasBytes(of: ownSource) == true
    }

    /// The id in the name of an event that this device published without source and event-id.
    func ownID(_ origin: Origin) -> EventID? {
        guard isOwn(origin), let text = origin.eventID, let number = UInt64(text), text.bytes == "\(number)".bytes
        else {
            return nil
        }
        return EventID(number)
    }

    /// A name of this device that is not given yet would later be that of two events. One of an event that this journal has
    /// lost is accepted.
    private func requireGivenName(_ origin: Origin) throws(Refusal) {
        guard isOwn(origin) else { return }
        if let id = ownID(origin), id <= router.lastID { return }
        countRefusal()
        throw .invalidEvent(
            "option 'source' is this device and option 'event-id' is '\(origin.eventID?.quotable ?? "")', which is no event "
                + "of it: names of this device are given by it; leave out both options, or choose another source")
    }

    /// An event by its global name: source and event-id, or this device and the id in decimal where it has none.
    func event(named origin: Origin) throws(Refusal) -> EventID? {
        if let id = ownID(origin), try isUnnamed(id) { return id }
        return try storage.read { journal throws(JournalError) in try journal.event(named: origin) }
    }

    /// Whether there is such an event and it has no source and event-id.
    private func isUnnamed(_ id: EventID) throws(Refusal) -> Bool {
        let found: Origin?
        if let event = router.event(id) {
            found = event.origin
        } else if let event = storage.pendingEvent(id) {
            found = event.origin
        } else {
            found = try storage.read { journal throws(JournalError) in try journal.event(id) }?.origin
        }
        return found?.isGlobalID == false
    }

    /// Loads all recent global ids.
    func loadGlobalIDs() throws(Refusal) {
        guard recovery.hasGlobalIDs else { return }
        handle(.restored(restoration(of: try recovery.globalIDs(from: storage, atMost: .max))))
    }

    /// Loads all undecided events at or below the topic of a call.
    func load(_ topic: TopicPrefix) throws(Refusal) {
        guard recovery.isUnderWay else { return }
        endTurn()
        try loadBanners()
        announceEarly(try storage.read { journal throws(JournalError) in try journal.undecided(topic) })
    }

    private func announceEarly(_ events: [StoredEvent]) {
        let events = recovery.take(events, except: { remembers($0) })
        handle(.restored(restoration(of: events)))
    }

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

    /// How long ago a loaded event was accepted; `nil` if unknown.
    func age(ofRecalled id: EventID) -> Duration? {
        recalled?.id == id ? recalled?.age : nil
    }
}
