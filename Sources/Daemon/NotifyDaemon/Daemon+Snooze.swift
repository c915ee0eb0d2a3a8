import Journal
import Routing
import Systemd

/// `Snooze`: the banner of a shown or muted event comes back later.
extension Daemon {
    func snooze(_ id: EventID, for duration: Duration, by caller: String, for call: RetainedMessage) throws(Refusal) {
        let muted = try loadForSnooze(id)
        try answer(.snoozed(id, for: duration, muted: muted, by: caller), to: call)
    }

    /// Loads an event that was shown long ago or by an earlier run.
    ///
    /// - Returns: the event, if it is muted: such events are not kept in memory.
    private func loadForSnooze(_ id: EventID) throws(Refusal) -> RestoredBanner.Shown? {
        try load(id, toDecide: false)
        guard !remembers(id) else { return nil }
        endTurn()
        try loadBanners()
        guard !remembers(id) else { return nil }
        guard let event = try storage.read({ journal throws(JournalError) in try journal.event(id) }),
            let decision = storage.current(event).decision
        else { return nil }
        switch decision.outcome {
        case .shown:
            try recall(event, decision)
            return nil
        // A later event may have taken its place.
        case .muted where !decision.isRead:
            return RestoredBanner.Shown(storage.event(event, routes: configuration.routes), age: clock.age(of: event))
        case .claimed, .retracted, .dismissed, .silent, .muted, .expired, .withdrawn, .replaced:
            throw .invalidEvent(
                "event \(id) is \(decision.outcome.rawValue)\(decision.isRead ? " and read" : ""); only an unread event that is "
                    + "shown or muted can be snoozed")
        }
    }

    /// When the banner of a snoozed event is due again, in microseconds since the epoch; `nil` for any other event.
    func snoozeEnd(of id: EventID) -> Int64? { router.snoozeEnd(of: id).map { clock.moment($0) } }
}
