import DequeModule

/// Decides what becomes of every push: who hears it, whether a claim came in time, when a banner is due and what it
/// stands for. It does nothing by itself: it takes what happened and says what is to be done, and time is an argument.
///
/// An event is in one place at a time. It begins in the window of its coalescing key. When the window ends it waits for
/// the notification server, is carried by a call to it, and is shown; a claim takes it out wherever it is. After its
/// banner went away by itself it is remembered for a while, so that a late claim still finds it.
///
///     published ─▶ window ─▶ waiting ─▶ carried ─▶ shown ─▶ gone
///                    │          │          │         │        │
///                 claimed    claimed    retracted retracted retracted
///
/// The rules live here: `Router+Publishing` (rules 1 and 2 of the design), `Router+Claims` (rules 3, 4 and 6),
/// `Router+Windows` (rule 5), `Router+Banners` and `Router+BannerEnds` (what the server does); `Router+Holds`,
/// `Router+Topics` and `Router+Screens` are the other ways to claim, and `Router+Quiet` is for when no banner is wanted.
public struct Router {
    struct OpenEvent {
        enum Place {
            case window(CoalescingKey)
            case waiting(CoalescingKey)
            /// Claimed provisionally, and its window is over.
            case held(CoalescingKey)
            case carried(CoalescingKey)
            case shown(CoalescingKey, BannerID)
            /// Its banner is no longer up, and nobody closed it on purpose.
            case gone(BannerID?)
        }

        let event: Event
        let accepted: Instant
        let expires: Uptime
        var place: Place
        /// When its window was opened.
        var opened: Instant
        /// The deadline of its window, once that is over.
        var deadline: Instant
        /// The screens that were asked about it and have not answered.
        var asked: [ScreenID] = []
        /// Stands while the event waits for the server: it is not shown any more when its time is over.
        var expiry: LifetimeClock.Ticket?
        /// Whether an earlier run accepted it.
        var isReplayed = false

        /// Whether the event has no outcome yet.
        var isUndecided: Bool {
            switch place {
            case .window, .waiting, .held, .carried: true
            case .shown, .gone: false
            }
        }

        /// Whether the event has not gone to the server.
        var canBeHeld: Bool {
            switch place {
            case .window, .waiting: true
            case .held, .carried, .shown, .gone: false
            }
        }

        /// Whether somebody may still claim it before its window ends.
        var isAwaited: Bool { Self.isAwaited(event, asked: asked) }

        static func isAwaited(_ event: Event, asked: [ScreenID]) -> Bool {
            event.route.wait == .anyone || !asked.isEmpty
        }
    }

    /// What is charged to a sender: its undecided events.
    struct Charge: Equatable {
        var events = 0
        var bytes = 0

        mutating func add(_ event: Event) {
            events += 1
            bytes += event.footprint
        }

        mutating func remove(_ event: Event) {
            events -= 1
            bytes -= event.footprint
        }
    }

    // What a configuration sets.
    var routes: RouteTable
    var bannerSettings: BannerSettings
    let limits: Limits

    // Events.
    /// The smallest id that may be somebody's: those below have never been given out.
    let oldestID: EventID
    /// The first id of this run.
    public let firstID: EventID
    var nextID: EventID
    var events = SlotTable<EventID, OpenEvent>()
    var undecided = 0
    /// Undecided events of earlier runs that have not been handed over yet.
    var unrestored = 0
    /// What all undecided events cost to keep.
    var undecidedBytes = 0
    var undecidedBySender: [String: Charge] = [:]
    var repeats: RepeatMemory
    /// Shown events, oldest first; those claimed since are still in it.
    var retractable = Deque<(id: EventID, bytes: Int)>()
    var retractableBytes = 0

    // Claims that go on.
    var screens: ScreenRegistry
    /// What holds the events that are claimed provisionally.
    var provisional: [EventID: Hold] = [:]
    /// The provisionally claimed events of each claimant.
    var holds: [String: EventList] = [:]
    var graces: [GraceID: Grace] = [:]
    var graceIndex = PrefixIndex<GraceID>()
    var gracesByClaimant: [String: Int] = [:]

    // Quiet.
    var pause: QuietTime?
    var mutes: [TopicPrefix: QuietTime] = [:]

