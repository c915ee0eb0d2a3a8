import Glibc
import Journal
import Logging
import Routing
import Systemd

/// The shell around the router: it feeds in what happens on the bus and on the clocks, keeps what is decided, and does it.
final class Daemon {
    let limits = Limits()
    let storage: Storage
    private(set) var configuration: Configuration
    var policy: Policy { configuration.policy }
    private(set) var router: Router
    let callers: CallerDirectory

    private let options: DaemonOptions
    private let loop: EventLoop
    private let bus: BusConnection
    private let peers: PeerWatch
    private var logger: Logger
    private let server: NotificationServer
    private let actions: ActionRunner
    private let outbox = Outbox()
    private var fanOut = FanOut()
    private var session: SessionWatch?
    private var interface: RouterInterface!
    private var turn: Turn!
    private var sources: [EventSource] = []
    private var slots: [BusSlot] = []
    private var windowTimer: EventSource!
    private var lifetimeTimer: EventSource!
    private var retryTimer: EventSource!
    private var recoveryTimer: EventSource!
    private var fanOutTimer: EventSource!
    /// What is still to be read of earlier runs; `nil` before there is a journal, and afterwards.
    private var recovery: Recovery?
    private var isRestored = false
    private var isRetryArmed = false
    private var denials: UInt64 = 0

    init(
        configuration: Configuration, options: DaemonOptions, storage: Storage, loop: EventLoop, bus: BusConnection,
        peers: PeerWatch, logger: Logger
    ) {
        self.configuration = configuration
        self.options = options
        self.storage = storage
        self.loop = loop
        self.bus = bus
        self.peers = peers
        self.logger = logger
        callers = CallerDirectory(bus: bus)
        server = NotificationServer(bus: bus, logger: logger)
        actions = ActionRunner(bus: bus, loop: loop, logger: logger)
        router = Router(
            routes: configuration.routes, banners: configuration.banners, screens: configuration.screens,
            limits: limits, firstID: storage.firstID, oldestID: EventID(0))
    }

    /// Sets everything up, in the order in which it is needed.
    func start() throws(SystemdError) {
        windowTimer = try loop.timer(.monotonic) { [unowned self] in take(.timerFired) }
        lifetimeTimer = try loop.timer(.boottime) { [unowned self] in take(.timerFired) }
        retryTimer = try loop.timer(.monotonic) { [unowned self] in retryStorage() }
        recoveryTimer = try loop.timer(.monotonic) { [unowned self] in turn.touch() }
        fanOutTimer = try loop.timer(.monotonic) { [unowned self] in turn.touch() }
        turn = try Turn(loop: loop) { [unowned self] isOverdue in
            endTurn()
            announceMore()
            if isOverdue { take(.timerFired) }
        }
        for signal in [SIGTERM, SIGINT] {
            sources.append(try loop.signal(signal) { [unowned self] in stop() })
        }
        sources.append(try loop.signal(SIGHUP) { [unowned self] in reload() })
        slots.append(try bus.onDisconnect { [unowned self] in busLost() })
        try bus.attach(to: loop)
        interface = RouterInterface(daemon: self, bus: bus)
        try interface.export()
        interface.applyPolicy()
        server.onInput = { [unowned self] in take($0) }
        server.onChange = { [unowned self] in ServiceManager.status(status) }
        try server.watch()
        callers.onIdentification = { [unowned self] in log($0, $1) }
        peers.onLeave = { [unowned self] name in
            callers.left(name)
            take(.peerLeft(name))
        }
        session = SessionWatch.start(on: loop, logger: logger)
        session?.onChange = { [unowned self] in take(.attentionChanged(isWatched: $0)) }
        storage.onDegradation = { [unowned self] _ in
            interface.degradationChanged()
            ServiceManager.status(status)
        }
        if !storage.degradation.isEmpty { armRetry() }
        restore()
    }

    // MARK: Deciding

    var now: Now {
        Now(
            instant: Instant(microseconds: Clock.monotonic()), uptime: Uptime(microseconds: Clock.boottime()))
    }

    /// Has the router decide about a call; the caller replies, and then has the rest performed.
    func decide(_ input: Input) -> [Effect] {
        turn.messageArrived()
        return router.handle(input, at: now)
    }

    /// Has the router decide about something nobody waits for.
    func take(_ input: Input) {
        if case .bannerShown = input { Failpoint.beforeOutcome.pass() }
        perform(router.handle(input, at: now)[...])
    }

