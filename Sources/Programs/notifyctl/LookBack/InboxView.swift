import NotifyClient
import NotifyText

/// Runs an ``InboxScreen`` on the terminal: draws it, and does what its keys ask.
struct InboxView: Sendable {
    /// The shortest time between two frames.
    private static let pause = Duration.milliseconds(30)

    private let feed: InboxFeed
    private let commands: AsyncStream<InboxScreen.Command>
    private let commanding: AsyncStream<InboxScreen.Command>.Continuation

    init(_ client: NotifyClient, _ topic: String, address: String) {
        feed = InboxFeed(client, topic, address: address)
        (commands, commanding) = AsyncStream.makeStream()
    }

    /// Until the user ends it.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await feed.run() }
            group.addTask { await perform() }
            group.addTask { await draw() }
            defer { group.cancelAll() }
            // The task that draws ends with the key that ends the program, and the first error ends it as well.
            try await group.next()
        }
    }

    private func draw() async {
        let decoder = Locked(KeyDecoder())
        await FullScreen.run(feed.changes) { bytes in
            let chosen = decoder.withLock({ $0.keys(bytes) }).compactMap { key in feed.update { $0.take(key) } }
            for command in chosen where command != .quit { commanding.yield(command) }
            feed.loadIfNeeded()
            return chosen.contains(.quit)
        } draw: { width, height in
            let frame = InboxFrame(now: Timestamp.now, width: width, height: height)
            return feed.draw { frame.lines(&$0) }
        } pause: {
            await feed.changes.wait()
            try? await Task.sleep(for: Self.pause)
        }
    }

    // MARK: Commands

    private func perform() async {
        for await command in commands {
            do throws(NotifyError) {
                let words = try await perform(command)
                feed.update { screen in if let words { screen.report(words) } }
            } catch {
                feed.update { $0.report(error.advice) }
            }
            feed.refresh()
        }
    }

    /// - Returns: what was done, for the user.
    private func perform(_ command: InboxScreen.Command) async throws(NotifyError) -> String? {
        let client = feed.client
        switch command {
        case .read(let id):
            try await client.claim(id)
            return "Read."
        case .readTopic(let topic, let last):
            return "Read at and below \(topic): \(try await client.markRead(topic, upTo: last))."
        case .claim(let id): return "Claimed: \(try await client.claim(id))."
        case .mute(let entry): return try await mute(entry)
        case .snooze(let id):
            try await client.snooze(id, for: InboxScreen.snooze)
            let now = Timestamp.now
            return "Snoozed until \(Timestamp(now + InboxScreen.snooze.microseconds).end(seenAt: now))."
        case .explain(let id):
            let explanation = try await client.explain(id)
            feed.update { $0.show(explanation) }
            return nil
        case .press(let button, let id):
            let before = try? await failedCommands()
            try await client.press(button.key, of: id)
            Task { [feed] in
                guard let before, await hasFailed(since: before) else { return }
                feed.update {
                    $0.report("Pressed “\(button.label)”, but a command failed; the log of notifyd says why.")
                }
            }
            return "Pressed “\(button.label)”."
        case .quit: return nil
        }
    }

    private func mute(_ entry: InboxEntry) async throws(NotifyError) -> String {
        let (client, topic) = (feed.client, entry.topic)
        let isMuted = await client.quietNow().isMuted(topic)
        try await client.mute(topic, for: isMuted ? .zero : InboxScreen.mute)
        let now = Timestamp.now
        guard isMuted else {
            let end = Timestamp(now + InboxScreen.mute.microseconds).end(seenAt: now)
            let exception = entry.breaksThrough ? ", but its banners still come: its route has break_through" : ""
            return "\(topic) is muted until \(end)\(exception)."
        }
        let rest = try await client.quiet().first { $0.covers(topic) }
        return "\(topic) is not muted any more" + (rest.map { "; still quiet: \($0.words(at: now))." } ?? ".")
    }

    private func failedCommands() async throws(NotifyError) -> UInt64 {
        try await feed.client.statistics()["failed-commands"] ?? 0
    }

    /// Whether the command of a button fails within a second. Only notifyd's log reports which button.
    private func hasFailed(since before: UInt64) async -> Bool {
        for _ in 1...10 {
            guard (try? await Task.sleep(for: .milliseconds(100))) != nil else { return false }
            if let now = try? await failedCommands(), now > before { return true }
        }
        return false
    }
}

/// What `notifyctl inbox` shows, and what its keys do. It does no I/O.
struct InboxScreen: Sendable {
    /// What a key asks of the daemon.
    enum Command: Hashable, Sendable {
        case read(EventID)
        case readTopic(String, upTo: EventID)
        /// Mutes the event's topic, or ends its mute.
        case mute(InboxEntry)
        case snooze(EventID)
        case claim(EventID)
        case explain(EventID)
        case press(BannerOptions.Button, EventID)
        case quit
    }

    enum Mode: Hashable, Sendable {
        case list
        case filter
        case help
        case explanation(Explanation)
    }

