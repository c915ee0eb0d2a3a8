/// `Snooze`: a shown or muted event leaves its banner, and asks for a banner again when its time is over.
///
/// Until then it stays in memory and keeps its outcome, so that claims, `Withdraw` and `collapse` find it as they find an
/// undecided event. Its snooze ends when a banner shows it again, or when it gets another outcome or is forgotten.
///
/// A publisher that shows the banner itself is told by outcomes: a shown event is `muted` until then, and `shown` again.
extension Router {
    struct Snooze {
        let due: Uptime
        let timer: LifetimeTimers.TimerID
        let bytes: Int
    }

    /// A snoozed event.
    public struct Snoozed: Hashable, Sendable {
        /// The event.
        public let id: EventID
        /// When its banner is due again. In the past for one that waits for the notification server.
        public let due: Uptime
    }

    /// All snoozed events, in the order of their ids.
    public var snoozed: [Snoozed] {
        snoozes.map { Snoozed(id: $0.key, due: $0.value.due) }.sorted { $0.id < $1.id }
    }

    /// When the banner of a snoozed event is due again; `nil` for any other event.
    public func snoozeEnd(of id: EventID) -> Uptime? { snoozes[id]?.due }

    mutating func snooze(
        _ id: EventID, for duration: Duration, by caller: String, at now: Now, _ reader: some EventReader
    ) throws(Refusal) {
        guard duration >= limits.minimumSnooze, duration <= limits.maximumSnooze else {
            throw .limitExceeded(
                "the snooze is \(duration.text); it is \(limits.minimumSnooze.text) to "
                    + "\(limits.maximumSnooze.text), in seconds")
        }
        let muted = try loadToSnooze(id, at: now, reader)
        try requireKnown(id)
        guard let event = muted?.event ?? events[id].flatMap({ $0.isUndecided ? nil : $0.event }) else {
            throw .invalidEvent("event \(id) was neither shown nor muted; only such an event can be snoozed")
        }
        if let refusal = roomToSnooze(id, bytes: event.memoryCost) { throw refusal }
        var isUpElsewhere = false
        if let muted {
            keep(event, age: muted.age, in: .snoozed, at: now)
        } else {
            if case .gone = events[existing: id].place { isUpElsewhere = event.isShownByPublisher }
            putAside(id)
        }
        events[existing: id].isSnoozed = true
        note(.snooze, of: id, by: caller, .recorded, at: now)
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
                "event \(id) is \(outcome.rawValue)\(isRead ? " and read" : ""); only an unread event that is shown or muted "
                    + "can be snoozed")
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

    private func roomToSnooze(_ id: EventID, bytes: Int) -> Refusal? {
        guard snoozes[id] == nil else { return nil }
        if snoozes.count >= limits.snoozes {
            return .limitExceeded(
                "snoozed events: there are \(limits.snoozes) already; claim one, or wait until it is due")
        }
        guard snoozes.values.reduce(bytes, { $0 + $1.bytes }) > limits.snoozeBytes else { return nil }
        return .limitExceeded(
            "bytes of snoozed events: with this event it would be more than \(limits.snoozeBytes); "
                + "claim one, or wait until it is due")
    }

    /// Takes a decided event out of its banner. The banner is closed, or updated for what is left behind it.
    private mutating func putAside(_ id: EventID) {
        var tracked = take(id)
        retractable.remove(id)
        markOutdated(tracked)
        closeBannerIfEmpty(without: tracked)
        tracked.place = .snoozed
        // It may have waited for the server after an earlier snooze.
        tracked.expiryTimer = nil
        keep(tracked)
    }

    /// Also for one that is due already: its timer fires at once.
    mutating func beginSnooze(of id: EventID, until due: Uptime) {
        let bytes = events[id]?.event.memoryCost ?? 0
        snoozes[id] = Snooze(due: due, timer: lifetimeTimers.schedule(.snooze(id), at: due), bytes: bytes)
        haveSnoozesChanged = true
    }

    /// A banner shows the event again, if it was snoozed.
    mutating func cameBack(_ id: EventID) {
        guard events[existing: id].isSnoozed else { return }
        events[existing: id].isSnoozed = false
        endSnooze(of: id)
    }

    /// The effect follows at the end of the input, once for all.
    mutating func endSnooze(of id: EventID) {
        if snoozes.removeValue(forKey: id) != nil { haveSnoozesChanged = true }
    }

    /// The event asks for a banner again, unless it is claimed by a screen or held back. Its lifetime does not count: whoever
    /// snoozed it wants to see it. It may wait for the notification server as long as an event without a lifetime of its own.
    mutating func snoozeEnded(_ id: EventID, at now: Now) {
        guard let tracked = events[id], case .snoozed = tracked.place else { return }
        if let claim = standingClaim(on: tracked.event.topic) {
            applyClaim(id, by: claim.claimant, as: claim.form, at: now)
            return
        }
        events[existing: id].deadline = now.instant
        events[existing: id].expires = now.uptime + Limits.defaultLifetime
        queueOrDiscard(id, for: tracked.event.key, at: now)
    }

    /// A snooze of an earlier run. What became due meanwhile comes at once.
    mutating func restore(_ restored: Restoration.Remembered<RestoredBanner.Shown>, at now: Now) {
        let (event, age) = (restored.subject.event, restored.subject.age)
        guard events[event.id] == nil, roomToSnooze(event.id, bytes: event.memoryCost) == nil else { return }
        keep(event, age: age, in: .snoozed, at: now)
        events[existing: event.id].isSnoozed = true
        beginSnooze(of: event.id, until: now.uptime + restored.left)
    }
}
