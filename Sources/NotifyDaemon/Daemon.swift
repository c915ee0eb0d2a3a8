import Journal
import Logging
import Routing

/// The shell around the router: it feeds in what happens on the bus and on the clocks, keeps what is decided, and does it.
///
/// Everything outside comes through its host, its storage's disk and the link to the notification server.
final class Daemon<Outside: Host> {
    let limits: Limits
    let storage: Storage
    let server: NotificationServer
    private(set) var configuration: Configuration
    var policy: Policy { configuration.policy }
    private(set) var router: Router

    let host: Outside
    private var logger: Logger
    private let outbox = Outbox<Outside.Message, Outside.Call>()
    private var fanOut = FanOut()
    private var turn = Turn()
    /// What is still to be read of earlier runs; `nil` before there is a journal, and afterwards.
    private var recovery: Recovery?
    private let recoveryPortion: Int
    /// When the windows of a long recovery will have ended, and what these took can be given back.
    private var releasesMemoryAt: Instant?
    private var isRestored = false
    private var isRetryArmed = false
    private var isExamining = false
    private var denials: UInt64 = 0

    init(
        configuration: Configuration, limits: Limits = Limits(), recoveryPortion: Int = Recovery.usualPortion,
        storage: Storage, link: any NotificationLink, host: Outside, logger: Logger
    ) {
        self.configuration = configuration
        self.limits = limits
        self.recoveryPortion = recoveryPortion
        self.storage = storage
        self.host = host
        self.logger = logger
        server = NotificationServer(link: link, clock: { [unowned host] in host.now.instant }, logger: logger)
        router = Router(
            routes: configuration.routes, banners: configuration.banners, screens: configuration.screens,
            limits: limits, firstID: storage.firstID(at: host.wall), oldestID: EventID(0))
    }

    /// Goes on where an earlier run stopped; from now on the host calls.
    func start() {
        server.onInput = { [unowned self] in take($0) }
        server.isWanted = { [unowned self] in router.stillWants($0) }
        server.onChange = { [unowned self] in host.statusChanged() }
        storage.onDegradation = { [unowned self] words in
            if !words.isEmpty { armRetry() }
            host.degradationChanged()
            host.statusChanged()
        }
        if !storage.degradation.isEmpty { armRetry() }
        restore()
        examineJournal()
    }

    // MARK: Deciding

    private var clock: WallClock { WallClock(wall: host.wall, now: host.now, boot: host.boot) }

    /// Has the router decide about a call, lets the reply leave when the turn ends, and only then has everything else done
    /// that follows from it.
    func answer(_ input: Input, to call: Outside.Call) throws(Refusal) {
        // Nothing is accepted that cannot be kept.
        if case .published = input {
            guard storage.isWritable else { throw .storageUnavailable(storage.degradation) }
            try requireFanOut()
        }
        var now = host.now
        if turn.isTooLong(at: now.instant) {
            turnIsOver()
            // Timers have had to wait for the messages.
            take(.timerFired)
            now = host.now
        }
        turn.messageArrived(at: now.instant)
        host.endTurnWhenIdle()
        let effects = router.handle(input, at: now)
        guard case .reply(let reply) = effects.first else {
            preconditionFailure("the router replies to every call before it does anything else")
        }
        if case .refused(let refusal) = reply {
            // What else there is to do, such as setting a timer, is done all the same.
            perform(effects.dropFirst())
            throw refusal
        }
        var accepted: EventID?
        if case .accepted(let id) = reply { accepted = id }
        leave(host.reply(reply, to: call), to: call, accepting: accepted)
        perform(effects.dropFirst())
    }

    /// Has the router decide about something nobody waits for.
    func take(_ input: Input) {
        if case .bannerShown = input { Failpoint.beforeOutcome.pass() }
        perform(router.handle(input, at: host.now)[...])
    }

    /// Closes a screen whose owner has not asked for it: the reply that comes first is nobody's.
    func closeScreen(_ id: ScreenID, of owner: String) {
        perform(router.handle(.screenClosed(id, by: owner), at: host.now).dropFirst())
    }

