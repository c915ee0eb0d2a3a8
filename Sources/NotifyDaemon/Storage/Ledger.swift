import Journal
import Routing

/// What everybody is told is what is kept: makes journal entries of announcements and resolutions.
struct Ledger {
    /// The unique name of the notification server, whose banner numbers mean nothing elsewhere.
    let server: String?

    func entry(_ event: Event, _ announcement: Announcement, _ clock: WallClock) -> JournalEntry {
        let stored = StoredEvent(
            id: event.id, topic: event.topic, title: event.title, body: event.body, fields: event.fields,
            published: event.published, sender: event.sender, origin: event.origin, urgency: event.urgency,
            retained: event.retained, route: event.route.name, key: event.key.description,
            window: announcement.window?.microseconds ?? 0, accepted: clock.wall,
            expires: Expiry(
                wall: clock.moment(announcement.expires), uptime: announcement.expires.microseconds,
                boot: clock.boot))
        return .accepted(stored)
    }

    func entry(_ id: EventID, _ silence: Silence, _ clock: WallClock) -> JournalEntry {
        var decision = StoredDecision(outcome: .silent, resolved: clock.wall)
        decision.cause = silence.rawValue
        return .decided(id, decision)
    }

    /// - Parameter identity: the notification server and the bus that it is on.
    func entry(_ banner: BannerID, first: EventID, isSummary: Bool, at identity: String?) -> JournalEntry? {
        identity.map {
            .bannerUp(StoredBanner(number: banner.rawValue, server: $0, first: first, isSummary: isSummary))
        }
    }

    func entry(_ id: EventID, _ resolution: Resolution, by program: String?, _ clock: WallClock) -> JournalEntry {
        var decision = StoredDecision(outcome: resolution.outcome, resolved: clock.wall)
        decision.opened = resolution.opened.map { clock.moment($0) }
        decision.deadline = resolution.deadline.map { clock.moment($0) }
        decision.claimant = resolution.claimant
        decision.latency = resolution.latency?.microseconds
        decision.form = resolution.form
        decision.isReplayed = resolution.isReplayed
        decision.banner = resolution.banner?.rawValue
        decision.server = resolution.banner == nil ? nil : server
        decision.shownWith = resolution.shownWith
        decision.count = resolution.count
        decision.lateness = resolution.lateness?.microseconds
        decision.cause = resolution.quiet.map { MuteCause($0, clock).description }
        decision.action = resolution.action
        decision.program = program
        return .decided(id, decision)
    }

    func entry(_ quiet: [Quiet], _ clock: WallClock) -> JournalEntry {
        .quietReplaced(
            quiet.map { quiet in
                let end = quiet.ends.map { ends in
                    StoredQuiet.End(
                        moment: Expiry(wall: clock.moment(ends), uptime: ends.microseconds, boot: clock.boot),
                        left: ends.microseconds - clock.now.uptime.microseconds)
                }
                return StoredQuiet(topic: quiet.topic, cause: quiet.cause, end: end)
            })
    }
}
