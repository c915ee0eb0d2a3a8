import NotifyText
public import Routing
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

    /// What is said of a window.
    public struct Fit: Equatable, Sendable {
        /// The number of the rule, from 0.
        public let rule: Int
        /// `nil`: what the title has is no part of a topic.
        public let topic: Topic?
    }

    private struct Remembered {
        let app: String
        let instance: String
        let title: String
        let fit: Fit?
        var round: UInt64
    }

    /// In the order of the file.
    public let rules: [WindowRule]
    private var remembered: [UInt64: Remembered] = [:]
    private var round: UInt64 = 0
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

    /// The same, if it is known which windows are focused.
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
