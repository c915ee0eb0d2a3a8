public import NotifyText
public import TOMLTables

/// Which screens the windows hold, by the rules of `focus.toml`.
///
/// The first rule that fits a window counts. The titles of windows are matched again only if they have changed.
public struct WindowRules: Sendable {
    /// Screens that are held at a time.
    public static let mostScreens = 64
    /// Rules of a configuration.
    static let mostRules = 256

    /// A screen that is to be held.
    public struct Wanted: Equatable, Sendable {
        public let topic: Topic
        /// Whether a window that shows it has the keyboard; otherwise one can be seen.
        public let isFocused: Bool

        public init(topic: Topic, isFocused: Bool) {
            self.topic = topic
            self.isFocused = isFocused
        }
    }

    /// The first rule that fits a window, and the topic that it gives.
    public struct Fit: Equatable, Sendable {
        /// The number of the rule, from 0.
        public let rule: Int
        /// `nil` if what the rule captures in the title cannot be part of a topic.
        public let topic: Topic?
    }

    /// What a window was when it was last matched, and the result.
    private struct Remembered {
        let app: String
        let instance: String
        let title: String
        let fit: Fit?
        /// The last call of `screens` that had the window.
        var round: UInt64
    }

    /// In the order of the file.
    public let rules: [WindowRule]
    private var remembered: [UInt64: Remembered] = [:]
    /// Counts the calls of `screens`.
    private var round: UInt64 = 0
    /// Rules with a pattern that took too long.
    private var givenUp: Set<Int> = []
    private var newlyGivenUp: [Int] = []
    /// Whether windows without the focus matter.
    private let hasVisible: Bool

    public init(_ rules: [WindowRule] = []) {
        self.rules = rules
        hasVisible = rules.contains { $0.state == .visible }
    }

    /// Reads a whole configuration.
    public static func parse(_ text: String, file: String) throws(ConfigurationError) -> WindowRules {
        try TableReader.read(file: file, text: text) { root in
            WindowRules(root.tables("screen", upTo: mostRules) { WindowRule.read(from: &$0) })
        }
    }

    // MARK: Windows

    /// The screens that these windows hold, one for a topic, those of the focused window first.
    public mutating func screens(of windows: [Window]) -> [Wanted] {
        screens(of: windows, focused: windows.indices.filter { windows[$0].isFocused })
    }

    /// The same for a caller that knows which windows are focused.
    ///
    /// - Parameter focused: their places. Where only focused windows matter, no other one is looked at.
    public mutating func screens(of windows: [Window], focused: [Int]) -> [Wanted] {
        round += 1
        var wanted: [Wanted] = []
        // Focus first: it wins where two windows show one topic, or there are too many.
        for index in focused { add(windows[index], isFocused: true, to: &wanted) }
        if hasVisible {
            // By index, because most are only looked at, and need not be copied.
            for index in windows.indices where windows[index].isVisible && !windows[index].isFocused {
                add(windows[index], isFocused: false, to: &wanted)
            }
        }
        forgetOld(than: windows.count)
        return wanted
    }

    private mutating func add(_ window: Window, isFocused: Bool, to wanted: inout [Wanted]) {
        guard let fit = fit(window), let topic = fit.topic, wanted.count < Self.mostScreens else { return }
        guard isFocused || rules[fit.rule].state == .visible else { return }
        // There are few, so that to look through them takes less than to hash a topic.
        guard !wanted.contains(where: { $0.topic == topic }) else { return }
        wanted.append(Wanted(topic: topic, isFocused: isFocused))
    }

    /// The first rule that fits a window.
    public mutating func fit(_ window: Window) -> Fit? {
        if let index = remembered.index(forKey: window.id) {
            let known = remembered.values[index]
            if known.title.hasBytes(of: window.title), known.app.hasBytes(of: window.app),
                known.instance.hasBytes(of: window.instance)
            {
                remembered.values[index].round = round
                return known.fit
            }
        }
        let fit = find(window)
        remembered[window.id] = Remembered(
            app: window.app, instance: window.instance, title: window.title, fit: fit, round: round)
        return fit
    }

