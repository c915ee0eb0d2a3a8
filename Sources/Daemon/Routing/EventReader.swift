public import NotifyText

/// What the shell knows and the router does not: the events that are only stored, and what the policy says of a claim.
///
/// The router asks while it handles a call. Before a call about an event that is not in memory (`Router.isCold`), the
/// shell stores what this turn has decided, so that it is read.
public protocol EventReader {
    /// A stored event. `nil`: nothing is known about it but what the router remembers.
    ///
    /// - Throws: `.unknownEvent` if it is not kept, `.storageUnavailable` if it cannot be read.
    func event(_ id: EventID) throws(Refusal) -> ColdEvent?
    /// The undecided or shown event in whose place a new one with this key comes.
    func event(replacedBy key: CollapseKey) throws(Refusal) -> ColdEvent?
    /// The event with a global id, or the removal or forgotten event that had it.
    func event(named origin: Origin) throws(Refusal) -> EventID?
    /// The undecided events at or below a topic that are not restored yet.
    func undecided(_ topic: TopicPrefix) throws(Refusal) -> Restoration
    /// The banners that are not restored yet.
    func banners() throws(Refusal) -> Restoration
    /// The global ids of recent events that are not restored yet.
    func globalIDs() throws(Refusal) -> Restoration
    /// Whether the claim of an event that had not come may have an effect at the topic at which it comes.
    func permits(_ claim: NamedClaim, at topic: Topic) -> Bool
}

/// A stored event that is not in memory. A claim, a `Snooze` or a `collapse` can still concern it.
public struct ColdEvent: Sendable {
    /// Where it is on its way.
    public enum State: Sendable {
        /// An earlier run left it undecided: how to restore it.
        case undecided(Restoration)
        /// It was shown. The banner is the one that shows it, without its events, if it may still be up.
        case shown(RestoredBanner?, isShared: Bool)
        /// It has an outcome and nobody has seen it: silent, muted or expired.
        case unseen(Outcome)
        /// Any other outcome.
        case decided(Outcome, isRead: Bool)
    }

    /// The event, with the route that its topic has in the current configuration.
    public let event: Event
    /// How long ago it was accepted; `nil` for an event of an earlier boot.
    public let age: Duration?
    /// What is known about its decision.
    public let state: State

    public init(_ event: Event, age: Duration?, _ state: State) {
        self.event = event
        self.age = age
        self.state = state
    }
}

extension EventReader {
    /// Nothing is known about any event.
    public func event(_ id: EventID) throws(Refusal) -> ColdEvent? { nil }
    /// No event has the key.
    public func event(replacedBy key: CollapseKey) throws(Refusal) -> ColdEvent? { nil }
    /// No event has the name.
    public func event(named origin: Origin) throws(Refusal) -> EventID? { nil }
    /// No event is to be restored.
    public func undecided(_ topic: TopicPrefix) throws(Refusal) -> Restoration { Restoration() }
    /// No banner is to be restored.
    public func banners() throws(Refusal) -> Restoration { Restoration() }
    /// No name is to be restored.
    public func globalIDs() throws(Refusal) -> Restoration { Restoration() }
    /// Every claim may have an effect.
    public func permits(_ claim: NamedClaim, at topic: Topic) -> Bool { true }
}

/// A reader for a router that has all its events in memory.
public struct NoEvents: EventReader {
    public init() {}
}

/// Takes into memory what a call is about.
extension Router {
    /// Whether a call is about an event that is not in memory, or about topics whose events are not all in memory.
    /// It is `mutating` because Swift would copy the whole router that an object holds before a call that is not.
    public mutating func isCold(_ call: Call) -> Bool {
        switch call {
        case .claimed(let id, _, _), .claimedNamed(_, let id?), .claimedProvisionally(let id, _, _),
            .answered(let id, _, _), .withdrawn(let id, _), .snoozed(let id, _, _):
            !events.contains(id)
        case .topicClaimed: events.unrestored > 0
        case .published, .claimedNamed, .claimedCold, .screenOpened, .screenChanged, .quieted, .digestsCounted: false
        }
    }

