import Journal
import Logging
import NotifyText
import Routing
import Systemd

/// The shell around the router: it passes inputs to the router, writes its decisions to the journal, and carries them
/// out.
///
/// It reaches the outside through its host, its storage's disk and the link to the notification server.
final class Daemon {
    let limits: Limits
    let storage: Storage
    let server: NotificationServer
    private(set) var configuration: Configuration
    var policy: Policy { configuration.policy }
    private(set) var router: Router

    let host: any Host
    var logger: Logger
    let outbox = Outbox()
    let jobs: Jobs
    var recovery: Recovery { jobs.recovery }
    var isRestored: Bool { recovery.isRestored }
    var denials: UInt64 = 0
    var news = News()
    var unnamedClaims = UnnamedClaims()

    init(
        configuration: Configuration, limits: Limits = Limits(), recoveryPortion: Int = Recovery.usualPortion,
        storage: Storage, link: any NotificationLink, host: any Host, logger: Logger
    ) {
        self.configuration = configuration
        self.limits = limits
        jobs = Jobs(recoveryPortion: recoveryPortion)
        self.storage = storage
        storage.retention = configuration.history
        self.host = host
        self.logger = logger
        server = NotificationServer(link: link, clock: { [unowned host] in host.now.instant }, logger: logger)
        router = Router(
            routes: configuration.routes, banners: configuration.banners, screens: configuration.screens,
            limits: limits, firstID: storage.firstID(at: host.wall), oldestID: EventID(0))
    }

    /// Resumes the state of earlier runs. From now on the host makes the calls.
    func start() {
        server.onInput = { [unowned self] in handle($0) }
        server.isWanted = { [unowned self] in router.isCurrent($0) }
        server.isKnown = { [unowned self] in router.knows($0) || recovery.awaits($0) }
        server.onChange = { [unowned self] in host.show(status: status) }
        storage.onDegradation = { [unowned self] in
            news.isDegradationUnannounced = true
            // The end of a turn has it tried again.
            host.endTurnWhenIdle()
        }
        if !storage.degradation.isEmpty { host.endTurnWhenIdle() }
        host.watchNames(in: storage.journal.directory)
        // Restored events may be muted by a schedule.
        updateSchedules()
        router.device = storage.seed.map(host.device) ?? ""
        recovery.begin(in: self)
        jobs.retry.checkIntegrity(self)
    }

    /// The journal may have been replaced by another one, which has another device name.
    func updateDevice() {
        let name = storage.seed.map(host.device) ?? ""
        guard name != router.device else { return }
        router.device = name
        host.send(.propertiesChanged([.device]))
    }

    // MARK: Deciding

    var clock: WallClock { clock(at: host.now) }

    private func clock(at now: Now) -> WallClock { WallClock(wall: host.wall, now: now, boot: host.boot) }

    /// Handles a call. Its reply is put into the outbox before the effects that follow from it, and leaves when the
    /// turn ends.
    func answer(_ call: Call, to message: RetainedMessage) throws(Refusal) {
        // Only events that can be stored are accepted.
        if case .published(let publication) = call {
            // A removal makes room, and takes no more than an outcome.
            guard storage.acceptsEvents || publication.options.remove && storage.isWritable else {
                router.countRefusal()
                throw storage.refusal
            }
            try requireSignalQueueSpace()
        }
        // A claim that waits for its event has to be stored, as an event has.
        if case .claimedNamed(_, nil) = call, !storage.acceptsEvents { throw .storageUnavailable(storage.degradation) }
        try jobs.marks.requireRoom(for: call, in: self)
        var now = host.now
        if outbox.turn.isTooLong(at: now.instant) || storage.isTurnLarge {
            finishTurn()
            now = host.now
        }
        outbox.turn.messageArrived(at: now.instant)
        host.endTurnWhenIdle()
        if router.isCold(call) {
            endTurn()
            now = host.now
        }
        let (reply, effects) = router.handle(call, at: now, reading: self)
        switch (call, reply) {
        case (.topicClaimed(_, .read, _), .success(.count(let count))): jobs.marks.answer(message, counting: count)
        case (_, .success(let reply)): sendAfterCommit(.reply(reply, to: message))
        case (_, .failure): break
        }
        perform(effects, at: now)
        if case .failure(let refusal) = reply { throw refusal }
    }

