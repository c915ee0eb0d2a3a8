@testable import Routing

/// `Snooze`: rule 17 of docs/design.md.
extension ReferenceRouter {
    /// The snoozed events, also those that are due and wait for the server.
    var snoozed: [Router.Snoozed] {
        items.compactMap { item in item.snooze.map { Router.Snoozed(id: item.id, due: $0.due) } }
            .sorted { $0.id < $1.id }
    }

    mutating func snooze(_ id: EventID, for time: Duration, by peer: String) {
        if time < limits.minimumSnooze || time > limits.maximumSnooze { return refuse("LimitExceeded") }
        guard isKnown(id) else { return refuse("UnknownEvent") }
        if item(id).map(\.isOpen) ?? (muted == nil) { return refuse("InvalidEvent") }
        if item(id)?.snooze == nil, snoozed.count >= limits.snoozes { return refuse("LimitExceeded") }
        out.append(.reply(.done))
        // What is behind the banner besides it stays there.
        var item = item(id) ?? Item(muted: muted!.event, accepted: now.instant.before(by: muted!.age))
        let isThere = self.item(id) != nil
        items.removeAll { $0.id == id }
        if isThere {
            outdate(item)
            leave(item)
        }
        shownOrder.removeAll { $0 == id }
        let isUpElsewhere = item.isOwnBanner && item.place == .gone
        item.place = .snoozed
        item.banner = item.key
        item.snooze = (now.uptime + time, stamp())
        items.append(item)
        note(.snooze, of: id, by: peer, .recorded)
        // Its publisher takes the banner down until then.
        if isUpElsewhere { resolve(item, Resolution(.muted)) }
    }

    /// Its time is over: it is for whoever claims its topic, or else for a banner.
    ///
    /// Inside choice: it has twelve hours for that.
    mutating func comeBack(_ id: EventID) {
        let (now, topic) = (now, item(id)!.topic)
        if let claim = standingClaim(on: topic) {
            return take(id, by: claim.claimant, as: claim.form, latency: now.instant - item(id)!.accepted)
        }
        change(id) { item in
            item.place = .held
            item.deadline = now.instant
            item.expires = now.uptime + Limits.defaultLifetime
        }
        showOrSettle(id)
    }
}

extension ReferenceRouter.Item {
    /// A muted event that the journal has.
    init(muted event: Event, accepted: Instant) {
        let key = ReferenceRouter.Key(
            event.route, event.topic, event.collapse?.text, event.id, isOwnBanner: event.isShownByPublisher)
        self.init(
            id: event.id, topic: event.topic, collapse: event.collapse?.text, sender: event.sender, route: event.route,
            accepted: accepted, expires: Uptime(microseconds: 0), key: key, isOwnBanner: event.isShownByPublisher,
            isCritical: event.shownUrgency == .critical, banner: key,
            windowEnds: accepted, windowOpened: accepted, windowLimit: accepted, windowStamp: 0, deadline: accepted,
            asked: [])
    }
}
