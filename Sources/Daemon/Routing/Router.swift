/// Decides what becomes of every event: whether a claim is in time, when a banner is due, and which events it stands
/// for.
///
/// The router is a plain value: a call or a happening and the time go in, a list of effects comes out, and the answer
/// to a call. An event is in one place at a time:
///
///     published ─▶ window ─▶ waiting ─▶ in flight ─▶ shown ─▶ gone
///                    │          │           │          │        │
///                 claimed    claimed    retracted  retracted retracted
///
/// It starts in the window of its coalescing key. When the window ends, it waits for the notification server, is in
/// flight in a call to it, and is shown. A claim removes it from wherever it is. After its banner has disappeared it is
/// kept for a while, so that a late claim still finds it.
///
/// The rules of docs/design.md: `Router+Publishing` (1 and 2), `Router+Claims` (3, 4 and 6), `Window` (5).
/// `Events` has the events in memory and their windows, and alone changes their places; `Names` has what events are
/// called, and which are values. `EventReader` takes in what is not in memory, and `Router+Removing` takes events out.
/// `Router+Banners` and `Router+BannerEnds` talk to the server. `Router+Holds`, `ScreenRegistry` and `AwaitedClaims`
/// are the other ways to claim; `QuietPeriods` holds banners back, `Digests` says afterwards what they were,
/// `Router+Snoozing` lets them come back later. `Router+Replacing` ends events for their successors. Each of these
/// parts keeps its own state; only an extension of `Router` sees two of them.
public struct Router {
    var settings: Settings
    var events: Events
    var screens: ScreenRegistry
    var quietPeriods = QuietPeriods()
    var names: Names
    var banners = Banners()
    var timers = Timers()
    var output = Output()

    /// What the shell is to do, and what was counted.
    struct Output {
        /// Most inputs have few effects, and an array that grows moves its elements.
        private static let usualEffects = 4

        private var effects: [Effect] = []
        var statistics = Statistics()

        mutating func begin() { effects.reserveCapacity(Self.usualEffects) }
        mutating func append(_ effect: Effect) { effects.append(effect) }

        mutating func take() -> [Effect] {
            defer { effects = [] }
            return effects
        }
    }

    /// - Parameters:
    ///   - routes: the rules for topics.
    ///   - banners: the settings that apply to all banners.
    ///   - screenSettings: the settings that apply to all screens.
    ///   - limits: how far clients can make things grow.
    ///   - firstID: the id of the first event; above every id of earlier runs.
    ///   - oldestID: the smallest id that claims may name; `nil`: `firstID`.
    public init(
        routes: RouteTable, banners: BannerSettings = BannerSettings(),
        screens screenSettings: ScreenSettings = ScreenSettings(), limits: Limits = Limits(), firstID: EventID,
        oldestID: EventID? = nil
    ) {
        settings = Settings(routes: routes, banners: banners, limits: limits)
        events = Events(firstID: firstID, oldestID: oldestID ?? firstID)
        screens = ScreenRegistry(settings: screenSettings, firstID: ScreenID(firstID.rawValue))
        names = Names(limits: limits)
    }

    /// What holds for all events.
    struct Settings {
        var routes: RouteTable
        var banners: BannerSettings
        let limits: Limits
    }

    var limits: Limits { settings.limits }
    /// This device, which names what has no global name of its own. Empty where it is not known.
    public var device: String {
        get { names.device }
        set { names.device = newValue }
    }
    /// Events that have no outcome yet.
    public var undecidedCount: Int { events.undecided.total.count + events.unrestored }
    /// Windows in which claims are awaited.
    public var openWindows: Int { events.windows.count }
    /// Screens that are open.
    public var screenCount: Int { screens.count }
    /// Whether the session is neither locked nor idle.
    public var isWatched: Bool { screens.isWatched }
    /// Whether no calls go to the notification server for a while, after several failures in a row.
    public var isServerCircuitOpen: Bool { banners.server.isCircuitOpen }
    /// Banners that wait to be sent to the notification server.
    public var waitingBanners: Int { banners.waitingCount }
    /// Whether the event is in memory: undecided, or shown and retractable.
    public func remembers(_ id: EventID) -> Bool { events.contains(id) }
    /// The same for a router that an object holds. It changes nothing. It is `mutating` because Swift would copy the
    /// whole router before a call that is not.
    public mutating func remembersInPlace(_ id: EventID) -> Bool { events.contains(id) }
    /// Whether something is kept until the next `Input.stored`, in case events cannot be stored.
    public var awaitsStored: Bool { names.awaitsStored || quietPeriods.digests.unstored != nil }
    /// All claims of events that have not come yet, in no particular order.
    public var awaitedClaims: [AwaitedClaim] { names.awaited.all }
    /// How many these are.
    public var awaitedCount: Int { names.awaited.count }
    /// How much of the room for them is taken, in percent.
    public var awaitedFill: Int {
        max(100 * names.awaited.count / limits.awaited, 100 * names.awaited.bytes / limits.awaitedBytes)
    }
    /// An event in memory, with the route under which it was accepted.
    public func event(_ id: EventID) -> Event? { events[id]?.event }
    /// A screen that is open.
    public func screen(_ id: ScreenID) -> Screen? { screens[id] }
    /// The screens that a connection holds.
    public func screens(of owner: String) -> [Screen] { screens.owned(by: owner).compactMap { screens[$0] } }