    /// The event of a global name, or the removal or forgotten event that had it; `nil` if there is none.
    func knownEvent(named origin: Origin) throws(Refusal) -> EventID? {
        let id = try router.event(named: origin, at: host.now, self)
        guard let id, storage.isUnconfirmed(id) else { return id }
        // If it cannot be stored, it has not come, and its claim must not be lost.
        endTurn()
        return try router.event(named: origin, at: host.now, self)
    }

    /// - Parameter identity: what is known about the caller.
    func namedClaim(
        of origin: Origin, _ options: NamedClaimOptions, by caller: String, identity: [Field]
    ) -> NamedClaim {
        let left = options.expires.map { $0 > host.wall ? $0 - host.wall : 0 }
        return NamedClaim(
            name: router.name(of: origin), origin: origin, kind: options.kind, claimant: caller, place: options.place,
            identity: identity, left: left.map { .microseconds($0) })
    }

    func remembers(_ id: EventID) -> Bool { router.remembersInPlace(id) }

    /// Whether a caller's program must be known before its calls are handled.
    var isCrowded: Bool { router.isCrowded }

    func handle(_ happening: Happening) {
        if case .banner(_, .shown) = happening { Failpoint.beforeOutcome.hit() }
        if case .server(.gone) = happening { recovery.forgetBanners() }
        restoreBanners(before: happening)
        if case .actionInvoked(let banner, let action) = happening, router.knows(banner),
            !router.offers(action, on: banner)
        {
            return server.logUnknownAction(action, on: banner)
        }
        let now = host.now
        perform(router.handle(happening, at: now), at: now)
    }

    /// Handles a call without a caller.
    ///
    /// - Returns: the answer; it is not sent.
    @discardableResult
    func handle(_ call: Call) -> Result<Reply, Refusal> {
        let now = host.now
        let (reply, effects) = router.handle(call, at: now, reading: self)
        perform(effects, at: now)
        return reply
    }

    /// Announces a pressed button, once the entries of this turn are committed.
    func announce(_ action: String, of event: Event) {
        outbox.append(.signal(.action(event, action), about: nil, at: host.now.instant))
        host.endTurnWhenIdle()
    }

