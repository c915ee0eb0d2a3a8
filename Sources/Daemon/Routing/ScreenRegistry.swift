import NotifyText

/// What claims before it is asked, or holds: the open screens, found by id, by owner, and by the topics they cover;
/// topic claims with a grace; and provisional claims.
///
/// Only active screens are found by topic: those whose state suppresses, while the session is neither locked nor idle.
struct ScreenRegistry {
    private var screens: [ScreenID: Screen] = [:]
    private var owned: [String: [ScreenID]] = [:]
    private(set) var owners = Owners()
    private var claiming = PrefixIndex<ScreenID>()
    private var asking = PrefixIndex<ScreenID>()
    private var nextID: ScreenID
    /// Awaited answers of all screens.
    private(set) var questions = 0
    private(set) var settings: ScreenSettings
    /// False while the session is locked or idle.
    private(set) var isWatched = true
    /// How many screens with a suppressing state stand at a topic.
    private var standing: [TopicPrefix: Int] = [:]
    /// The topics that were last reported as attended.
    private var attended: Set<TopicPrefix> = []
    /// The topics that may be attended or not since then.
    private var doubtful: Set<TopicPrefix> = []
    /// Provisional claims.
    var holds = Holds()
    /// Topic claims with a grace.
    var graces = Graces()

    init(settings: ScreenSettings, firstID: ScreenID) {
        self.settings = settings
        nextID = firstID
    }

    var count: Int { screens.count }
    var all: [Screen] { screens.values.sorted { $0.id < $1.id } }

    subscript(id: ScreenID) -> Screen? { screens[id] }

    func owned(by owner: String) -> [ScreenID] { owned[owner] ?? [] }

    mutating func learn(_ news: PeerNews, of name: String) {
        owners.learn(news, of: name)
        holds.learn(news, of: name)
        graces.learn(news, of: name)
    }

    // MARK: Looking up

    /// Whether the screen may claim, or is asked.
    func isActive(_ screen: Screen) -> Bool { isWatched && settings.suppressingStates.contains(screen.state) }

    /// The oldest screen that claims events with this topic on arrival.
    func claimant(of topic: Topic) -> Screen? {
        guard isWatched, let id = claiming.first(covering: topic) else { return nil }
        return screens[id]
    }

    /// Who claims an event with this topic on arrival: a screen, or a topic claim with a grace.
    func standingClaim(on topic: Topic) -> (claimant: String, form: ClaimForm)? {
        if let screen = claimant(of: topic) { return (screen.owner, .screen) }
        return graces.claimant(of: topic).map { ($0, .topic) }
    }

    /// The screens to ask about an event with this topic.
    func asked(about topic: Topic) -> [ScreenID] { isWatched ? asking.all(covering: topic) : [] }

    // MARK: Claims that hold, and topic claims

    /// An event leaves memory, or is claimed.
    ///
    /// - Parameter asked: the screens whose answers are awaited.
    mutating func forget(_ id: EventID, asked: [ScreenID]) {
        holds.remove(id)
        for screen in asked { removeQuestion(screen, about: id) }
    }

    // MARK: Attention

    /// The topics at which, since the last call, an active screen has come or the last one has gone, in their order.
    mutating func takeAttentionChanges() -> [(topic: TopicPrefix, isAttended: Bool)] {
        guard !doubtful.isEmpty else { return [] }
        defer { doubtful = [] }
        return doubtful.sorted().compactMap { topic in
            let isAttended = isWatched && standing[topic] != nil
            guard isAttended != attended.contains(topic) else { return nil }
            if isAttended { attended.insert(topic) } else { attended.remove(topic) }
            return (topic, isAttended)
        }
    }

    // MARK: Changes

    mutating func open(_ topic: TopicPrefix, owner: String) -> ScreenID {
        let id = nextID
        nextID = ScreenID(id.rawValue + 1)
        let screen = Screen(id: id, topic: topic, owner: owner)
        screens[id] = screen
        owned[owner, default: []].append(id)
        owners.add(of: .connection(owner))
        index(screen)
        return id
    }