    /// The current values of topics: the events that were published to be kept.
    var values: [Topic: LiveValue] = [:]
    var valueBytes = 0

    // Windows and banners.
    var windows = SlotTable<CoalescingKey, Window>()
    var banners = SlotTable<CoalescingKey, Banner>()
    var bannerKeys: [BannerID: CoalescingKey] = [:]
    /// Whether the journal knows of banners that are up and not in memory, because there are too many.
    var hasUnknownBanners = false
    var calls: [BannerCall: CoalescingKey] = [:]
    var overdue: [BannerCall: OverdueCall] = [:]
    var queue = BannerQueue()
    var gate = ServerGate()
    /// Stands while the server is left alone.
    var serverRest: WindowClock.Ticket?
    /// Stands for the end of the newest call's head start.
    var headStart: WindowClock.Ticket?
    var pace = BannerPace()
    /// Stands while the summary is not to be sent again.
    var summaryRest: WindowClock.Ticket?
    var serverStart = ServerStart()
    /// Armed for the next attempt to have a server started.
    var serverStartRetry: WindowClock.Ticket?
    /// Banners that the server closed a moment ago, of which a button may still be reported.
    var closedBanners: [BannerID: ClosedBanner] = [:]
    var lastSerial: UInt64 = 0

    // What is due when.
    var agenda = WindowClock()
    var lifetimes = LifetimeClock()
    var armed: Instant?
    var armedLifetime: Uptime?

    var effects: [Effect] = []
    /// Counters since the router was made.
    public internal(set) var statistics = Statistics()

    /// - Parameters:
    ///   - routes: the rules for topics, and the one for the rest.
    ///   - banners: what concerns the banners of all routes.
    ///   - screenSettings: which screens suppress banners.
    ///   - limits: how far clients can make things grow.
    ///   - firstID: the id of the first event; above every id that was ever given out.
    ///   - oldestID: the smallest id to which a claim may refer, where earlier runs gave out ids; else `firstID`.
    public init(
        routes: RouteTable, banners: BannerSettings = BannerSettings(),
        screens screenSettings: ScreenSettings = ScreenSettings(),
        limits: Limits = Limits(), firstID: EventID,
        oldestID: EventID? = nil
    ) {
        self.routes = routes
        self.limits = limits
        self.oldestID = oldestID ?? firstID
        self.firstID = firstID
        bannerSettings = banners
        nextID = firstID
        screens = ScreenRegistry(settings: screenSettings, firstID: ScreenID(firstID.rawValue))
        repeats = RepeatMemory(
            capacity: limits.rememberedRepeats, byteCapacity: limits.rememberedRepeatBytes,
            memory: limits.repeatMemory)
    }

    /// Events that have no outcome yet.
    public var pending: Int { undecided + unrestored }
    /// Windows in which claims are awaited.
    public var openWindows: Int { windows.count }
    /// Screens that are open.
    public var screenCount: Int { screens.count }
    /// Whether somebody may be looking at the session.
    public var isWatched: Bool { screens.isWatched }
    /// Whether the notification server is left alone for a while because it failed again and again.
    public var serverRests: Bool { gate.isResting }
    /// Whether banners are paused.
    public var pausesBanners: Bool { pause != nil }
    /// Whether the event is in memory: undecided, or shown not long ago.
    public func remembers(_ id: EventID) -> Bool { events.contains(id) }
    /// Where an event belongs that is in memory.
    public func topic(of id: EventID) -> Topic? { events[id]?.event.topic }
    /// A screen that is open.
    public func screen(_ id: ScreenID) -> Screen? { screens[id] }
    /// The screens that a connection holds.
    public func screens(of owner: String) -> [Screen] { screens.owned(by: owner).compactMap { screens[$0] } }
    /// When the window of an event ends, while it is open.
    public func deadline(of id: EventID) -> Instant? {
        guard case .window(let key) = events[id]?.place else { return nil }
        return windows[key]?.deadline
    }

    /// Screens that are open, in the order of their ids.
    public var openScreens: [Screen] { screens.all }
    /// The events the router holds in memory, decided or not.
    public var rememberedEvents: Int { events.count }