    /// Keeps what is to be kept, and puts what is to leave into the outbox, until the turn ends.
    private func perform(_ effects: ArraySlice<Effect>) {
        guard !effects.isEmpty else { return }
        let clock = clock
        let now = clock.now.instant
        let ledger = Ledger(server: server.owner, muteCause: router.pausesBanners ? "paused" : "muted")
        for effect in effects {
            switch effect {
            case .reply: preconditionFailure("only a call is replied to, and its reply comes first")
            case .announce(let event, let announcement):
                for entry in ledger.entries(event, announcement, clock) { storage.note(entry) }
                outbox.put(.signal(.event(event, announcement), about: event.id, at: now))
                log(event)
            case .resolve(let id, let topic, let resolution):
                storage.note(ledger.entry(id, resolution, clock))
                outbox.put(.signal(.resolved(id, topic, resolution), about: id, at: now))
                log(id, topic, resolution)
            case .remove(let topic, let id, let origin, let isNews):
                storage.note(.removed(topic, id, origin, accepted: clock.wall))
                if isNews { outbox.put(.signal(.removed(topic, id), about: nil, at: now)) }
            case .noteClaim(let id, let claim): storage.note(.claimed(id, claim))
            case .showBanner(let request): outbox.put(.show(request))
            case .closeBanner(let id): outbox.put(.close(id))
            case .relayAction(let event, let action):
                outbox.put(.relay(event, action: action, token: server.takeActivationToken()))
            case .armTimer(let instant): host.armWindowTimer(at: instant)
            case .armLifetimeTimer(let uptime): host.armLifetimeTimer(at: uptime)
            }
        }
        host.endTurnWhenIdle()
    }

    // MARK: The end of a turn

    /// Lets a reply leave when what it acknowledges is on disk.
    func leave(_ reply: Outside.Message, to call: Outside.Call, accepting id: EventID? = nil) {
        outbox.put(.reply(reply, to: call, accepting: id))
        host.endTurnWhenIdle()
    }

    /// There is nothing else to do.
    func turnIsOver() {
        turn.ended()
        endTurn()
        announceMore()
        releaseMemory()
    }

    /// Commits, and lets everything leave that was decided.
    func endTurn() {
        let refused = storage.commit()
        let items = outbox.takeAll()
        deliver(items, refusing: Set(refused))
        // Replies come before what everybody has waited for already.
        fanOutMore()
        if !refused.isEmpty {
            take(.withdrawn(refused))
            // A banner may speak of what was refused: none goes out, and the router makes new ones of what is left.
            for case .show(let request) in items { take(.bannerFailed(request.call, .notAsked)) }
        }
        if storage.expire(at: host.wall) { host.endTurnWhenIdle() }
        if !storage.degradation.isEmpty { armRetry() }
    }

    /// - Parameter refused: events that could not be kept: their publishers hear so, and nobody else hears of them.
    private func deliver(_ items: [Outbox<Outside.Message, Outside.Call>.Item], refusing refused: Set<EventID>) {
        for item in items {
            switch item {
            case .reply(let reply, let call, let id):
                if let id, refused.contains(id) {
                    host.send(host.refusal(.storageUnavailable(storage.degradation), of: call))
                } else {
                    host.send(reply)
                    Failpoint.afterReply.pass()
                }
            case .signal(let signal, let id, let moment):
                if let id, refused.contains(id) { continue }
                announce(signal, decided: moment)
            case .show(let request):
                guard refused.isEmpty else { continue }
                Failpoint.beforeNotify.pass()
                server.show(request, BannerText(request, templates: configuration.texts[request.newest.route.name]))
                Failpoint.afterNotify.pass()
            case .close(let id): server.close(id)
            case .relay(let event, let action, let token):
                announce(.action(event, action), decided: host.now.instant)
                host.run(action, of: event, by: configuration.routes.route(for: event.topic), token: token)
            }
        }
    }

    // MARK: Signals

    /// Tells everybody, now or when what came before has left and the bus has room.
    private func announce(_ signal: FanOut.Signal, decided moment: Instant) {
        guard fanOut.isEmpty, host.queuedBytes < FanOut.queueLimit, emit(signal, waited: host.now.instant - moment)
        else {
            fanOut.put(signal, at: moment)
            return armFanOut()
        }
    }

    /// Sends what has waited, as far as there is room.
    private func fanOutMore() {
        while let (signal, since) = fanOut.first {
            guard host.queuedBytes < FanOut.queueLimit, emit(signal, waited: host.now.instant - since) else {
                return armFanOut()
            }
            fanOut.removeFirst()
        }
    }

    private func armFanOut() {
        host.armRecoveryTimer(at: host.now.instant + FanOut.pause)
    }

