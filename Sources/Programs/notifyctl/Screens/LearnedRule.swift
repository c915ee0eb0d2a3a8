import ArgumentParser
import Glibc
import NotifyClient
import NotifyText
import Routing
import TOMLTables
import UserFiles
import Watching

/// A rule of `focus.toml` that is made for a window, or one of `desktop.toml` for a notification.
struct LearnedRule {
    enum State: String, ExpressibleByArgument, CaseIterable { case focused, visible }

    /// In TOML.
    let text: String

    /// - Parameters:
    ///   - topic: a pattern with one capture at most, for which the room in the title stands, or the first number.
    ///   - state: when it holds its screen; `nil` leaves it out.
    ///   - withTitle: whether only windows with this title fit.
    init(for window: Window, topic: String, state: State?, withTitle: Bool) throws {
        let app = window.app.isEmpty ? window.instance : window.app
        var lines = try Self.head(
            "[[screen]]", app, window.title, topic, isExact: withTitle, page: "notifyd-focus.toml(5)")
        if let state { lines.append("state = \(Self.quoted(state.rawValue))") }
        text = lines.joined(separator: "\n")
    }

    /// - Parameters:
    ///   - topic: a pattern with one capture at most, for which the room in the title stands, or the first number;
    ///     `nil`: that of the program.
    ///   - keep: how long its text stays; `nil` leaves it out.
    ///   - isShared: whether other devices get it.
    init(for sighting: DesktopInfo.Sighting, topic: String?, keep: Duration?, isShared: Bool) throws {
        var lines = try Self.head(
            "[[app]]", sighting.program, sighting.notice.title, topic, isExact: false, page: "notifyd-desktop.toml(5)")
        if let keep { lines.append("keep = \(Self.quoted(keep.text))") }
        if isShared { lines.append("share = true") }
        text = lines.joined(separator: "\n")
    }

    /// The lines by which a rule fits, and that of its topic.
    ///
    /// - Parameters:
    ///   - isExact: whether only this title fits, where the topic has no capture. So it is where no program is known.
    ///   - page: of the manual, for those who have to write the rule by hand.
    private static func head(
        _ table: String, _ app: String, _ title: String, _ topic: String?, isExact: Bool, page: String
    ) throws -> [String] {
        var lines = [table]
        if !app.isEmpty { lines.append("app = \(quoted(app))") }
        if let name = try topic.flatMap({ try TopicPattern($0).captureNames.first }) {
            guard let pattern = room(title, capturing: name) ?? pattern(title, capturing: name) else {
                throw Complaint(
                    .badData,
                    "The title has neither a room such as #general nor a number for the {\(name)} of the topic: "
                        + "“\(title)”. Write the rule by hand: \(page).")
            }
            lines.append("title = \(quoted(pattern))")
        } else if isExact || app.isEmpty {
            lines.append("title = \(quoted("^" + escaped(title) + "$"))")
        }
        if let topic { lines.append("topic = \(quoted(topic))") }
        return lines
    }

    /// A capture for the name of a room, which chat programs write behind a #.
    private static func room(_ title: String, capturing name: String) -> String? {
        let first = title.unicodeScalars.drop { $0 != "#" }.dropFirst().first
        guard let first, first.properties.isAlphabetic else { return nil }
        return "#(?<\(name)>[\\w-]+)"
    }

    /// A string of JSON is a basic string of TOML too.
    private static func quoted(_ text: String) -> String { JSON.string(text).text() }

    /// What stands before the first number in a title, and a capture for the number. A counter at the beginning, as in
    /// "(3) Post 27", is not that number, nor is a version, as in "Editor 7.4: Post 27", if another one follows.
    private static func pattern(_ title: String, capturing name: String) -> String? {
        // By scalars: a mark may follow a digit.
        let counter = title.prefixMatch(of: #/\([0-9][0-9+]*\)[ ]*/#.matchingSemantics(.unicodeScalar))
        let start = counter?.range.upperBound ?? title.startIndex
        let form = /[0-9]+(?:\.[0-9]+)*/.matchingSemantics(.unicodeScalar)
        let numbers = title[start...].matches(of: form).map(\.range)
        guard let number = numbers.first(where: { !title[$0].contains(".") }) ?? numbers.first else { return nil }
        var before = counter == nil ? "^" : #"^(?:\([0-9+]+\)\s*)?"#
        var place = start
        for version in numbers where version.upperBound <= number.lowerBound {
            before += escaped(title[place..<version.lowerBound]) + "[0-9.]+"
            place = version.upperBound
        }
        before += escaped(title[place..<number.lowerBound])
        let end = title[number].firstIndex(of: ".") ?? number.upperBound
        let next = title[end...].unicodeScalars.first.map { escaped(String($0)) } ?? "$"
        return before + "(?<\(name)>[0-9]+)" + next
    }

    /// Text that a regular expression takes for itself.
    private static func escaped(_ text: some StringProtocol) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if "\\.^$*+?()[]{}|".unicodeScalars.contains(scalar) { result.append("\\") }
            result.append(scalar)
        }
        return String(result)
    }
}