    /// Whether the daemon answers.
    enum Daemon: Hashable, Sendable {
        case unasked, running, absent
        /// It answers with an error.
        case failing(String)
    }

    static let mute = Duration.seconds(3600)
    static let snooze = Duration.seconds(600)

    /// It shows what is unread at or below.
    var topic = "/"

    var list = InboxList()
    var daemon = Daemon.unasked
    /// What holds back banners of its events.
    var quiet: [Quiet] = [] { didSet { quiet = quiet.concerning(topic) } }
    private(set) var mode = Mode.list
    /// What the last command did; until the next key.
    private(set) var status: String?
    /// The first line of the body that is visible.
    private var top = 0
    /// How many lines of the body were visible.
    private var height = 1

    /// Whether the selected event's topic itself is muted.
    var isSelectionMuted: Bool { list.selected.map { quiet.isMuted($0.topic) } ?? false }

    // MARK: Keys

    mutating func take(_ key: Key) -> Command? {
        status = nil
        switch mode {
        case .list: return takeInList(key)
        case .filter: takeInFilter(key)
        case .help, .explanation: takeInText(key)
        }
        return nil
    }

    private mutating func takeInList(_ key: Key) -> Command? {
        switch key {
        case .up, .character("k"): list.move(by: -1)
        case .down, .character("j"): list.move(by: 1)
        case .pageUp: list.move(by: -max(1, height - 1))
        case .pageDown: list.move(by: max(1, height - 1))
        case .home, .character("g"): list.moveToFirst()
        case .end, .character("G"): list.moveToLast()
        case .enter, .character(" "): list.toggle()
        case .escape: list.filter = ""
        case .character("/"): mode = .filter
        case .character("?"): show(.help)
        case .character("q"): return .quit
        case .character(let letter): return command(letter)
        case .backspace: break
        }
        return nil
    }

    private mutating func command(_ letter: Character) -> Command? {
        guard let entry = list.selected else { return nil }
        switch letter {
        case "r": return .read(entry.id)
        case "R": return list.selectedGroup?.entries.first.map { .readTopic(entry.topic, upTo: $0.id) }
        case "m": return .mute(entry)
        case "z": return .snooze(entry.id)
        case "c": return .claim(entry.id)
        case "w": return .explain(entry.id)
        case "b": return button(nil, of: entry)
        case "1"..."8": return button(letter.wholeNumberValue, of: entry)
        default: return nil
        }
    }

    /// - Parameter number: which button, from 1; `nil`: the only one.
    private mutating func button(_ number: Int?, of entry: InboxEntry) -> Command? {
        let buttons = entry.appearance.buttons
        if let number, number <= buttons.count { return .press(buttons[number - 1], entry.id) }
        if number == nil, buttons.count == 1 { return .press(buttons[0], entry.id) }
        list.expand()
        status =
            switch buttons.count {
            case 0: "This event has no buttons."
            case 1: "Its button is 1."
            default: "Its buttons are 1 to \(buttons.count)."
            }
        return nil
    }

    private mutating func takeInFilter(_ key: Key) {
        switch key {
        case .enter: mode = .list
        case .escape:
            list.filter = ""
            mode = .list
        case .backspace: list.filter = String(list.filter.dropLast())
        case .character(let character): list.filter.append(character)
        case .up: list.move(by: -1)
        case .down: list.move(by: 1)
        case .pageUp, .pageDown, .home, .end: break
        }
    }

    private mutating func takeInText(_ key: Key) {
        switch key {
        case .up: top = max(0, top - 1)
        case .down: top += 1
        case .pageUp: top = max(0, top - max(1, height - 1))
        case .pageDown: top += max(1, height - 1)
        default: show(.list)
        }
    }

    private mutating func show(_ mode: Mode) {
        self.mode = mode
        top = 0
    }

    // MARK: Replies

    mutating func show(_ explanation: Explanation) { show(.explanation(explanation)) }

    mutating func report(_ text: String) { status = text }

    // MARK: Scrolling

    /// The lines to draw.
    ///
    /// - Parameters:
    ///   - count: how many lines the body has.
    ///   - height: how many of them fit.
    ///   - selected: those that must be visible, or as many of them as fit.
    mutating func visible(of count: Int, height: Int, selected: Range<Int>? = nil) -> Range<Int> {
        self.height = height
        if let selected {
            if selected.upperBound > top + height { top = selected.upperBound - height }
            if selected.lowerBound < top { top = selected.lowerBound }
        }
        top = max(0, min(top, count - height))
        return top..<min(count, top + height)
    }
}

/// What nobody has seen, grouped by topic, and which event of it is selected.
///
/// It does no I/O and reads no clock.
struct InboxList: Sendable {
    struct Group: Sendable {
        let topic: String
        /// The newest first.
        fileprivate(set) var entries: [InboxEntry]
    }