    private mutating func find(_ window: Window) -> Fit? {
        for (index, rule) in rules.enumerated() {
            switch rule.match(window) {
            case .fits(let topic): return Fit(rule: index, topic: topic)
            case .doesNotFit: continue
            case .gaveUp: if givenUp.insert(index).inserted { newlyGivenUp.append(index) }
            }
        }
        return nil
    }

    /// The numbers of rules, from 0, with a pattern that took too long since this was last called, and never before.
    public mutating func takeGivenUp() -> [Int] {
        defer { newlyGivenUp = [] }
        return newlyGivenUp
    }

    /// Forgets windows that are gone, once they are many.
    private mutating func forgetOld(than count: Int) {
        guard remembered.count > 2 * count + 64 else { return }
        let current = round
        remembered = remembered.filter { $0.value.round == current }
    }
}

/// One `[[screen]]` of `focus.toml`: which windows show which topic.
public struct WindowRule: Equatable, Sendable {
    /// When a window that fits holds its screen.
    public enum State: String, CaseIterable, Sendable {
        /// While it has the keyboard.
        case focused
        /// While it can be seen.
        case visible
    }

    /// The capture of a topic that stands for the number of the window, unless the title has one of this name.
    static let windowCapture = "window"

    /// `nil`: any.
    public let app: String?
    /// `nil`: any.
    public let title: Pattern?
    /// Its captures are named ones of the title, or ``windowCapture``.
    public let topic: TopicPattern
    public let state: State

    public init(app: String?, title: Pattern?, topic: TopicPattern, state: State = .focused) {
        self.app = app
        self.title = title
        self.topic = topic
        self.state = state
    }

    /// Whether a window fits the rule.
    enum Match {
        /// The topic is `nil` if what the rule captures in the title cannot be part of one.
        case fits(Topic?)
        case doesNotFit
        /// Matching its title takes too long.
        case gaveUp
    }

    func match(_ window: Window) -> Match {
        if let app, !app.isSameName(as: window.app), !app.isSameName(as: window.instance) { return .doesNotFit }
        let own = window.number.map { [Self.windowCapture: String($0)] } ?? [:]
        guard let title else { return .fits(try? topic.filled(with: own)) }
        switch title.match(window.title) {
        case .match(let captures):
            let isOfTitle = title.captureNames.contains(Self.windowCapture)
            return .fits(try? topic.filled(with: isOfTitle ? captures : captures.merging(own) { $1 }))
        case .noMatch: return .doesNotFit
        case .gaveUp: return .gaveUp
        }
    }
}

extension WindowRule {
    static func read(from table: inout TableReader) -> WindowRule? {
        let app = table.string("app")
        if app?.isEmpty == true { table.note("app", "'app' is empty; without 'app' a rule is for every program") }
        let title = table.parsed("title", Pattern.init)
        let topic = table.required("topic") { $0.topic($1) }
        let state = table.word("state", of: State.self) ?? .focused
        guard table.has("app") || table.has("title") else {
            table.note("topic", "this rule has neither 'app' nor 'title', so that it would fit every window")
            return nil
        }
        guard let topic else { return nil }
        guard title != nil || !table.has("title") else { return nil }
        for name in topic.captureNames where title?.captureNames.contains(where: { $0.hasBytes(of: name) }) != true {
            if name.hasBytes(of: windowCapture) { continue }
            table.note("topic", "'title' has no capture (?<\(name)>…) for the {\(name)} of this topic")
            return nil
        }
        return WindowRule(app: app, title: title, topic: topic, state: state)
    }
}

extension TableReader {
    fileprivate mutating func topic(_ key: String) -> TopicPattern? {
        guard let text = string(key) else { return nil }
        do throws(TopicError) {
            return try TopicPattern(text)
        } catch {
            note(key, "\(error)")
            return nil
        }
    }
}

