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
    var logger: Logger
    private let outbox = Outbox<Outside.Message, Outside.Call>()
    var fanOut = FanOut()
    private var turn = Turn()
    /// What is still to be read of earlier runs; `nil` before there is a journal, and afterwards.
    var recovery: Recovery?
    let recoveryPortion: Int
    /// When the windows of a long recovery will have ended, and what these took can be given back.
    var releasesMemoryAt: Instant?
    var isRestored = false
    var isRetryArmed = false
    var isExamining = false
    var denials: UInt64 = 0
    var quietNews = QuietNews()
    /// What is being marked as read.
    var marks = ReadMarks<Outside.Call>()
    /// The call that is answered when all of its mark is written, and what it counts so far.
    var unansweredMark: (call: Outside.Call, count: Int)?
    var markedRead: UInt64 = 0
    var unnamedClaims = UnnamedClaims()

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

    var clock: WallClock { clock(at: host.now) }

    private func clock(at now: Now) -> WallClock { WallClock(wall: host.wall, now: now, boot: host.boot) }

    /// Has the router decide about a call, lets the reply leave when the turn ends, and only then has everything else done
    /// that follows from it.
    func answer(_ input: Input, to call: Outside.Call) throws(Refusal) {
        // Nothing is accepted that cannot be kept.
        if case .published = input {
            guard storage.isWritable else { throw .storageUnavailable(storage.degradation) }
            try requireFanOut()
        }
        try requireRoomForMarks(of: input)
        var now = host.now
        if turn.isTooLong(at: now.instant) {
            turnIsOver()
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
            perform(effects.dropFirst(), at: now)
            throw refusal
        }
        var accepted: EventID?
        if case .accepted(let id) = reply { accepted = id }
        if case .markedRead = input, case .count(let count) = reply {
            unansweredMark = (call, count)
        } else {
            leave(host.reply(reply, to: call), to: call, accepting: accepted)
        }
        perform(effects.dropFirst(), at: now)
    }

    /// Has the router decide about something nobody waits for.
    func take(_ input: Input) {
        if case .bannerShown = input { Failpoint.beforeOutcome.pass() }
        if case .serverVanished = input { recovery?.forgetBanners() }
        let now = host.now
        perform(router.handle(input, at: now)[...], at: now)
    }

    /// Closes a screen whose owner has not asked for it.
    func closeScreen(_ id: ScreenID, of owner: String) {
        takeUnanswered(.screenClosed(id, by: owner))
    }

    /// Has the router decide about what would be a call, were it somebody's: the reply that comes first is nobody's.
    func takeUnanswered(_ input: Input) {
        let now = host.now
        perform(router.handle(input, at: now).dropFirst(), at: now)
    }

    /// Keeps what is to be kept, and puts what is to leave into the outbox, until the turn ends.
    private func perform(_ effects: ArraySlice<Effect>, at now: Now) {
        guard !effects.isEmpty else { return }
        let clock = clock(at: now)
        let ledger = Ledger(server: server.holder)
        for effect in effects {
            switch effect {
            case .reply: preconditionFailure("only a call is replied to, and its reply comes first")
            case .announce(let event, let announcement):
                // What is announced again has been written by an earlier run.
                if !announcement.isReplayed {
                    storage.note(ledger.entry(event, announcement, clock))
                    if let silence = announcement.silence { storage.note(ledger.entry(event.id, silence, clock)) }
                }
                outbox.put(.signal(.event(event, announcement), about: event.id, at: now.instant))
                log(event)
            case .resolve(let id, let topic, let resolution):
                let program = program(of: resolution.claimant, claiming: id)
                storage.note(ledger.entry(id, resolution, by: program, clock))
                outbox.put(.signal(.resolved(id, topic, resolution), about: id, at: now.instant))
                log(id, topic, resolution)
            case .remove(let topic, let id, let origin, let isNews):
                storage.note(.removed(topic, id, origin, accepted: clock.wall))
                if isNews { outbox.put(.signal(.removed(topic, id), about: nil, at: now.instant)) }
            case .markRead(let topic, let last, let claimant, let form):
                beginMark(topic, upTo: last, by: claimant, as: form)
            case .quietChanged: noteQuietChange()
            case .noteClaim(let id, var claim):
                claim.program = program(of: claim.claimant, claiming: id)
                storage.note(.claimed(id, claim))
            case .showBanner(let request): outbox.put(.show(request))
            case .startServer: server.start()
            case .closeBanner(let id): outbox.put(.close(id))
            case .keepBanner(let id, let first, let isSummary):
                let entry = ledger.entry(id, first: first, isSummary: isSummary, at: server.identity)
                if let entry { storage.note(entry) }
            case .forgetBanner(let id): storage.note(.bannerGone(id.rawValue))
            case .forgetAllBanners: storage.note(.allBannersGone)
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

    /// For calls that come without end, and of which none is the router's.
    func endTurnIfTooLong() {
        if turn.isTooLong(at: host.now.instant) { turnIsOver() }
    }

    /// There is nothing else to do.
    func turnIsOver() {
        turn.ended()
        endTurn()
        announceMore()
        markMore()
        releaseMemory()
    }

    /// Commits, and lets everything leave that was decided.
    func endTurn() {
        deliver(outbox.takeReadyBanners(), refusing: [])
        let hasNotedQuiet = noteQuiet()
        let refused = storage.commit()
        let items = outbox.takeAll()
        deliver(items, refusing: Set(refused))
        tellOfQuiet(afterCommitOf: hasNotedQuiet)
        // Replies come before what everybody has waited for already.
        fanOutMore()
        if !refused.isEmpty {
            take(.withdrawn(refused))
            // A banner may speak of what was refused: none goes out, and the router makes new ones of what is left.
            for case .show(let request) in items { take(.bannerFailed(request.call, .notAsked)) }
        }
        if storage.expire(at: clock) { host.endTurnWhenIdle() }
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
                if refused.isEmpty { show(request) }
            case .close(let id): server.close(id)
            case .relay(let event, let action, let token):
                announce(.action(event, action), decided: host.now.instant)
                host.run(action, of: event, token: token)
            }
        }
    }

    private func show(_ request: BannerRequest) {
        Failpoint.beforeNotify.pass()
        server.show(request, BannerText(request))
        Failpoint.afterNotify.pass()
    }

    // MARK: Orders

    /// What was accepted is on disk, and what was acknowledged has left, before the daemon ends.
    func finish() {
        endTurn()
        if isRestored, !storage.degradation.isEmpty {
            // There may be room again, and the next attempt would come too late.
            storage.retry(at: clock)
            quietNews.isUnwritten = true
            endTurn()
        }
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