    /// Reads an event that is not in memory, and takes it in if an earlier run left it undecided.
    mutating func cold(_ id: EventID, at now: Now, _ reader: some EventReader) throws(Refusal) -> ColdEvent? {
        guard !events.contains(id), let cold = try reader.event(id) else { return nil }
        if case .undecided(let restoration) = cold.state { restore(restoration, at: now) }
        return cold
    }

    /// Takes in an event for a call that may decide it. An event that was shown is only taken in for such a call,
    /// because whether it is the last one of its banner may change later. One that nobody has seen is read now.
    ///
    /// - Returns: how long ago an event that stays out of memory was accepted.
    mutating func loadToDecide(
        _ id: EventID, by claimant: String, from place: ClaimPlace = ClaimPlace(), at now: Now,
        _ reader: some EventReader
    ) throws(Refusal) -> Duration? {
        guard !events.contains(id) else { return nil }
        try restoreBanners(at: now, reader)
        guard let cold = try cold(id, at: now, reader) else { return nil }
        switch cold.state {
        case .shown: recall(cold, at: now)
        case .unseen: output.append(.read(.event(id), by: claimant, from: place))
        case .undecided, .decided: break
        }
        return cold.age
    }

    /// Takes in all that is undecided or shown at or below a topic.
    mutating func load(_ topic: TopicPrefix, at now: Now, _ reader: some EventReader) throws(Refusal) {
        try restoreBanners(at: now, reader)
        if events.unrestored > 0 { restore(try reader.undecided(topic), at: now) }
    }

    mutating func restoreBanners(at now: Now, _ reader: some EventReader) throws(Refusal) {
        for banner in try reader.banners().banners { restore(banner, at: now) }
    }

    // MARK: Global names

    /// The event of a global name, or the removal or forgotten event that had it.
    public mutating func event(
        named origin: Origin, at now: Now, _ reader: some EventReader
    ) throws(Refusal) -> EventID? {
        restoreNames(try reader.globalIDs(), at: now)
        if let id = names.deduplicator.known(origin, at: now.uptime) { return id }
        return try stored(origin, reader)
    }

    func stored(_ origin: Origin, _ reader: some EventReader) throws(Refusal) -> EventID? {
        if let id = names.ownID(origin), id < events.nextID, try isUnnamed(id, reader) { return id }
        return try reader.event(named: origin)
    }

    /// The name of an event that has not come. One that this device publishes without source and event-id gets a later
    /// id.
    public func name(of origin: Origin) -> EventName {
        guard let id = names.ownID(origin), id >= events.nextID else { return .origin(origin) }
        return .own(id)
    }

    mutating func restoreNames(_ restored: Restoration, at now: Now) {
        for name in restored.origins {
            names.deduplicator.record(name.subject.origin, as: name.subject.id, at: now.uptime, left: name.left)
        }
    }

    /// Whether there is such an event and it has no source and event-id.
    private func isUnnamed(_ id: EventID, _ reader: some EventReader) throws(Refusal) -> Bool {
        if let event = events[id]?.event { return !event.origin.isGlobalID }
        do throws(Refusal) {
            return try reader.event(id)?.event.origin.isGlobalID == false
        } catch .unknownEvent {
            return false
        }
    }

    /// A name of this device that is not given yet would later be that of two events. One of an event that is lost is
    /// accepted.
    func requireGivenName(_ origin: Origin) throws(Refusal) {
        guard names.isOwn(origin) else { return }
        if let id = names.ownID(origin), id < events.nextID { return }
        throw .invalidEvent(
            "option 'source' is this device and option 'event-id' is "
                + "'\(origin.eventID?.quotable ?? "")', which is not an event "
                + "of it: names of this device are given by it; leave out both options, or choose another source")
    }
}