    /// Keeps what is to be kept, and puts what is to leave into the outbox, until the turn ends.
    func perform(_ effects: ArraySlice<Effect>) {
        guard !effects.isEmpty else { return }
        let clock = WallClock(now)
        let ledger = Ledger(server: server.owner, muteCause: router.pausesBanners ? "paused" : "muted")
        for effect in effects {
            switch effect {
            case .reply: preconditionFailure("only a call is replied to, and its reply comes first")
            case .announce(let event, let announcement):
                for entry in ledger.entries(event, announcement, clock) { storage.note(entry) }
                outbox.put(.signal(.event(event, announcement), about: event.id))
                log(event)
            case .resolve(let id, let topic, let resolution):
                storage.note(ledger.entry(id, resolution, clock))
                outbox.put(.signal(.resolved(id, topic, resolution), about: id))
                log(id, topic, resolution)
            case .remove(let topic, let id, let origin, let isNews):
                storage.note(.removed(topic, id, origin, accepted: clock.wall))
                if isNews { outbox.put(.signal(.removed(topic, id), about: nil)) }
            case .noteClaim(let id, let claim): storage.note(.claimed(id, claim))
            case .showBanner(let request): outbox.put(.show(request))
            case .closeBanner(let id): outbox.put(.close(id))
            case .relayAction(let event, let action):
                outbox.put(.relay(event, action: action, token: server.takeActivationToken()))
            case .armTimer(let instant): windowTimer.arm(at: instant.microseconds)
            case .armLifetimeTimer(let uptime): lifetimeTimer.arm(at: uptime.microseconds)
            }
        }
        turn.touch()
    }

    // MARK: The end of a turn

    /// Lets a reply leave when what it acknowledges is on disk.
    ///
    /// - Parameter bytes: about how long the reply is, where it may be long.
    func leave(
        _ reply: consuming BusMessage, bytes: Int = 0, to call: borrowing BusMessage, accepting id: EventID? = nil
    ) {
        outbox.put(.reply(HeldMessage(reply), bytes: bytes, to: HeldMessage(retaining: call), accepting: id))
        turn.touch()
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
        if storage.expire() { turn.touch() }
        if !storage.degradation.isEmpty { armRetry() }
    }

    /// - Parameter refused: events that could not be kept: their publishers hear so, and nobody else hears of them.
    private func deliver(_ items: [Outbox.Item], refusing refused: Set<EventID>) {
        for item in items {
            switch item {
            case .reply(let reply, let bytes, let call, let id):
                if let id, refused.contains(id) {
                    send(bus.methodError(to: call.message, BusFailure(.storageUnavailable(storage.degradation))))
                } else {
                    send(reply.message, bytes)
                    Failpoint.afterReply.pass()
                }
            case .signal(let signal, let id):
                if let id, refused.contains(id) { continue }
                announce(signal)
            case .show(let request):
                guard refused.isEmpty else { continue }
                Failpoint.beforeNotify.pass()
                server.show(request, BannerText(request, templates: configuration.texts[request.newest.route.name]))
                Failpoint.afterNotify.pass()
            case .close(let id): server.close(id)
            case .relay(let event, let action, let token):
                announce(.action(event.id, event.topic, action))
                actions.run(
                    action, of: event, by: configuration.routes.route(for: event.topic), token: token)
            }
        }
    }

    private func send(_ message: borrowing BusMessage, _ bytes: Int = 0) {
        do throws(SystemdError) {
            try bus.send(message, bytes: bytes)
        } catch {
            logger.record(.messageNotSent, ["error": "\(error)"])
        }
    }

    // MARK: Signals

    /// Tells everybody, now or when what came before has left and the bus has room.
    private func announce(_ signal: FanOut.Signal) {
        guard fanOut.isEmpty, bus.queuedBytes < FanOut.queueLimit, emit(signal) else {
            fanOut.put(signal, at: now.instant)
            return armFanOut()
        }
    }

    /// Sends what has waited, as far as there is room.
    private func fanOutMore() {
        while let (signal, since) = fanOut.first {
            guard bus.queuedBytes < FanOut.queueLimit, emit(signal, waited: now.instant - since) else {
                return armFanOut()
            }
            fanOut.removeFirst()
        }
    }

    private func armFanOut() {
        fanOutTimer.arm(at: Clock.monotonic() + FanOut.pause)
    }

    /// - Returns: false when the signal cannot be made now, because the journal cannot be read.
    private func emit(_ signal: FanOut.Signal, waited: Duration = .zero) -> Bool {
        switch signal {
        case .event(let event, let announcement):
            send(interface.announcement(event, announcement, waited: waited), event.footprint)
        case .stored(let id, let announcement):
            guard storage.isWritable else { return false }
            // One that is damaged or out of date is not in the journal any more.
            let found = try? storage.read({ journal throws(JournalError) in try journal.event(id) })
            guard let found = found ?? nil else { return true }
            let event = storage.event(found, routes: configuration.routes)
            return emit(.event(event, announcement), waited: waited)
        case .resolved(let id, let topic, let resolution): send(interface.resolution(id, topic, resolution))
        case .removed(let topic, let id): send(interface.removal(topic, id))
        case .action(let id, let topic, let action): send(interface.action(id, topic, action))
        }
        Failpoint.afterSignal.pass()
        return true
    }

    /// Nothing is accepted of which nobody could be told.
    func requireFanOut() throws(Refusal) {
        guard fanOut.isFull else { return }
        throw .limitExceeded(
            "signals that wait for the bus: there are \(fanOut.count) already; try again when the bus has taken some")
    }