    /// Screens that are open, in the order of their ids.
    public var openScreens: [Screen] { screens.all }
    /// The events the router holds in memory, decided or not.
    public var rememberedEvents: Int { events.count }

    /// An event that is undecided or snoozed, and what is kept with it.
    public struct Undecided {
        /// The event itself.
        public let event: Event
        /// When it was accepted, on this run's clock.
        public let accepted: Instant
        /// From `accepted` to the end of the window.
        public let window: Duration
        /// The end of its lifetime.
        public let expires: Uptime
        /// Whether it is the current value of its topic.
        public let isValue: Bool
        /// Whether it has an outcome and was snoozed.
        public let isSnoozed: Bool
    }

    /// Counters since the router was made.
    public var statistics: Statistics { output.statistics }
    /// The highest id that was given out.
    public var lastID: EventID { EventID(events.nextID.rawValue - 1) }
    /// The first id of this run.
    public var firstID: EventID { events.firstID }

    /// The events in memory that have no outcome yet, in the order of their ids.
    public var undecidedIDs: [EventID] { events.all.lazy.filter(\.isUndecided).map(\.event.id).sorted() }

    /// The events in memory at or below a topic that have an outcome, with ids up to `last`, in the order of their ids.
    public func decidedIDs(_ topic: TopicPrefix, upTo last: EventID) -> [EventID] {
        events.all.lazy.filter { !$0.isUndecided && $0.event.id <= last && topic.covers($0.event.topic) }
            .map(\.event.id).sorted()
    }

    /// An event in memory that has no outcome yet, or is snoozed.
    public func undecided(_ id: EventID) -> Undecided? {
        let isSnoozed = quietPeriods.snoozes[id] != nil
        guard let tracked = events[id], tracked.isUndecided || isSnoozed else { return nil }
        return Undecided(
            event: tracked.event, accepted: tracked.accepted, window: max(.zero, tracked.deadline - tracked.accepted),
            expires: tracked.expires, isValue: names.values[tracked.event.topic]?.id == id, isSnoozed: isSnoozed)
    }

    /// Handles a call. What is not in memory is asked of the reader.
    ///
    /// - Returns: the answer, which leaves before what follows from it, and what the shell must do, in order. A call
    ///   that is refused may have effects too, such as arming a timer.
    public mutating func handle(
        _ call: Call, at now: Now, reading reader: some EventReader = NoEvents()
    ) -> (reply: Result<Reply, Refusal>, effects: [Effect]) {
        output.begin()
        let reply: Result<Reply, Refusal>
        do throws(Refusal) {
            reply = .success(try answer(call, at: now, reader))
        } catch {
            output.statistics[.refused] += 1
            reply = .failure(error)
        }
        return (reply, takeEffects(at: now))
    }

    private mutating func answer(_ call: Call, at now: Now, _ reader: some EventReader) throws(Refusal) -> Reply {
        switch call {
        case .published(let publication):
            try load(for: publication, at: now, reader)
            return .accepted(try publish(publication, at: now))
        case .claimed(let id, let claimant, let action):
            let age = try loadToDecide(id, by: claimant, at: now, reader)
            return .verdict(try claim(id, by: claimant, pressing: action, age: age, at: now))
        case .claimedNamed(let claim, let id): return .verdict(try claimNamed(claim, event: id, at: now, reader))
        case .claimedCold(let event, let claimant, let form):
            recall(event, at: now)
            guard remembers(event.event.id) else { return .verdict(.recorded) }
            let verdict = applyClaim(event.event.id, by: claimant, as: form, at: now)
            sendBanners(at: now)
            return .verdict(verdict)
        case .claimedProvisionally(let id, let duration, let claimant):
            let age = try cold(id, at: now, reader)?.age
            return .verdict(try hold(id, for: duration, by: claimant, age: age, at: now))
        case .answered(let id, let answer, let caller):
            _ = try cold(id, at: now, reader)
            try self.answer(id, answer, by: caller, at: now)
        case .withdrawn(let id, let publisher):
            _ = try loadToDecide(id, by: publisher, at: now, reader)
            try withdraw(id, by: publisher, at: now)
        case .topicClaimed(let topic, let claim, let claimant):
            try load(topic, at: now, reader)
            let count =
                switch claim {
                case .grace(let time): try claimTopic(topic, grace: time, by: claimant, at: now)
                case .read(let last): claimAll(atOrBelow: topic, upTo: last, by: claimant, as: .read, at: now)
                }
            sendBanners(at: now)
            return .count(count)
        case .screenOpened(let topic, let options, let owner):
            try restoreBanners(at: now, reader)
            return .screen(try openScreen(topic, options, by: owner, at: now))
        case .screenChanged(let id, let options, let caller):
            if options != nil { try restoreBanners(at: now, reader) }
            try changeScreen(id, options, by: caller, at: now)
        case .quieted(nil, let duration): quietPeriods.pause(for: duration, at: now.uptime, timers: &timers)
        case .quieted(let topic?, let duration):
            try quietPeriods.mute(topic, for: duration, limit: limits.mutes, at: now.uptime, timers: &timers)
        case .snoozed(let id, let duration, let caller): try snooze(id, for: duration, by: caller, at: now, reader)
        case .digestsCounted(let count):
            return try digestsCounted(count, at: now, reader).map { .accepted($0) } ?? .done
        }
        return .done
    }