/// A window, as its desktop describes it.
public struct Window: Equatable, Sendable {
    /// Unicode scalars of a title that are looked at. A page chooses its title, and may choose a long one.
    public static let longestTitle = Pattern.longestSubject

    /// The number of the window at its source.
    public var id: UInt64
    /// Its number at the X server, as `$WINDOWID` says it; `nil` if it is not a window of an X program, or not known.
    public let number: UInt64?
    /// The class part of `WM_CLASS`, or the `app_id`.
    public let app: String
    /// The instance part of `WM_CLASS`; empty where there is none.
    public let instance: String
    /// At most ``longestTitle`` scalars.
    public let title: String
    /// Whether it has the keyboard.
    public var isFocused: Bool
    /// Whether it is on the current desktop and not minimised. Another window may cover it.
    public var isVisible: Bool

    /// Cuts a long title.
    public init(
        id: UInt64, number: UInt64? = nil, app: String, instance: String = "", title: String, isFocused: Bool = false,
        isVisible: Bool = true
    ) {
        self.id = id
        self.number = number
        self.app = app
        self.instance = instance
        self.title = Self.cut(title)
        self.isFocused = isFocused
        self.isVisible = isVisible
    }

    private static func cut(_ title: String) -> String {
        guard title.utf8.count > longestTitle else { return title }
        return String(String.UnicodeScalarView(title.unicodeScalars.prefix(longestTitle)))
    }

    /// Texts are equal if their bytes are.
    public static func == (left: Window, right: Window) -> Bool {
        left.id == right.id && left.number == right.number && left.isFocused == right.isFocused
            && left.isVisible == right.isVisible
            && left.title.hasBytes(of: right.title) && left.app.hasBytes(of: right.app)
            && left.instance.hasBytes(of: right.instance)
    }
}

/// The topic at which an interactive shell reports the end of its commands, and which is held while its pane is looked
/// at: `/shell/HOST/PANE`.
public struct ShellTopic: Equatable, Sendable {
    /// Where a shell runs.
    public enum Pane: Equatable, Sendable {
        /// A pane of tmux: the process id of the server, and the number of the pane, without its `%`.
        case tmux(server: UInt32, pane: UInt32)
        /// A window of an X server, as `$WINDOWID` says it.
        case window(UInt64)
        /// Another terminal, by its device, such as `pts/3`.
        case terminal(String)

        var segment: String {
            switch self {
            case .tmux(let server, let pane): "tmux-\(server)-\(pane)"
            case .window(let number): String(number)
            case .terminal(let name): ShellTopic.segment(name, or: "terminal")
            }
        }
    }

    public let topic: Topic

    /// - Parameter host: the name of the machine; what a topic cannot have becomes a `-`.
    public init(host: String, pane: Pane) {
        let text = "/shell/" + Self.segment(host, or: "localhost") + "/" + pane.segment
        do throws(TopicError) { topic = try Topic(text) } catch {
            fatalError("A segment of plain ASCII is in no topic: \(error)")
        }
    }

    /// The longest that is taken of a name; a segment has at most 64 bytes.
    private static let longest = 64

    private static func segment(_ name: String, or other: String) -> String {
        let bytes = name.utf8.prefix(longest).map {
            $0.isNameCharacter || $0 == UInt8(ascii: ".") ? $0 : UInt8(ascii: "-")
        }
        return bytes.isEmpty ? other : String(decoding: bytes, as: UTF8.self)
    }
}

/// What a desktop runs that does not start `graphical-session.target`, so that notifyd-focus finds its windows.
package let focusStartCommand = """
    systemctl --user import-environment DISPLAY WAYLAND_DISPLAY SWAYSOCK I3SOCK XAUTHORITY && \
    systemctl --user restart notifyd-focus
    """
