public import NotifyText

/// What the shell reads of the router.
extension Router {
    /// This device, which names what has no global name of its own. Empty where it is not known.
    public var device: String {
        get { names.device }
        set { names.device = newValue }
    }
    /// Events that have no outcome yet.
    public var undecidedCount: Int { events.undecided.total.count + events.unrestored }
    /// Windows in which claims are awaited.
    public var openWindows: Int { events.windows.count }
    /// Screens that are open.
    public var screenCount: Int { screens.count }
    /// Whether the session is neither locked nor idle.
    public var isWatched: Bool { screens.isWatched }
    /// Whether no calls go to the notification server for a while, after several failures in a row.
    public var isServerCircuitOpen: Bool { banners.server.isCircuitOpen }
    /// Banners that wait to be sent to the notification server.
    public var waitingBanners: Int { banners.waitingCount }
    /// Whether the event is in memory: undecided, or shown and retractable.
    public func remembers(_ id: EventID) -> Bool { events.contains(id) }
    /// The same for a router that an object holds. It changes nothing. It is `mutating` because Swift would copy the
    /// whole router before a call that is not.
    public mutating func remembersInPlace(_ id: EventID) -> Bool { events.contains(id) }
    /// Whether something is kept until the next `Input.stored`, in case events cannot be stored.
    public var awaitsStored: Bool { names.awaitsStored || quietPeriods.digests.unstored != nil }
    /// All claims of events that have not come yet, in no particular order.
    public var awaitedClaims: [AwaitedClaim] { names.awaited.all }
    /// How many these are.
    public var awaitedCount: Int { names.awaited.count }
    /// How much of the room for them is taken, in percent.
    public var awaitedFill: Int {
        max(100 * names.awaited.count / limits.awaited, 100 * names.awaited.bytes / limits.awaitedBytes)
    }
    /// An event in memory, with the route under which it was accepted.
    public func event(_ id: EventID) -> Event? { events[id]?.event }
    /// A screen that is open.
    public func screen(_ id: ScreenID) -> Screen? { screens[id] }
    /// The screens that a connection holds.
    public func screens(of owner: String) -> [Screen] { screens.owned(by: owner).compactMap { screens[$0] } }

    /// Screens that are open, in the order of their ids.
    public var openScreens: [Screen] { screens.all }
    /// The events the router holds in memory, decided or not.
    public var rememberedEvents: Int { events.count }

    /// An event that is undecided or snoozed, and what is kept with it.
    public struct Undecided {
        /// The event itself.
        public let event: Event
        /// When it was accepted, on this run's clock.
        public let accepted: Instant
        /// From `accepted` to the end of the window.
        public let window: Duration
        /// The end of its lifetime.
        public let expires: Uptime
        /// Whether it is the current value of its topic.
        public let isValue: Bool
        /// Whether it has an outcome and was snoozed.
        public let isSnoozed: Bool
    }

    /// Counters since the router was made.
    public var statistics: Statistics { output.statistics }
    /// The highest id that was given out.
    public var lastID: EventID { EventID(events.nextID.rawValue - 1) }
    /// The first id of this run.
    public var firstID: EventID { events.firstID }

    /// The events in memory that have no outcome yet, in the order of their ids.
    public var undecidedIDs: [EventID] { events.all.lazy.filter(\.isUndecided).map(\.event.id).sorted() }

    /// The events in memory at or below a topic that have an outcome, with ids up to `last`, in the order of their ids.
    public func decidedIDs(_ topic: TopicPrefix, upTo last: EventID) -> [EventID] {
        events.all.lazy.filter { !$0.isUndecided && $0.event.id <= last && topic.covers($0.event.topic) }
            .map(\.event.id).sorted()
    }

    /// An event in memory that has no outcome yet, or is snoozed.
    public func undecided(_ id: EventID) -> Undecided? {
        let isSnoozed = quietPeriods.snoozes[id] != nil
        guard let tracked = events[id], tracked.isUndecided || isSnoozed else { return nil }
        return Undecided(
            event: tracked.event, accepted: tracked.accepted, window: max(.zero, tracked.deadline - tracked.accepted),
            expires: tracked.expires, isValue: names.values[tracked.event.topic]?.id == id, isSnoozed: isSnoozed)
    }

    /// Counts an event that is refused before it reaches the router.
    public mutating func countRefusal() { output.statistics[.refused] += 1 }
}