/// What `focus --learn` and `desktop --learn` have in common: a rule is made of what is seen next.
enum Learning {
    /// How long to wait for it.
    static let times: ClosedRange<Duration> = .seconds(1)...Duration.seconds(600)
    static let usualTime: Duration = .seconds(60)

    /// The number of captures of a topic; `nil` if it is not one, which `requirePattern` tells as the other commands
    /// do.
    ///
    /// - Throws: if there are more than can be filled.
    static func captures(of topic: String) throws -> Int? {
        guard let captures = try? TopicPattern(topic).captureNames.count else { return nil }
        guard captures <= 1 else {
            throw ValidationError("“--learn” can fill one name in braces, and this topic has \(captures).")
        }
        return captures
    }

    /// - Throws: if it is not a topic, with or without captures.
    static func requirePattern(_ topic: String?) throws {
        guard let topic else { return }
        try TopicFilter.requireSlash(topic)
        do throws(TopicError) { _ = try TopicPattern(topic) } catch {
            throw NotifyError(.invalidArgument, "“\(topic)” is not a topic: \(error)")
        }
    }

    /// Prints the rule that is in a file now.
    static func announce(_ rule: LearnedRule, in file: String, _ output: OutputOptions) {
        let lines = rule.text.split(separator: "\n").map { Terminal.plain(String($0)) }
        output.write(
            ["file": file, "rule": rule.text],
            text: "\(Terminal.plain(file)) has a new rule:\n\n" + lines.joined(separator: "\n"))
    }
}

/// A configuration file with rules, to which one is added. What is there stays as it is, with its comments.
struct RuleFile<Rules> {
    let path: String
    let parse: (_ text: String, _ file: String) throws(ConfigurationError) -> Rules

    /// Reads the file, and its rules.
    func read() throws(ConfigurationError) -> (text: String, rules: Rules) {
        let text = try ConfigurationText.read(path) ?? ""
        return (text, try parse(text, path))
    }

    /// Adds a rule at the end.
    ///
    /// - Parameters:
    ///   - what: what the rule is for, such as a window.
    ///   - fit: the number of the rule that fits it already, from 1.
    ///   - flaw: why the new rules are of no use, if so.
    func add(
        _ rule: LearnedRule, for what: String, fit: (inout Rules) -> Int?, flaw: (inout Rules) -> String?
    ) throws {
        var (old, rules) = try read()
        let text = old + (old.isEmpty ? "" : old.hasSuffix("\n") ? "\n" : "\n\n") + rule.text + "\n"
        var newRules = try parse(text, path)
        if let fit = fit(&rules) {
            throw Complaint(
                .refused,
                "Rule \(fit) in \(path) fits this \(what) already, and the first that fits counts; "
                    + "nothing was changed.")
        }
        if let flaw = flaw(&newRules) { throw Complaint(.badData, "\(flaw) Nothing was changed.") }
        try WholeFile.replace(path, with: Array(text.utf8))
    }
}

extension BusOptions {
    /// Connects to the bus, to ask a program that follows rules. What is wrong is told in its terms: the usual advice
    /// is about notifyd.
    func withQuery(of program: String, _ remote: Remote, _ body: (BusQuery) async throws -> Void) async throws {
        let errors = remote.interface + ".Error."
        do {
            try await withQuery(body)
        } catch let error as NotifyError {
            switch (error.code, error.name) {
            case (.refused, errors + "TimedOut"): throw Complaint(.nothing, error.message + ".")
            case (.refused, errors + "Sandboxed"): throw Complaint(.refused, error.message + ".")
            case (.refused, errors + "BadTitle"):
                throw Complaint(.badData, "\(error.message): write the rule by hand, \(program).toml(5).")
            case (.notReachable, _?):
                throw Complaint(
                    .notReachable, "\(program) does not run. Start it: systemctl --user enable --now \(program)")
            default: throw error
            }
        }
    }
}
