import NotifyText
public import Patterns
public import Routing
import TOMLTables

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
        /// The topic is `nil` if what the title has is no part of one.
        case fits(Topic?)
        case doesNotFit
        /// Its title would take too long.
        case gaveUp
    }

    func match(_ window: Window) -> Match {
        if let app, !app.isSameName(as: window.app), !app.isSameName(as: window.instance) { return .doesNotFit }
        let own = window.number.map { [Self.windowCapture: String($0)] } ?? [:]
        guard let title else { return .fits(topic.filled(with: own)) }
        switch title.match(window.title) {
        case .match(let captures):
            let isOfTitle = title.captureNames.contains(Self.windowCapture)
            return .fits(topic.filled(with: isOfTitle ? captures : captures.merging(own) { $1 }))
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
