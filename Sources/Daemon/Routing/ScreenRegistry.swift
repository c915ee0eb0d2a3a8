/// The open screens, found by id, by owner, and by the topics they cover.
///
/// Only active screens are found by topic: those whose state suppresses, while the session is neither locked nor idle.
struct ScreenRegistry {
    private var screens: [ScreenID: Screen] = [:]
    private var owned: [String: [ScreenID]] = [:]
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

    init(settings: ScreenSettings, firstID: ScreenID) {
        self.settings = settings
        nextID = firstID
    }

    var count: Int { screens.count }
    var all: [Screen] { screens.values.sorted { $0.id < $1.id } }

    subscript(id: ScreenID) -> Screen? { screens[id] }

    func owned(by owner: String) -> [ScreenID] { owned[owner] ?? [] }

    // MARK: Looking up

    /// Whether the screen may claim, or is asked.
    func isActive(_ screen: Screen) -> Bool {
        isWatched && settings.suppressingStates.contains(screen.state)
    }

    /// The oldest screen that claims events with this topic on arrival.
    func claimant(of topic: Topic) -> Screen? {
        guard isWatched, let id = claiming.first(covering: topic) else { return nil }
        return screens[id]
    }

    /// The screens to ask about an event with this topic.
    func asked(about topic: Topic) -> [ScreenID] {
        isWatched ? asking.all(covering: topic) : []
    }

    // MARK: Attention

    /// The topics at which, since the last call, an active screen has come or the last one has gone, in their order.
    mutating func takeAttentionChanges() -> [(topic: TopicPrefix, isAttended: Bool)] {
        guard !doubtful.isEmpty else { return [] }
        defer { doubtful = [] }
        let topics = doubtful.sorted { $0.description.utf8.lexicographicallyPrecedes($1.description.utf8) }
        return topics.compactMap { topic in
            let isAttended = isWatched && standing[topic] != nil
            guard isAttended != attended.contains(topic) else { return nil }
            if isAttended { attended.insert(topic) } else { attended.remove(topic) }
            return (topic, isAttended)
        }
    }

    // MARK: Changes

    mutating func open(_ topic: TopicPrefix, owner: String, in owners: inout Owners) -> ScreenID {
        let id = nextID
        nextID = ScreenID(id.rawValue + 1)
        let screen = Screen(id: id, topic: topic, owner: owner)
        screens[id] = screen
        owned[owner, default: []].append(id)
        owners.add(Owners.Share(screens: 1), of: .connection(owner))
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
    mutating func close(_ id: ScreenID, in owners: inout Owners) -> Screen? {
        guard let screen = screens.removeValue(forKey: id) else { return nil }
        questions -= screen.asked.count
        owners.remove(Owners.Share(screens: 1), of: .connection(screen.owner))
        unindex(screen)
        owned[screen.owner]?.removeAll { $0 == id }
        if owned[screen.owner]?.isEmpty == true { owned[screen.owner] = nil }
        return screen
    }

    mutating func addQuestion(_ id: ScreenID, about event: EventID) {
        changeQuestions(to: id) { $0.insert(event) }
    }

    mutating func removeQuestion(_ id: ScreenID, about event: EventID) {
        changeQuestions(to: id) { $0.remove(event) }
    }

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