    mutating func update(_ id: ScreenID, _ change: (inout Screen) -> Void) {
        guard var screen = screens[id] else { return }
        unindex(screen)
        change(&screen)
        screens[id] = screen
        index(screen)
    }

    @discardableResult
    mutating func close(_ id: ScreenID) -> Screen? {
        guard let screen = screens.removeValue(forKey: id) else { return nil }
        questions -= screen.asked.count
        owners.remove(of: .connection(screen.owner))
        unindex(screen)
        owned[screen.owner]?.removeAll { $0 == id }
        if owned[screen.owner]?.isEmpty == true { owned[screen.owner] = nil }
        return screen
    }

    mutating func addQuestion(_ id: ScreenID, about event: EventID) { changeQuestions(to: id) { $0.insert(event) } }

    mutating func removeQuestion(_ id: ScreenID, about event: EventID) { changeQuestions(to: id) { $0.remove(event) } }

    private mutating func changeQuestions(to id: ScreenID, _ change: (inout SortedIDs) -> Void) {
        guard let index = screens.index(forKey: id) else { return }
        let before = screens.values[index].asked.count
        change(&screens.values[index].asked)
        questions += screens.values[index].asked.count - before
    }

    /// - Returns: the screens that are no longer active, in the order of their ids.
    mutating func apply(settings: ScreenSettings? = nil, isWatched: Bool? = nil) -> [Screen] {
        let before = all.filter { isActive($0) }
        self.isWatched = isWatched ?? self.isWatched
        doubtful.formUnion(standing.keys)
        if let settings, settings != self.settings {
            for screen in all { unindex(screen) }
            self.settings = settings
            for screen in all { index(screen) }
        }
        return before.filter { !isActive($0) }
    }

    private mutating func index(_ screen: Screen) {
        guard settings.suppressingStates.contains(screen.state) else { return }
        standing[screen.topic, default: 0] += 1
        doubtful.insert(screen.topic)
        switch screen.mode {
        case .auto: claiming.insert(screen.id, at: screen.topic)
        case .ask: asking.insert(screen.id, at: screen.topic)
        }
    }

    private mutating func unindex(_ screen: Screen) {
        if settings.suppressingStates.contains(screen.state), let count = standing[screen.topic] {
            standing[screen.topic] = count > 1 ? count - 1 : nil
            doubtful.insert(screen.topic)
        }
        claiming.remove(screen.id, at: screen.topic)
        asking.remove(screen.id, at: screen.topic)
    }
}

/// Screens: opening, changing, closing and asking them.
extension Router {
    mutating func openScreen(
        _ topic: TopicPrefix, _ options: ScreenOptions, by owner: String, at now: Now
    ) throws(Refusal) -> ScreenID {
        if screens.count >= limits.screens {
            throw .limitExceeded("screens: \(limits.screens) are open already; close one")
        }
        if screens.owned(by: owner).count >= limits.screensPerConnection {
            throw .limitExceeded(
                "screens of one connection: \(limits.screensPerConnection) of yours are open; close one")
        }
        if screens.owners[owner].count >= limits.screensPerProgram {
            throw .limitExceeded("screens of one program: \(limits.screensPerProgram) of yours are open; close one")
        }
        let id = screens.open(topic, owner: owner)
        change(id, options, wasClaiming: false, at: now)
        return id
    }

    /// - Parameter options: `nil` closes the screen.
    mutating func changeScreen(
        _ id: ScreenID, _ options: ScreenOptions?, by caller: String, at now: Now
    ) throws(Refusal) {
        let screen = try own(id, caller)
        if let options {
            change(id, options, wasClaiming: screens.isActive(screen) && screen.mode == .auto, at: now)
        } else {
            closeScreen(id, at: now)
            sendBanners(at: now)
        }
    }

    /// Closes a screen. It counts as having passed on all events that it was asked about.
    mutating func closeScreen(_ id: ScreenID, at now: Now) {
        guard let screen = screens.close(id) else { return }
        pass(on: screen, at: now)
    }