    /// Handles what happens without a call.
    ///
    /// - Returns: what the shell must do, in order.
    public mutating func handle(_ happening: Happening, at now: Now) -> [Effect] {
        output.begin()
        switch happening {
        case .restored(let events): restore(events, at: now)
        case .stored(let unstored): stored(except: unstored, at: now)
        case .forgotten(let ids, let awaited): forget(ids, awaited: awaited, at: now)
        case .peer(let name, let news): learn(news, of: name, at: now)
        case .attentionChanged(let isWatched): attentionChanged(isWatched: isWatched, at: now)
        case .scheduled(let active): quietPeriods.setSchedules(active)
        case .desktopQuiet(let isQuiet):
            quietPeriods.setDesktop(isQuiet, isFollowed: settings.banners.followsDesktop)
        case .timerFired: fireTimers(at: now)
        case .server(.found): banners.serverFound(at: now.instant)
        case .server(.ready): serverAppeared(at: now)
        case .server(.gone): serverVanished(at: now)
        case .banner(let call, .sent): banners.callSent(call)
        case .banner(let call, .shown(let id)): bannerShown(call, id, at: now)
        case .banner(let call, .failed(let failure)): bannerFailed(call, failure, at: now)
        case .bannerClosed(let id, let reason): bannerClosed(id, reason, at: now)
        case .actionInvoked(let id, let action): actionInvoked(id, action)
        case .reconfigured(let routes, let banners, let screens): reconfigure(routes, banners, screens, at: now)
        }
        return takeEffects(at: now)
    }

    /// Ends an input.
    private mutating func takeEffects(at now: Now) -> [Effect] {
        for (topic, isAttended) in screens.takeAttentionChanges() {
            output.append(.screensChanged(topic, isAttended: isAttended))
        }
        if quietPeriods.beginCount(pauses: settings.banners.digestsPauses) { output.append(.countDigests) }
        let tables = quietPeriods.takeChanges()
        if !tables.isEmpty { output.append(.changed(tables)) }
        startServer(at: now)
        compactQueues()
        armTimers()
        return output.take()
    }

    /// When a connection leaves the bus, its screens close, and its provisional claims come to nothing.
    private mutating func learn(_ news: PeerNews, of name: String, at now: Now) {
        if case .left = news {
            closeScreens(of: name, at: now)
            for id in screens.holds.events(heldBy: name) { cancelHold(id, by: name, .left, at: now) }
            sendBanners(at: now)
        }
        events.learn(news, of: name)
        screens.learn(news, of: name)
        names.learn(news, of: name)
    }

    private mutating func reconfigure(
        _ routes: RouteTable, _ banners: BannerSettings, _ screenSettings: ScreenSettings, at now: Now
    ) {
        (settings.routes, settings.banners) = (routes, banners)
        quietPeriods.setDesktop(isFollowed: banners.followsDesktop)
        quietPeriods.checkDigestsLater()
        for screen in screens.apply(settings: screenSettings) { pass(on: screen, at: now) }
        sendBanners(at: now)
    }

    // MARK: Events

    /// Gives an event its outcome and announces it.
    mutating func decide(_ tracked: TrackedEvent, _ resolution: Resolution) {
        var resolution = resolution
        // The first outcome says this; an event that was shown has had one.
        if tracked.isUndecided {
            resolution.opened = tracked.opened
            resolution.deadline = tracked.deadline
            resolution.isReplayed = tracked.isReplayed
            resolution.isOfEarlierBoot = tracked.isOfEarlierBoot
        }
        output.statistics.count(resolution.outcome)
        output.append(.resolve(tracked.event.id, tracked.event.topic, resolution))
    }
}
