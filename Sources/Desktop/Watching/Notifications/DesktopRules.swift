import Mapping
public import NotifyText
public import TOMLTables

/// One `[[app]]` of `desktop.toml`: which notifications it is about, and what becomes of them. notifyd-desktop.toml(5).
public struct AppRule: Equatable, Sendable {
    /// What a screen claims of the notifications of a program.
    enum Claim: String, CaseIterable, Sendable {
        /// A window of the program that is in front stands for everything that the program shows.
        case app
    }

    var app: String?
    var category: String?
    var unit: String?
    var title: Pattern?
    var body: Pattern?
    /// `nil`: the topic of the program.
    var topic: TopicPattern?
    /// How long texts stay on disk; zero: the program is left alone.
    var keep = DesktopRules.usualKeep
    var isShared = false
    var claim: Claim?

    /// The captures of title and body; `nil` if the rule does not fit.
    func captures(_ notice: Notice, _ onGivingUp: (Pattern) -> Void) -> [String: String]? {
        if let app, !app.isSameName(as: notice.app), !app.isSameName(as: notice.desktopEntry) { return nil }
        // "im" stands for "im.received" too.
        if let category, notice.category != category, !notice.category.hasPrefix(category + ".") { return nil }
        if let unit, unit != notice.unit, unit + ".service" != notice.unit { return nil }
        var captures: [String: String] = [:]
        for (pattern, text) in [(title, notice.title), (body, notice.body)] {
            guard let pattern else { continue }
            // All that notifyd is told.
            switch pattern.match(text, upTo: Notice.longestBody) {
            case .match(let found): captures.merge(found) { first, _ in first }
            case .noMatch: return nil
            case .gaveUp:
                onGivingUp(pattern)
                return nil
            }
        }
        return captures
    }
}

/// What becomes of notifications, by the rules of `desktop.toml`. The first rule that fits counts.
public struct DesktopRules: Equatable, Sendable {
    /// How long the texts of programs stay that nobody has named.
    public static let usualKeep: Duration = .seconds(24 * 3600)
    /// The longest time that a text can be kept.
    public static let longestKeep: Duration = .seconds(366 * 24 * 3600)
    static let mostRules = 256

    /// Where a notification goes.
    public struct Route: Equatable, Sendable {
        /// The number of the rule, from 1; `nil` without one.
        public var rule: Int?
        public var topic: Topic
        /// How long its text stays on disk.
        public var keep = DesktopRules.usualKeep
        /// Whether other devices get it.
        public var isShared = false
        /// Whether it counts as seen while a window of the program is in front.
        public var isSeenWithProgram = false

        public init(rule: Int? = nil, topic: Topic) { (self.rule, self.topic) = (rule, topic) }
    }

    public enum Decision: Equatable, Sendable {
        case take(Route)
        /// With the number of the rule, from 1, if one says so, and the reason.
        case leave(rule: Int?, reason: String)

        /// How long its text stays.
        var keep: Duration { if case .take(let route) = self { route.keep } else { DesktopRules.usualKeep } }

        /// The number of the rule that fits, from 1.
        public var rule: Int? {
            switch self {
            case .take(let route): route.rule
            case .leave(let rule, _): rule
            }
        }
    }

    public private(set) var rules: [AppRule] = []
    /// Whether a rule asks for the unit of a program.
    public var needUnit: Bool { rules.contains { $0.unit != nil } }
    /// Whether a rule asks which window is in front.
    public var needFocus: Bool { rules.contains { $0.claim != nil } }

    public init() {}