    /// What is long and only asked for can be asked for again.
    func requireRoomForReply() throws(Refusal) {
        guard bus.queuedBytes >= FanOut.replyLimit else { return }
        throw .limitExceeded(
            "bytes that the bus has not taken: there are more than \(FanOut.replyLimit); try again in a moment")
    }

    /// A bus that takes less than it brings is given a moment: sd-bus writes before it reads the next call.
    func awaitRoomForReplies() {
        if bus.queuedBytes >= FanOut.replyLimit { bus.awaitRoom(milliseconds: 1) }
    }

    // MARK: The journal

    /// Goes on where an earlier run stopped, as soon as there is a journal to read that from.
    private func restore() {
        guard !isRestored else { return }
        do throws(Refusal) {
            var restoration = try storage.restoration(at: now)
            recovery = try Recovery(from: storage, limits: limits)
            restoration.remaining = recovery?.remaining
            isRestored = true
            take(.restored(restoration))
            turn.touch()
        } catch {
            // Degraded says why, and it is tried again.
        }
    }

    /// Reads the next portion of what earlier runs left, unless the bus has not taken the last one.
    private func announceMore() {
        guard recovery != nil else { return }
        guard fanOut.isEmpty, bus.queuedMessages < Recovery.queue else {
            return recoveryTimer.arm(at: Clock.monotonic() + 5_000)
        }
        do throws(Refusal) {
            let restoration =
                recovery!.hasNames
                ? storage.restoration(of: try recovery!.names(from: storage), limits: limits)
                : restoration(of: try recovery!.events(from: storage))
            if recovery!.isOver { recovery = nil }
            take(.restored(restoration))
            turn.touch()
        } catch {
            recoveryTimer.arm(at: Clock.monotonic() + 1_000_000)
        }
    }

    private func restoration(of events: [StoredEvent]) -> Restoration {
        var restoration = storage.restoration(
            of: events, routes: configuration.routes, minimumWindow: configuration.recoveryWindow, at: now)
        restoration.remaining = recovery?.remaining
        return restoration
    }

    /// Those who ask again and again must not put it off.
    private func armRetry() {
        guard !isRetryArmed else { return }
        isRetryArmed = true
        retryTimer.arm(at: Clock.monotonic() + 1_000_000)
    }

    private func retryStorage() {
        isRetryArmed = false
        storage.retry()
        guard storage.degradation.isEmpty else { return armRetry() }
        if isRestored, let values = try? storage.restoredValues(at: now) { take(.restored(values)) }
        restore()
        // Retention goes on in turns.
        turn.touch()
    }

    /// Sees to it that the router knows of an event to which somebody refers: one that was shown long ago, or by an earlier
    /// run, is taken into memory again.
    func recall(_ id: EventID) throws(Refusal) {
        guard !router.remembers(id), storage.isWritable else { return }
        endTurn()
        guard let event = try storage.read({ journal throws(JournalError) in try journal.event(id) }) else {
            throw .unknownEvent("there is no event \(id); ids come from Send, Publish and the signal Event")
        }
        guard let decision = event.decision else {
            // An earlier run left it undecided, and its turn to be announced again has not come.
            return announceOutOfTurn([event])
        }
        guard decision.outcome == .shown else { return }
        let age = Duration.microseconds(WallClock.now() - event.accepted)
        take(
            .recalled(
                storage.event(event, routes: configuration.routes), age: age,
                banner: try storage.bannerStillUp(event.id, decision, server: server.owner)))
    }

    /// Sees to it that the router knows of everything that was named, before something that may be a repeat.
    func recallNames() throws(Refusal) {
        guard recovery?.hasNames == true else { return }
        let names = try recovery!.names(from: storage, atMost: .max)
        take(.restored(storage.restoration(of: names, limits: limits)))
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
        router.deadline(of: id).map { WallClock(now).moment($0) }
    }

    // MARK: Orders

    private func stop() {
        logger.record(.stopping)
        ServiceManager.stopping()
        finish()
        loop.exit(ExitCode.success)
    }

    private func busLost() {
        logger.record(.busLost)
        finish()
        loop.exit(ExitCode.busLost)
    }

    /// What was accepted is on disk, and what was acknowledged has left, before the daemon ends.
    private func finish() {
        endTurn()
        storage.close()
    }

    private func reload() {
        ServiceManager.reloading()
        do throws(ConfigurationError) {
            let loaded = try ConfigurationFiles.load(only: options.configuration)
            let windowChanged = loaded.defaultWindow != configuration.defaultWindow
            configuration = loaded
            logger.logLevel = options.logLevel ?? loaded.logLevel
            take(.reconfigured(loaded.routes, loaded.banners, loaded.screens))
            interface.applyPolicy()
            if windowChanged { interface.defaultWindowChanged() }
            logger.record(.reloaded)
            ServiceManager.ready(status: status)
        } catch {
            logger.record(.badNewConfiguration, ["error": "\(error)"])
            ServiceManager.ready(status: "\(status); the configuration on disk is bad: \(error)")
        }
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

    private func log(_ name: String, _ caller: Caller) {
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
