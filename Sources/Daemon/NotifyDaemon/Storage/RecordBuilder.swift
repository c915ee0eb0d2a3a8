import Journal
import Routing

/// Makes records of announcements and resolutions.
struct RecordBuilder {
    /// The unique name of the notification server, which its banner numbers belong to.
    let server: String?

    /// An undecided event as it was stored when it was accepted. A snoozed one counts as shown.
    func stored(_ open: Router.Undecided, _ clock: WallClock) -> StoredEvent {
        var event = stored(
            open.event, window: open.window, accepted: clock.moment(open.accepted), expires: open.expires, clock)
        // Another event may be the topic's value by now.
        event.retained = open.isValue
        if open.isSnoozed { event.decision = StoredDecision(outcome: .shown, resolved: event.accepted) }
        return event
    }

    func stored(
        _ event: Event, window: Duration?, accepted: Int64, expires: Uptime, _ clock: WallClock
    ) -> StoredEvent {
        StoredEvent(
            id: event.id, topic: event.topic, title: event.title, body: event.body, fields: event.fields,
            published: event.published, sender: event.sender, origin: event.origin, urgency: event.urgency,
            collapse: event.collapse?.text, retained: event.retained, appearance: event.appearanceOptions,
            route: event.route.name, key: event.key.description, window: window?.microseconds ?? 0, accepted: accepted,
            expires: Expiry(wall: clock.moment(expires), uptime: expires.microseconds, boot: clock.boot))
    }

    func record(_ id: EventID, _ silence: Silence, _ clock: WallClock) -> Record {
        var decision = StoredDecision(outcome: .silent, resolved: clock.wall)
        decision.cause = silence.rawValue
        return .decided(id, decision)
    }

    func record(_ removal: ValueRemoval, leaving version: ValueVersion?, _ clock: WallClock) -> Record {
        let stored = StoredRemoval(
            id: removal.id, topic: removal.topic, origin: removal.origin, published: removal.published,
            removed: clock.wall, cause: removal.cause)
        return .removed(stored, leaving: version)
    }

    /// - Parameter identity: the notification server and the bus that it is on.
    func record(_ banner: BannerID, first: EventID, isSummary: Bool, at identity: String?) -> Record? {
        identity.map {
            .bannerUp(StoredBanner(number: banner.rawValue, server: $0, first: first, isSummary: isSummary))
        }
    }

    func record(_ id: EventID, _ resolution: Resolution, by program: String?, _ clock: WallClock) -> Record {
        var decision = StoredDecision(outcome: resolution.outcome, resolved: clock.wall)
        decision.opened = resolution.opened.map { clock.moment($0) }
        decision.deadline = resolution.deadline.map { clock.moment($0) }
        decision.claimant = resolution.claimant
        decision.latency = resolution.latency?.microseconds
        decision.form = resolution.form
        decision.isReplayed = resolution.isReplayed
        decision.isOfEarlierBoot = resolution.isOfEarlierBoot
        decision.banner = resolution.banner?.rawValue
        decision.server = resolution.banner == nil ? nil : server
        decision.shownWith = resolution.shownWith
        decision.count = resolution.count
        decision.lateness = resolution.lateness?.microseconds
        decision.delay = resolution.delay
        decision.verdict = verdict(resolution)
        decision.successor = resolution.successor
        let quiet = resolution.quiet.map { MuteCause($0, digest: resolution.digest, clock).description }
        if resolution.outcome == .muted { decision.cause = quiet } else { decision.brokenThrough = quiet }
        decision.action = resolution.action
        decision.program = program
        decision.place = resolution.place
        return .decided(id, decision)
    }

    /// The verdict of the claim that decided an event.
    private func verdict(_ resolution: Resolution) -> Verdict? {
        switch resolution.outcome {
        case .claimed: .suppressed
        case .retracted: resolution.verdict == .recorded ? .recorded : .retracted
        case .dismissed, .withdrawn: resolution.verdict
        case .shown, .silent, .muted, .expired, .replaced: nil
        }
    }

    /// - Parameter quiet: the schedules in it are not stored, because the configuration has them, nor what the desktop
    ///   says.
    func record(_ quiet: [Quiet], lifted: [ActiveSchedule.Period], _ clock: WallClock) -> Record {
        .quietReplaced(
            quiet.filter { $0.cause == .paused || $0.cause == .muted }.map { quiet in
                StoredQuiet(topic: quiet.topic, cause: quiet.cause, end: quiet.ends.map { end($0, clock) })
            }
                + lifted.map { StoredQuiet(topic: $0.topic, cause: .schedule, end: nil, began: $0.began) })
    }

    func record(_ snoozed: [Router.Snoozed], _ clock: WallClock) -> Record {
        .snoozesReplaced(snoozed.map { StoredSnooze(event: $0.id, end: end($0.due, clock)) })
    }

    func stored(_ awaited: AwaitedClaim, _ clock: WallClock) -> StoredAwaited {
        StoredAwaited(awaited.claim, end: end(awaited.expires, clock))
    }

    private func end(_ moment: Uptime, _ clock: WallClock) -> StoredQuiet.End {
        StoredQuiet.End(
            moment: Expiry(wall: clock.moment(moment), uptime: moment.microseconds, boot: clock.boot),
            left: moment.microseconds - clock.now.uptime.microseconds)
    }
}