    /// Turns effects, in the router's order, into records for the storage and items for the outbox. `endTurn` commits
    /// all records of the turn, and only then sends the items, in the order in which they were appended: a call's reply
    /// first (`answer` has appended it), then what follows from the call.
    ///
    /// So the order of effects is
    /// - the order of records in the journal, and of the numbers of `Changes`: an event comes before its outcome, and a
    ///   bridge that reads rows in order never meets the outcome of an event that it does not know;
    /// - the order of signals: a subscriber gets `Event` before `Resolved`, and hears of an event before those that it
    ///   replaces are resolved;
    /// - of no importance for effects that neither store nor send, such as `armTimer`, `countDigests` and
    /// `startServer`.
    ///
    /// The record of an effect is appended before its signal, and `about:` names the event that the signal needs: if
    /// the journal refuses that event, the signal is dropped with it. Banners that need not wait for the commit leave
    /// before it; see `Outbox`.
    private func perform(_ effects: [Effect], at now: Now) {
        guard !effects.isEmpty else { return }
        let clock = clock(at: now)
        let records = RecordBuilder(server: server.holder, clock: clock)
        // An event is in one transaction with the ends of those whose place it takes.
        lazy var takesPlace = effects.contains { effect in
            if case .resolve(_, _, let resolution) = effect { resolution.successor != nil } else { false }
        }
        for effect in effects {
            switch effect {
            case .announce(let event, let announcement):
                // A replayed event is in the journal already.
                if !announcement.isReplayed {
                    let stored = records.stored(
                        event, window: announcement.window, accepted: clock.wall, expires: announcement.expires)
                    storage.append(.accepted(stored))
                    if let silence = announcement.silence { storage.append(records.record(event.id, silence)) }
                    // A digest and what is owed after it are in one transaction, so that no event is counted twice.
                    if isRestored, event.id == router.unstoredDigest {
                        storage.append(.digestsReplaced(router.owedDigests))
                    }
                }
                outbox.append(.signal(.event(event, announcement), about: event.id, at: now.instant))
                log(event)
            case .resolve(let id, let topic, let resolution):
                let program = program(of: resolution.claimant, claiming: id)
                storage.append(records.record(id, resolution, by: program))
                if storage.isTurnLong, !takesPlace { storage.commitPending() }
                // Where its successor is refused, a replaced event keeps its place.
                let needed = resolution.successor ?? id
                outbox.append(.signal(.resolved(id, topic, resolution), about: needed, at: now.instant))
                log(id, topic, resolution)
            case .read(.event(let id), let claimant, _, let place):
                storage.append(.read(id, by: claimant, at: clock.wall, from: place))
                jobs.marks.count()
            case .awaited(let origin, let claim):
                storage.append(claim.map { .awaited(records.stored($0)) } ?? .awaitedGone(origin))
            case .remove(let removal, let version, let isNews):
                storage.append(records.record(removal, leaving: version))
                // A value whose lifetime is zero ends the earlier one at once, but not if it is refused.
                let needed = removal.cause == .replaced ? version?.id : nil
                if isNews {
                    outbox.append(.signal(.removed(removal.topic, removal.id), about: needed, at: now.instant))
                }
            case .read(.topic(let topic, let last), let claimant, let form, _):
                jobs.marks.add(topic, upTo: last, by: claimant, as: form, owner: host.owner(of: claimant))
            case .screensChanged(let topic, let isAttended):
                outbox.append(.signal(.screens(topic, isAttended: isAttended), about: nil, at: now.instant))
            case .changed(let tables):
                news.unwritten.formUnion(tables)
                if tables.contains(.quiet) { news.isQuietUnannounced = true }
            case .countDigests: jobs.digests.begin()
            case .noteClaim(let id, var claim):
                claim.program = program(of: claim.claimant, claiming: id)
                storage.append(.claimed(id, claim))
            case .showBanner(let request): outbox.append(.show(request))
            case .startServer: server.start()
            case .keepBanner(.up(let id, let first, let isSummary)):
                let entry = records.record(id, first: first, isSummary: isSummary, at: server.identity)
                if let entry { storage.append(entry) }
            case .keepBanner(.gone(let id)): storage.append(.bannerGone(id.rawValue))
            case .keepBanner(.closed(let id)):
                storage.append(.bannerGone(id.rawValue))
                outbox.append(.close(id))
            case .keepBanner(.allGone): storage.append(.allBannersGone)
            case .relayAction(let event, let action):
                outbox.append(.relay(event, action: action, token: server.takeActivationToken()))
            case .armTimer(let instant, let uptime):
                if let instant { host.armWindowTimer(at: instant) }
                if let uptime { host.armLifetimeTimer(at: uptime) }
            }
        }
        host.endTurnWhenIdle()
    }

    // MARK: The end of a turn

    /// Sends a message once the entries of this turn are committed.
    func sendAfterCommit(_ message: Outgoing) {
        outbox.append(.message(message))
        host.endTurnWhenIdle()
    }

    /// Called for calls that never reach the router, so that a stream of them does not put the commit off.
    func endTurnIfTooLong() {
        if outbox.turn.isTooLong(at: host.now.instant) { finishTurn() }
    }

    /// Called when the loop is idle, or when a turn has become too long.
    func finishTurn() {
        outbox.turn.ended()
        endTurn()
        jobs.step(in: self)
    }

    /// Commits the entries and empties the outbox.
    func endTurn() {
        deliver(outbox.takeBannersReadyBeforeCommit(), refusing: [])
        let tables = recordTables()
        let refused = storage.commit()
        announceDegradation()
        let items = outbox.takeAll()
        jobs.memory.noteTurn(sending: items.count, at: host.now.instant)
        deliver(items, refusing: Set(refused))
        keepUnwritten(tables)
        announceQuiet()
        // Replies come before signals that have waited already.
        sendQueuedSignals()
        announceChanges()
        jobs.rescue.committed(refusing: refused)
        if !refused.isEmpty {
            handle(.stored(except: refused))
            // A banner may show an event that was refused: none is sent, and the router makes new ones.
            for case .show(let request) in items { handle(.banner(request.call, .failed(.notAsked))) }
        } else if router.awaitsStored {
            handle(.stored(except: []))
        }
    }