    /// Closes all screens of a connection. Each event is checked once, with the last of the screens that were asked
    /// about it; the order is the same as one by one.
    mutating func closeScreens(of owner: String, at now: Now) {
        let closed = screens.owned(by: owner).compactMap { screens.close($0) }
        let ids = Set(closed.map(\.id))
        // One pass: searching each event's questions for every screen is quadratic.
        var last: [EventID: ScreenID] = [:]
        for screen in closed {
            for event in screen.asked { last[event] = screen.id }
        }
        for screen in closed {
            for event in screen.asked where last[event] == screen.id && events[event] != nil {
                events.setAsked(event, events[existing: event].asked.filter { !ids.contains($0) })
                stopAwaitingIfAnswered(event, at: now)
            }
        }
    }

    private mutating func change(_ id: ScreenID, _ options: ScreenOptions, wasClaiming: Bool, at now: Now) {
        screens.update(id) { screen in
            screen.mode = options.mode ?? screen.mode
            screen.state = options.state ?? screen.state
            screen.clear = options.clear ?? screen.clear
            if let lease = options.lease { screen.lease = lease == .zero ? nil : lease }
        }
        guard let screen = screens[id] else { return }
        let leaseTimer = screen.lease.map { timers.schedule(.lease(id), at: now.instant + $0) }
        screens.update(id) { $0.leaseTimer = leaseTimer }
        let isClaiming = screens.isActive(screen) && screen.mode == .auto
        // Claims come before passes, which may end windows.
        if isClaiming, screen.clear, !wasClaiming || options.clear == true {
            claimAll(atOrBelow: screen.topic, by: screen.owner, as: .screen, at: now)
        }
        if let screen = screens[id], !screens.isActive(screen) || screen.mode == .auto { pass(on: screen, at: now) }
        sendBanners(at: now)
    }

    /// Screens are not active while the session is locked or idle.
    mutating func attentionChanged(isWatched: Bool, at now: Now) {
        for screen in screens.apply(isWatched: isWatched) { pass(on: screen, at: now) }
        sendBanners(at: now)
    }

    // MARK: Asking

    /// Asks all asking screens about an event.
    ///
    /// - Returns: the screens that were asked.
    mutating func ask(about event: Event) -> [ScreenID] {
        // Only events of an earlier run come here above the limit: no screen is asked, and the banner is shown.
        guard screens.questions < limits.questions else { return [] }
        let asked = screens.asked(about: event.topic)
        for id in asked { screens.addQuestion(id, about: event.id) }
        return asked
    }

    mutating func pass(on screen: Screen, at now: Now) {
        for event in screen.asked { answered(screen.id, about: event, at: now) }
    }

    mutating func answered(_ screen: ScreenID, about id: EventID, at now: Now) {
        screens.removeQuestion(screen, about: id)
        guard let asked = events[id]?.asked, asked.contains(screen) else { return }
        events.setAsked(id, asked.filter { $0 != screen })
        stopAwaitingIfAnswered(id, at: now)
    }

    /// Ends the event's window if no more answers are awaited.
    private mutating func stopAwaitingIfAnswered(_ id: EventID, at now: Now) {
        guard case .window(let key) = events[existing: id].place, !events[existing: id].isAwaited else { return }
        events.stopAwaiting(id, in: key)
        closeWindowIfDone(key, at: now)
    }

    /// Withdraws the questions about an event.
    mutating func forgetQuestions(about id: EventID) {
        guard let asked = events[id]?.asked, !asked.isEmpty else { return }
        for screen in asked { screens.removeQuestion(screen, about: id) }
        events.setAsked(id, [])
    }

    private func own(_ id: ScreenID, _ caller: String) throws(Refusal) -> Screen {
        guard let screen = screens[id] else {
            throw .unknownScreen(
                "there is no screen \(id); numbers come from OpenScreen, and a screen ends with its lease")
        }
        guard screen.owner == caller else {
            throw .accessDenied(
                "screen \(id) belongs to \(screen.owner); only the connection that opened it may change it")
        }
        return screen
    }
}
