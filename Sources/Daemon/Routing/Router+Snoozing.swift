public import NotifyText

/// `Snooze`: a shown or muted event leaves its banner, and asks for a banner again when its time is over.
///
/// Until then it stays in memory and keeps its outcome, so that claims, `Withdraw` and `collapse` find it as they find
/// an undecided event. Its snooze ends when a banner shows it again, or when it gets another outcome or is forgotten.
///
/// A publisher that shows the banner itself is told by outcomes: a shown event is `muted` until then, and `shown`
/// again.
extension Router {
    /// A snoozed event.
    public struct Snoozed: Hashable, Sendable {
        /// The event.
        public let id: EventID
        /// When its banner is due again. In the past for one that waits for the notification server.
        public let due: Uptime
    }

    /// All snoozed events, in the order of their ids.
    public var snoozed: [Snoozed] { quietPeriods.snoozes.all.sorted { $0.id < $1.id } }

    /// When the banner of a snoozed event is due again; `nil` for any other event.
    public func snoozeEnd(of id: EventID) -> Uptime? { quietPeriods.snoozes[id]?.due }

    mutating func snooze(
        _ id: EventID, for duration: Duration, by caller: String, at now: Now, _ reader: some EventReader
    ) throws(Refusal) {
        guard duration >= limits.minimumSnooze, duration <= limits.maximumSnooze else {
            throw .limitExceeded(
                "the snooze must be between \(limits.minimumSnooze.text) and \(limits.maximumSnooze.text), "
                    + "in seconds; it is \(duration.text)")
        }
        let muted = try loadToSnooze(id, at: now, reader)
        try events.requireKnown(id)
        guard let event = muted?.event ?? events[id].flatMap({ $0.isUndecided ? nil : $0.event }) else {
            throw .invalidEvent("event \(id) was neither shown nor muted; only such an event can be snoozed")
        }
        try quietPeriods.snoozes.checkRoom(for: event, limits: limits)
        var isUpElsewhere = false
        if let muted {
            keep(event, age: muted.age, in: .snoozed, at: now)
        } else {
            if case .gone = events[existing: id].place { isUpElsewhere = event.isShownByPublisher }
            putAside(id)
        }
        recordStep(.snooze, of: id, by: caller, .recorded, at: now)
        if isUpElsewhere { decide(events[existing: id], Resolution(.muted)) }
        beginSnooze(of: id, until: now.uptime + duration)
        sendBanners(at: now)
    }

    /// Takes in an event that was shown long ago or by an earlier run.
    ///
    /// - Returns: the event, if it is muted: such events are not kept in memory.
    private mutating func loadToSnooze(
        _ id: EventID, at now: Now, _ reader: some EventReader
    ) throws(Refusal) -> ColdEvent? {
        guard !events.contains(id) else { return nil }
        try restoreBanners(at: now, reader)
        guard let cold = try cold(id, at: now, reader) else { return nil }
        func refusal(_ outcome: Outcome, isRead: Bool) -> Refusal {
            .invalidEvent(
                "event \(id) is \(outcome.rawValue)\(isRead ? " and read" : ""); only an unread event that is shown or "
                    + "muted can be snoozed")
        }
        switch cold.state {
        case .shown:
            recall(cold, at: now)
            keepRetractable(cold.event)
            return nil
        case .unseen(.muted): return cold
        case .unseen(let outcome): throw refusal(outcome, isRead: false)
        case .decided(let outcome, let isRead): throw refusal(outcome, isRead: isRead)
        case .undecided: return nil
        }
    }

    /// Takes a decided event out of its banner. The banner is closed, or updated for what is left behind it.
    private mutating func putAside(_ id: EventID) {
        let tracked = removeFromPlace(id)
        events.dropRetractable(id)
        banners.markOutdated(tracked)
        closeBannerIfEmpty(without: tracked)
        keep(tracked)
        move(id, to: .snoozed)
    }

    /// Also for one that is due already: its timer fires at once.
    mutating func beginSnooze(of id: EventID, until due: Uptime) {
        let bytes = events[id]?.event.memoryCost ?? 0
        quietPeriods.snoozes.begin(id, due, timers.schedule(.snooze(id), at: due), bytes: bytes)
    }

    /// The event asks for a banner again, unless it is claimed by a screen or held back. Its lifetime does not count:
    /// whoever snoozed it wants to see it. It may wait for the notification server as long as an event without a
    /// lifetime of its own.
    mutating func snoozeEnded(_ id: EventID, at now: Now) {
        guard let tracked = events[id], case .snoozed = tracked.place else { return }
        if let claim = screens.standingClaim(on: tracked.event.topic) {
            applyClaim(id, by: claim.claimant, as: claim.form, at: now)
            return
        }
        events.becomeDue(id, at: now.instant, until: now.uptime + Limits.defaultLifetime)
        queueOrDiscard(id, for: tracked.event.key, at: now)
    }

    /// A snooze of an earlier run. What became due meanwhile comes at once.
    mutating func restore(_ restored: Restoration.Remembered<RestoredBanner.Shown>, at now: Now) {
        let (event, age) = (restored.subject.event, restored.subject.age)
        guard events[event.id] == nil, (try? quietPeriods.snoozes.checkRoom(for: event, limits: limits)) != nil else {
            return
        }
        keep(event, age: age, in: .snoozed, at: now)
        beginSnooze(of: event.id, until: now.uptime + restored.left)
    }
}

/// The snoozes of events.
struct Snoozes {
    struct Snooze {
        let due: Uptime
        let timer: Router.Timers.LifetimeID
        fileprivate let bytes: Int
    }

    private var entries: [EventID: Snooze] = [:]
    /// The memory cost of the snoozed events.
    private var bytes = 0
    /// Whether they have changed since `takeChange`: the effect follows at the end of the input, once for all.
    private var hasChanged = false

    var count: Int { entries.count }
    /// In no particular order.
    var all: [Router.Snoozed] { entries.map { Router.Snoozed(id: $0.key, due: $0.value.due) } }

    subscript(id: EventID) -> Snooze? { entries[id] }

    /// - Throws: `.limitExceeded`. The time of a snoozed event can always be set again.
    func checkRoom(for event: Event, limits: Limits) throws(Refusal) {
        guard entries[event.id] == nil else { return }
        if count >= limits.snoozes {
            throw .limitExceeded(
                "snoozed events: there are \(limits.snoozes) already; claim one, or wait until it is due")
        }
        if bytes + event.memoryCost > limits.snoozeBytes {
            throw .limitExceeded(
                "bytes of snoozed events: with this event it would be more than \(limits.snoozeBytes); "
                    + "claim one, or wait until it is due")
        }
    }

    mutating func begin(_ id: EventID, _ due: Uptime, _ timer: Router.Timers.LifetimeID, bytes: Int) {
        end(id)
        entries[id] = Snooze(due: due, timer: timer, bytes: bytes)
        self.bytes += bytes
        hasChanged = true
    }

    mutating func end(_ id: EventID) {
        guard let ended = entries.removeValue(forKey: id) else { return }
        bytes -= ended.bytes
        hasChanged = true
    }

    mutating func takeChange() -> Bool {
        defer { hasChanged = false }
        return hasChanged
    }
}