    /// - Parameter onGivingUp: called with a pattern that would have taken too long.
    public func decision(for notice: Notice, onGivingUp: (Pattern) -> Void = { _ in }) -> Decision {
        if let triviality = notice.triviality { return .leave(rule: nil, reason: triviality) }
        // What is not told is not compared.
        let notice = rules.isEmpty ? notice : notice.publishable
        // What could not be compared may be private.
        var isDoubtful = false
        for (index, rule) in rules.enumerated() {
            var gaveUp = false
            let captures = rule.captures(notice) { pattern in
                gaveUp = true
                onGivingUp(pattern)
            }
            if gaveUp, rule.keep == .zero {
                return .leave(rule: index + 1, reason: "it takes too long to compare with a rule that leaves alone")
            }
            isDoubtful = isDoubtful || gaveUp
            guard let captures else { continue }
            guard rule.keep > .zero else { return .leave(rule: index + 1, reason: "its rule leaves it alone") }
            // What was captured may be no part of a topic.
            let topic = rule.topic.flatMap { try? $0.filled(with: captures) } ?? Self.topic(of: notice)
            var route = Route(rule: index + 1, topic: topic)
            (route.keep, route.isShared, route.isSeenWithProgram) = (
                rule.keep, rule.isShared && !isDoubtful, rule.claim == .app
            )
            return .take(route)
        }
        if notice.isOfKDEConnect { return .leave(rule: nil, reason: "KDE Connect shows what a phone has") }
        return .take(Route(topic: Self.topic(of: notice)))
    }

    /// The topic of a program that no rule names: `/app/NAME`. What a topic cannot have becomes a `-`.
    static func topic(of notice: Notice) -> Topic {
        var name = ""
        for scalar in (notice.app.isEmpty ? notice.desktopEntry : notice.app).unicodeScalars {
            let isPlain = !scalar.isActive && !scalar.isForInternalUse && !"/'\\{}*".unicodeScalars.contains(scalar)
            name.unicodeScalars.append(isPlain ? scalar : "-")
        }
        name = name.beginning(ofBytes: 64)
        if name.isEmpty { name = "unknown" }
        if [".", ".."].contains(name) { name = "-" }
        do throws(TopicError) {
            return try Topic("/app/" + name)
        } catch {
            preconditionFailure("a segment without special characters is not part of a topic: \(error)")
        }
    }
}

extension DesktopRules {
    /// Reads the whole configuration.
    public static func read(from root: inout TableReader) -> DesktopRules {
        var rules = DesktopRules()
        rules.rules = root.tables("app", upTo: mostRules, AppRule.read)
        return rules
    }
}

extension AppRule {
    fileprivate static func read(from table: inout TableReader) -> AppRule? {
        var rule = AppRule()
        rule.app = table.string("app")
        rule.category = table.string("category")
        rule.unit = table.string("unit")
        rule.title = table.parsed("title", Pattern.init)
        rule.body = table.parsed("body", Pattern.init)
        rule.topic = table.parsed("topic") { text throws(TopicError) in try TopicPattern(text) }
        rule.keep = table.duration("keep", upTo: DesktopRules.longestKeep) ?? DesktopRules.usualKeep
        if rule.keep > .zero, rule.keep < .seconds(1) {
            table.note(
                "keep", "'keep' must be 0, or between 1s and \(DesktopRules.longestKeep.text); it is \(rule.keep.text)")
        }
        rule.isShared = table.boolean("share") ?? false
        rule.claim = table.word("claim", of: Claim.self)
        for (key, value) in [("app", rule.app), ("category", rule.category), ("unit", rule.unit)] where value == "" {
            table.note(key, "'\(key)' is empty; a rule without '\(key)' is for every one")
        }
        if let category = rule.category, category.hasSuffix(".") || category.hasSuffix("*") {
            let group = category.prefix { $0 != "." && $0 != "*" }
            table.note(
                "category", "'category' is \"\(category)\"; \"\(group)\" is for all that begin with it and a dot")
        }
        guard ["app", "category", "unit", "title", "body"].contains(where: { table.has($0) }) else {
            table.note(
                at: table.offset,
                "this rule has none of 'app', 'category', 'unit', 'title' and 'body', so that it would fit everything; "
                    + "for that, write title = \"\"")
            return nil
        }
        let names = (rule.title?.captureNames ?? []) + (rule.body?.captureNames ?? [])
        // What could not be read was noted.
        let isWhole = (rule.title != nil) == table.has("title") && (rule.body != nil) == table.has("body")
        for name in rule.topic?.captureNames ?? [] where isWhole && !names.contains(where: { $0.hasBytes(of: name) }) {
            table.note(
                "topic", "neither 'title' nor 'body' has a capture (?<\(name)>…) for the {\(name)} of this topic")
            return nil
        }
        return rule
    }
}