    private func announceDegradation() {
        guard news.isDegradationUnannounced else { return }
        news.isDegradationUnannounced = false
        host.send(.propertiesChanged([.degraded]))
        host.show(status: status)
    }

    private func announceChanges() {
        let newest = storage.newestChange
        guard newest != news.announcedChange else { return }
        news.announcedChange = newest
        host.changesCommitted()
    }

    /// Gives back what the daemon can do without for a while: events whose banners are gone, pages of the index, free
    /// memory and code.
    func releaseMemory() {
        // Otherwise a late claim would not find them.
        if storage.isWritable { router.forgetGone() }
        storage.journal.releaseMemory()
        host.releaseMemory()
    }

    // MARK: Orders

    /// Commits and sends everything before the daemon ends.
    func finish() {
        endTurn()
        if isRestored, !storage.degradation.isEmpty {
            // The disk may have room again, and the retry timer would fire too late.
            jobs.retry.write(self)
            news.unwritten = .all
            endTurn()
        }
        storage.close()
    }

    func reconfigure(_ loaded: Configuration, logLevel: Logger.Level) {
        let windowChanged = loaded.defaultWindow != configuration.defaultWindow
        configuration = loaded
        storage.retention = loaded.history
        logger.logLevel = logLevel
        handle(.reconfigured(loaded.routes, loaded.banners, loaded.screens))
        updateSchedules()
        if windowChanged { host.send(.propertiesChanged([.defaultWindow])) }
        // Retention applies at the end of a turn.
        host.endTurnWhenIdle()
    }
}

/// Makes records of what the router has decided at a moment.
struct RecordBuilder {
    /// The unique name of the notification server, which its banner numbers belong to.
    let server: String?
    let clock: WallClock

    /// An undecided event as it was stored when it was accepted. A snoozed one counts as shown.
    func stored(_ open: Router.Undecided) -> StoredEvent {
        var event = stored(
            open.event, window: open.window, accepted: clock.moment(open.accepted), expires: open.expires)
        // Another event may be the topic's value by now.
        event.retained = open.isValue
        if open.isSnoozed { event.decision = StoredDecision(outcome: .shown, resolved: event.accepted) }
        return event
    }

    func stored(_ event: Event, window: Duration?, accepted: Int64, expires: Uptime) -> StoredEvent {
        StoredEvent(
            id: event.id, topic: event.topic, title: event.title, body: event.body, fields: event.fields,
            published: event.published, sender: event.sender, origin: event.origin, urgency: event.urgency,
            collapse: event.collapse?.text, retained: event.retained, appearance: event.appearanceOptions,
            route: event.route.name, key: event.key.description, window: window?.microseconds ?? 0, accepted: accepted,
            expires: clock.expiry(expires))
    }

    func record(_ id: EventID, _ silence: Silence) -> Record {
        var decision = StoredDecision(outcome: .silent, resolved: clock.wall)
        decision.cause = silence.rawValue
        return .decided(id, decision)
    }

    func record(_ removal: ValueRemoval, leaving version: ValueVersion?) -> Record {
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

    func record(_ id: EventID, _ resolution: Resolution, by program: String?) -> Record {
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
    func record(_ quiet: [Quiet], lifted: [ActiveSchedule.Period]) -> Record {
        .quietReplaced(
            quiet.filter { $0.cause == .paused || $0.cause == .muted }.map { quiet in
                StoredQuiet(topic: quiet.topic, cause: quiet.cause, end: quiet.ends.map { end($0) })
            }
                + lifted.map { StoredQuiet(topic: $0.topic, cause: .schedule, end: nil, began: $0.began) })
    }

    func record(_ snoozed: [Router.Snoozed]) -> Record {
        .snoozesReplaced(snoozed.map { StoredSnooze(event: $0.id, end: end($0.due)) })
    }

    func stored(_ awaited: AwaitedClaim) -> StoredAwaited {
        StoredAwaited(awaited.claim, end: end(awaited.expires))
    }

    private func end(_ moment: Uptime) -> StoredQuiet.End {
        StoredQuiet.End(
            moment: clock.expiry(moment), left: moment.microseconds - clock.now.uptime.microseconds)
    }
}
