/// The open screens, found by id, by owner, and by the topics they cover.
///
/// Screens whose state does not suppress are in no topic index, and while nobody looks at the session none counts: so that
/// a look-up finds only those that have a say.
struct ScreenRegistry {
    private var screens: [ScreenID: Screen] = [:]
    private var owned: [String: [ScreenID]] = [:]
    private var claiming = PrefixIndex<ScreenID>()
    private var asking = PrefixIndex<ScreenID>()
    private var nextID: ScreenID
    /// The answers that are awaited from all screens.
    private(set) var questions = 0
    private(set) var settings: ScreenSettings
    /// Whether somebody may be looking: not so while the session is locked or idle.
    private(set) var isWatched = true

    init(settings: ScreenSettings, firstID: ScreenID) {
        self.settings = settings
        nextID = firstID
    }

    var count: Int { screens.count }
    var all: [Screen] { screens.values.sorted { $0.id < $1.id } }

    subscript(id: ScreenID) -> Screen? { screens[id] }

    func owned(by owner: String) -> [ScreenID] { owned[owner] ?? [] }

    // MARK: Who has a say

    /// Whether the screen has a say about what it covers.
    func isActive(_ screen: Screen) -> Bool {
        isWatched && settings.suppressingStates.contains(screen.state)
    }

    /// The screen that claims an event with this topic on arrival: the oldest one.
    func claimant(of topic: Topic) -> Screen? {
        guard isWatched, let id = claiming.first(covering: topic) else { return nil }
        return screens[id]
    }

    /// The screens that want to be asked about an event with this topic.
    func asked(about topic: Topic) -> [ScreenID] {
        isWatched ? asking.all(covering: topic) : []
    }

    // MARK: Changes

    mutating func open(_ topic: TopicPrefix, owner: String) -> ScreenID {
        let id = nextID
        nextID = ScreenID(id.rawValue + 1)
        let screen = Screen(id: id, topic: topic, owner: owner)
        screens[id] = screen
        owned[owner, default: []].append(id)
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
        unindex(screen)
        owned[screen.owner]!.removeAll { $0 == id }
        if owned[screen.owner]!.isEmpty { owned[screen.owner] = nil }
        return screen
    }

    mutating func noteAsked(_ id: ScreenID, about event: EventID) {
        changeQuestions(to: id) { $0.insert(event) }
    }

    mutating func noteAnswered(_ id: ScreenID, about event: EventID) {
        changeQuestions(to: id) { $0.remove(event) }
    }

    private mutating func changeQuestions(to id: ScreenID, _ change: (inout EventList) -> Void) {
        guard let before = screens[id]?.asked.count else { return }
        change(&screens[id]!.asked)
        questions += screens[id]!.asked.count - before
    }

    /// - Returns: the screens that have no say any more, in their order.
    mutating func apply(settings: ScreenSettings? = nil, isWatched: Bool? = nil) -> [Screen] {
        let before = all.filter { isActive($0) }
        self.isWatched = isWatched ?? self.isWatched
        if let settings, settings != self.settings {
            for screen in all { unindex(screen) }
            self.settings = settings
            for screen in all { index(screen) }
        }
        return before.filter { !isActive($0) }
    }

    private mutating func index(_ screen: Screen) {
        guard settings.suppressingStates.contains(screen.state) else { return }
        switch screen.mode {
        case .auto: claiming.insert(screen.id, at: screen.topic)
        case .ask: asking.insert(screen.id, at: screen.topic)
        }
    }

    private mutating func unindex(_ screen: Screen) {
        claiming.remove(screen.id, at: screen.topic)
        asking.remove(screen.id, at: screen.topic)
    }
}