    /// Takes in what happened, and answers what is to be done about it, in order.
    public mutating func handle(_ input: Input, at now: Now) -> [Effect] {
        switch input {
        case .restored(let events): restore(events, at: now)
        case .published(let publication): publish(publication, at: now)
        case .claimed(let id, let claimant): claim(id, by: claimant, at: now)
        case .recalled(let event, let age, let banner): recall(event, age: age, banner: banner, at: now)
        case .withdrawn(let ids): withdraw(ids, at: now)
        case .claimedProvisionally(let id, let duration, let claimant): hold(id, for: duration, by: claimant, at: now)
        case .completed(let id, let claimant): complete(id, by: claimant, at: now)
        case .released(let id, let claimant): release(id, by: claimant, at: now)
        case .passed(let id, let caller): pass(id, by: caller, at: now)
        case .topicClaimed(let topic, let grace, let claimant): claimTopic(topic, grace: grace, by: claimant, at: now)
        case .markedRead(let topic, let last, let claimant): markRead(topic, upTo: last, by: claimant, at: now)
        case .claimedLate(let claims): settleLate(claims)
        case .screenOpened(let topic, let options, let owner): openScreen(topic, options, by: owner, at: now)
        case .screenUpdated(let id, let options, let caller): updateScreen(id, options, by: caller, at: now)
        case .screenClosed(let id, let caller): closeScreen(id, by: caller, at: now)
        case .peerLeft(let name): peerLeft(name, at: now)
        case .attentionChanged(let isWatched): attentionChanged(isWatched: isWatched, at: now)
        case .paused(let flag): setPaused(flag)
        case .pausedFor(let duration): pause(for: duration, at: now)
        case .muted(let topic, let duration): mute(topic, for: duration, at: now)
        case .timerFired: doWhatIsDue(at: now)
        case .serverAppeared: serverAppeared(at: now)
        case .serverVanished: serverVanished()
        case .bannerShown(let call, let id): bannerShown(call, id, at: now)
        case .bannerFailed(let call, let failure): bannerFailed(call, failure, at: now)
        case .bannerClosed(let id, let reason): bannerClosed(id, reason, at: now)
        case .actionInvoked(let id, let action): actionInvoked(id, action)
        case .reconfigured(let routes, let banners, let screens): reconfigure(routes, banners, screens, at: now)
        }
        startServer(at: now)
        sweepAgendas()
        armTimers()
        defer { effects = [] }
        return effects
    }

    /// A connection left the bus: what it held is over, and what it had in doubt is shown.
    private mutating func peerLeft(_ name: String, at now: Now) {
        closeScreens(of: name, at: now)
        for id in holds[name] ?? EventList() { holdFailed(id, .left, at: now) }
        sendBanners(at: now)
    }

    private mutating func reconfigure(
        _ routes: RouteTable, _ banners: BannerSettings, _ screenSettings: ScreenSettings, at now: Now
    ) {
        self.routes = routes
        bannerSettings = banners
        for screen in screens.apply(settings: screenSettings) { pass(on: screen, at: now) }
        sendBanners(at: now)
    }

    // MARK: Events

    /// Gives an undecided event its outcome and tells everybody.
    mutating func decide(_ open: OpenEvent, _ resolution: Resolution) {
        if open.isUndecided { forgetUndecided(open) }
        var resolution = resolution
        // Where it was shown before, that outcome has said this already.
        if open.isUndecided {
            resolution.opened = open.opened
            resolution.deadline = open.deadline
            resolution.isReplayed = open.isReplayed
        }
        statistics.count(resolution.outcome)
        effects.append(.resolve(open.event.id, open.event.topic, resolution))
    }

    mutating func noteUndecided(_ open: OpenEvent) {
        undecided += 1
        undecidedBytes += open.event.footprint
        undecidedBySender[open.event.sender, default: Charge()].add(open.event)
    }

    mutating func forgetUndecided(_ open: OpenEvent) {
        undecided -= 1
        undecidedBytes -= open.event.footprint
        guard let index = undecidedBySender.index(forKey: open.event.sender) else { return }
        undecidedBySender.values[index].remove(open.event)
        if undecidedBySender.values[index].events == 0 { undecidedBySender.remove(at: index) }
    }
}