    /// - Returns: false when the signal cannot be made now, because the journal cannot be read.
    private func emit(_ signal: FanOut.Signal, waited: Duration) -> Bool {
        switch signal {
        case .event(let event, let announcement):
            host.send(host.announcement(event, announcement.after(waited)))
        case .stored(let id, let announcement):
            guard storage.isWritable else { return false }
            // One that is damaged or out of date is not in the journal any more.
            let found = try? storage.read({ journal throws(JournalError) in try journal.event(id) })
            guard let found = found ?? nil else { return true }
            let event = storage.event(found, routes: configuration.routes)
            return emit(.event(event, announcement), waited: waited)
        case .resolved(let id, let topic, let resolution): host.send(host.resolution(id, topic, resolution))
        case .removed(let topic, let id): host.send(host.removal(topic, id))
        case .action(let event, let action): host.send(host.action(event, action))
        }
        Failpoint.afterSignal.pass()
        return true
    }

    /// Nothing is accepted of which nobody could be told.
    private func requireFanOut() throws(Refusal) {
        guard fanOut.isFull else { return }
        throw .limitExceeded(
            "signals that wait for the bus: there are \(fanOut.count) already; try again when the bus has taken some")
    }

    /// Whether signals wait for the bus.
    var hasWaitingSignals: Bool { !fanOut.isEmpty }

    // MARK: The journal

    /// Goes on where an earlier run stopped, as soon as there is a journal to read that from.
    private func restore() {
        guard !isRestored else { return }
        do throws(Refusal) {
            let clock = clock
            var restoration = try storage.restoration(at: clock)
            recovery = try Recovery(from: storage, limits: limits, portion: recoveryPortion, at: clock.wall)
            restoration.remaining = recovery?.remaining
            isRestored = true
            take(.restored(restoration))
            host.endTurnWhenIdle()
        } catch {
            // Degraded says why, and it is tried again.
        }
    }

    /// Reads the next portion of what earlier runs left, unless the bus has not taken the last one.
    private func announceMore() {
        guard recovery != nil else { return }
        guard fanOut.isEmpty, host.queuedMessages < Recovery.queue else {
            return host.armRecoveryTimer(at: host.now.instant + .milliseconds(5))
        }
        do throws(Refusal) {
            let clock = clock
            let restoration =
                recovery!.hasNames
                ? storage.restoration(of: try recovery!.names(from: storage), limits: limits, at: clock.wall)
                : restoration(of: try recovery!.events(from: storage))
            if recovery!.isOver { endRecovery() }
            take(.restored(restoration))
            host.endTurnWhenIdle()
        } catch {
            host.armRecoveryTimer(at: host.now.instant + .seconds(1))
        }
    }

    private func endRecovery() {
        if recovery!.isLong {
            releasesMemoryAt = host.now.instant + configuration.recoveryWindow + .seconds(1)
        }
        recovery = nil
    }

    private func releaseMemory() {
        guard let moment = releasesMemoryAt else { return }
        guard moment <= host.now.instant else {
            // Signals that wait have the timer to themselves.
            if fanOut.isEmpty { host.armRecoveryTimer(at: moment) }
            return
        }
        releasesMemoryAt = nil
        host.releaseMemory()
    }

    private func restoration(of events: [StoredEvent]) -> Restoration {
        var restoration = storage.restoration(
            of: events, routes: configuration.routes, minimumWindow: configuration.recoveryWindow, at: clock)
        restoration.remaining = recovery?.remaining
        return restoration
    }

    /// Those who ask again and again must not put it off.
    private func armRetry() {
        guard !isRetryArmed else { return }
        isRetryArmed = true
        host.armRetryTimer(at: host.now.instant + .seconds(1))
    }

    /// To be called by the timer for it.
    func retryStorage() {
        isRetryArmed = false
        storage.retry(at: host.wall)
        guard storage.degradation.isEmpty else { return armRetry() }
        if isRestored, let values = try? storage.restoredValues(at: clock) { take(.restored(values)) }
        restore()
        examineJournal()
        // Retention goes on in turns.
        host.endTurnWhenIdle()
    }

    /// Has a large journal looked at beside everything else.
    private func examineJournal() {
        guard !isExamining, let file = storage.beginExamination() else { return }
        isExamining = true
        host.examine(file) { [unowned self] result in
            isExamining = false
            storage.endExamination(result)
            // It may have been opened anew meanwhile.
            examineJournal()
            // Retention knows now how many events there are.
            host.endTurnWhenIdle()
        }
    }

    /// Sees to it that the router knows of an event to which somebody refers: one that was shown long ago, or by an earlier
    /// run, is taken into memory again when it is claimed.
    ///
    /// It is not to stay there otherwise: whether it is the last one behind its banner may change.
    func recall(_ id: EventID, isClaimed: Bool) throws(Refusal) {
        guard !router.remembers(id), storage.isWritable else { return }
        endTurn()
        guard let event = try storage.read({ journal throws(JournalError) in try journal.event(id) }) else {
            throw .unknownEvent("there is no event \(id); ids come from Send, Publish and the signal Event")
        }
        guard let decision = event.decision else {
            // An earlier run left it undecided, and its turn to be announced again has not come.
            return announceOutOfTurn([event])
        }
        guard isClaimed, decision.outcome == .shown else { return }
        let age = Duration.microseconds(host.wall - event.accepted)
        take(
            .recalled(
                storage.event(event, routes: configuration.routes), age: age,
                banner: try storage.bannerStillUp(event.id, decision, server: server.holder)))
    }