    /// The most events in memory. Older ones are only counted.
    static let capacity = 2000
    private static let portion = 200
    /// Older events are loaded before the selection reaches the last one.
    private static let margin = 50

    /// The newest first.
    private(set) var entries: [InboxEntry] = []
    /// How many unread events there are; `nil` before the daemon has answered.
    private(set) var total: Int?
    /// How many events should be in memory.
    private(set) var wanted = portion
    /// Whether there are older events.
    private(set) var hasMore = false
    /// Whether the selection follows the last event until all are in memory that should be.
    private var isGoingToLast = false
    private(set) var selection: EventID?
    private(set) var expanded: Set<EventID> = []
    var filter = "" {
        didSet {
            // What it finds is told about all events.
            if !filter.isEmpty { wanted = Self.capacity }
            isGoingToLast = false
            restoreSelection()
        }
    }

    /// Where the selection is in the order of the groups. If its event leaves, the next one is selected.
    private var position = 0
    /// Events that were decided while a page was on its way.
    private var decided: Set<EventID> = []

    /// Whether older events should be loaded.
    var isShort: Bool { hasMore && entries.count < wanted }

    /// Whether there are events that no key and no filter reaches.
    var isCut: Bool { hasMore && entries.count >= Self.capacity }

    /// How many events the filter finds in memory.
    var matching: Int { entries.count(where: matches) }

    /// The topic with the newest event first.
    var groups: [Group] {
        var groups: [Group] = []
        var indices: [ByteString: Int] = [:]
        for entry in entries where matches(entry) {
            if let index = indices[entry.topic.bytes] {
                groups[index].entries.append(entry)
            } else {
                indices[entry.topic.bytes] = groups.count
                groups.append(Group(topic: entry.topic, entries: [entry]))
            }
        }
        return groups
    }

    private func matches(_ entry: InboxEntry) -> Bool {
        guard !filter.isEmpty else { return true }
        let wanted = filter.lowercased()
        return [entry.topic, entry.text.title, entry.text.body, entry.appearance.app ?? ""]
            .contains { $0.lowercased().contains(wanted) }
    }

    var selected: InboxEntry? { selection.flatMap { id in entries.first { $0.id == id } } }

    /// The events of the selected one's topic.
    var selectedGroup: Group? { selected.flatMap { entry in groups.first { $0.topic.bytes == entry.topic.bytes } } }

    // MARK: News

    /// A page was asked for: outcomes that come before its reply are newer than it.
    mutating func beginLoading() { decided = [] }

    /// - Parameters:
    ///   - page: unread events from the newest on.
    ///   - hasMore: whether there are older ones.
    ///   - total: how many unread events there are.
    mutating func take(_ page: [InboxEntry], hasMore: Bool, total: Int) {
        entries = page.prefix(Self.capacity).filter { !decided.contains($0.id) }
        self.hasMore = hasMore || page.count > Self.capacity
        self.total = total - (page.count { decided.contains($0.id) })
        expanded.formIntersection(entries.map(\.id))
        restoreSelection()
        if isGoingToLast { select(.max) }
        if !isShort { isGoingToLast = false }
    }

    /// - Returns: whether the event is unread and not in the list.
    @discardableResult
    mutating func receive(_ outcome: Outcome) -> Bool {
        let index = entries.firstIndex { $0.id == outcome.id }
        guard outcome.kind != .shown, outcome.kind != .muted, outcome.kind != .expired else {
            if let index { entries[index].outcome = outcome.kind }
            return index == nil
        }
        decided.insert(outcome.id)
        guard let index else { return false }
        entries.remove(at: index)
        total = total.map { $0 - 1 }
        expanded.remove(outcome.id)
        restoreSelection()
        return false
    }

    private mutating func restoreSelection() {
        let ids = groups.flatMap { $0.entries.map(\.id) }
        if let index = selection.flatMap({ ids.firstIndex(of: $0) }) {
            position = index
        } else {
            position = max(0, min(position, ids.count - 1))
            selection = ids.isEmpty ? nil : ids[position]
        }
    }

    // MARK: Moving

    mutating func move(by step: Int) {
        isGoingToLast = false
        select(position + step)
        let count = groups.reduce(0) { $0 + $1.entries.count }
        if hasMore, position + Self.margin > count { wanted = min(wanted + Self.portion, Self.capacity) }
    }

    mutating func moveToFirst() { move(by: -position) }

    /// Loads what is missing. Until then, the last event in memory is selected.
    mutating func moveToLast() {
        wanted = Self.capacity
        isGoingToLast = isShort
        select(.max)
    }

    private mutating func select(_ index: Int) {
        let ids = groups.flatMap { $0.entries.map(\.id) }
        guard !ids.isEmpty else { return }
        position = max(0, min(index, ids.count - 1))
        selection = ids[position]
    }

    mutating func toggle() {
        isGoingToLast = false
        guard let selection else { return }
        if expanded.remove(selection) == nil { expanded.insert(selection) }
    }

    mutating func expand() { if let selection { expanded.insert(selection) } }
}
