import NotifyClient

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