    /// Sees to it that the router knows of everything that was named, before something that may be a repeat.
    func recallNames() throws(Refusal) {
        guard recovery?.hasNames == true else { return }
        let names = try recovery!.names(from: storage, atMost: .max)
        take(.restored(storage.restoration(of: names, limits: limits, at: host.wall)))
    }

    /// Sees to it that the router knows of everything undecided at or below a topic to which somebody refers.
    func recall(_ topic: TopicPrefix) throws(Refusal) {
        guard recovery != nil else { return }
        endTurn()
        announceOutOfTurn(try storage.read { journal throws(JournalError) in try journal.undecided(topic) })
    }

    private func announceOutOfTurn(_ events: [StoredEvent]) {
        let events = recovery?.take(events, except: { router.remembers($0) }) ?? []
        take(.restored(restoration(of: events)))
    }

    /// When the window of an undecided event ends, in microseconds since the epoch.
    func deadline(of id: EventID) -> Int64? {
        router.deadline(of: id).map { clock.moment($0) }
    }

    // MARK: Orders

    /// What was accepted is on disk, and what was acknowledged has left, before the daemon ends.
    func finish() {
        endTurn()
        storage.close()
    }

    func reconfigure(_ loaded: Configuration, logLevel: Logger.Level) {
        let windowChanged = loaded.defaultWindow != configuration.defaultWindow
        configuration = loaded
        logger.logLevel = logLevel
        take(.reconfigured(loaded.routes, loaded.banners, loaded.screens))
        if windowChanged { host.defaultWindowChanged() }
    }
}

// MARK: What it says of itself

extension Daemon {
    /// One line for `systemctl status`.
    var status: String {
        if !storage.degradation.isEmpty { return "Degraded: \(storage.degradation)" }
        return server.owner == nil ? "Routing; no notification server is there, banners wait" : "Routing"
    }

    var statistics: [(String, UInt64)] {
        router.statistics.named + [
            ("open-windows", UInt64(router.openWindows)), ("open-screens", UInt64(router.screenCount)),
            ("remembered-events", UInt64(router.rememberedEvents)), ("stored-events", UInt64(storage.storedEvents)),
            ("damaged-rows", storage.damagedRows), ("lost-outcomes", storage.lostOutcomes),
            ("waiting-signals", UInt64(fanOut.count)), ("journal-retries", storage.retries),
            ("denied", denials), ("notification-server", server.owner == nil ? 0 : 1),
            ("notification-server-rests", router.serverRests ? 1 : 0), ("session-watched", router.isWatched ? 1 : 0),
        ]
    }

    private func log(_ event: Event) {
        logger.record(
            .event,
            [
                "event.id": "\(event.id)", "topic": "\(event.topic)",
                "sender": "\(event.sender)", "route": "\(event.route.name)",
            ])
    }

    func log(_ name: String, _ caller: Caller) {
        logger.record(.caller, ["sender": "\(name)", "caller": "\(caller)"])
    }

    func noteDenial(of deed: Deed, to caller: String, by rule: PolicyRule) {
        denials += 1
        logger.record(.denied, ["sender": "\(caller)", "deed": "\(deed)", "rule": "\(rule)"])
    }

    private func log(_ id: EventID, _ topic: Topic, _ resolution: Resolution) {
        logger.record(
            .outcome,
            [
                "event.id": "\(id)", "topic": "\(topic)",
                "outcome": "\(resolution.outcome.rawValue)", "claimant": "\(resolution.claimant ?? "-")",
            ])
    }
}

extension Statistics {
    /// The counters as the property `Statistics` names them.
    var named: [(String, UInt64)] {
        [
            ("published", published), ("repeated", repeated), ("refused", refused), ("claimed", claimed),
            ("shown", shown), ("retracted", retracted), ("dismissed", dismissed), ("silent", silent),
            ("muted", muted), ("expired", expired), ("recorded-claims", recordedClaims), ("banner-calls", bannerCalls),
            ("banner-failures", bannerFailures), ("banners-closed", bannersClosed), ("banners-folded", bannersFolded),
            ("forgotten", forgotten),
        ]
    }
}
