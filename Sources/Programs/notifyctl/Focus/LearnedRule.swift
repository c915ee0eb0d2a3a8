import ArgumentParser
import DesktopEvents
import NotifyJSON
import Routing

/// A rule of `focus.toml` that is made for a window, or one of `desktop.toml` for a notification.
struct LearnedRule {
    enum State: String, ExpressibleByArgument, CaseIterable { case focused, visible }

    /// In TOML.
    let text: String

    /// - Parameters:
    ///   - topic: a pattern with one capture at most, for which the room in the title stands, or the first number.
    ///   - state: when it holds its screen; `nil` leaves it out.
    ///   - withTitle: whether only windows with this title fit.
    init(for window: FocusInfo.FocusedWindow, topic: String, state: State?, withTitle: Bool) throws {
        let app = window.app.isEmpty ? window.instance : window.app
        var lines = try Self.head(
            "[[screen]]", app, window.title, topic, isExact: withTitle, page: "notifyd-focus.toml(5)")
        if let state { lines.append("state = \(Self.quoted(state.rawValue))") }
        text = lines.joined(separator: "\n")
    }

    /// - Parameters:
    ///   - topic: a pattern with one capture at most, for which the room in the title stands, or the first number;
    ///   `nil`: that of
    ///     the program.
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
                Terminal.complain(
                    "The title has neither a room such as #general nor a number for the {\(name)} of the topic: "
                        + "“\(Terminal.plain(title))”. Write the rule by hand: \(page).")
                throw ExitCode.badData
            }
            lines.append("title = \(quoted(pattern))")
        } else if isExact || app.isEmpty {
            lines.append("title = \(quoted("^" + escaped(title.unicodeScalars[...]) + "$"))")
        }
        if let topic { lines.append("topic = \(quoted(topic))") }
        return lines
    }

    /// What is printed when the rule is in a file.
    func announcement(in file: String) -> String {
        "\(Terminal.plain(file)) has a new rule:\n\n"
            + text.split(separator: "\n").map { Terminal.plain(String($0)) }.joined(separator: "\n")
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
        let scalars = title.unicodeScalars
        let (counter, start) = counter(scalars)
        let numbers = numbers(in: scalars[start...])
        guard let number = numbers.first(where: { !scalars[$0].contains(".") }) ?? numbers.first else { return nil }
        var before = ""
        var place = start
        for version in numbers where version.upperBound <= number.lowerBound {
            before += escaped(scalars[place..<version.lowerBound]) + "[0-9.]+"
            place = version.upperBound
        }
        before += escaped(scalars[place..<number.lowerBound])
        let end = scalars[number].firstIndex(of: ".") ?? number.upperBound
        let next = end < scalars.endIndex ? escaped(scalars[end...].prefix(1)) : "$"
        return "^" + counter + before + "(?<\(name)>[0-9]+)" + next
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    /// The pattern of a counter of unread messages, if a title begins with one, and where the rest of the title begins.
    private static func counter(
        _ title: String.UnicodeScalarView
    ) -> (pattern: String, end: String.UnicodeScalarView.Index) {
        guard title.first == "(", let end = title.firstIndex(of: ")") else { return ("", title.startIndex) }
        let inside = title[title.index(after: title.startIndex)..<end]
        guard inside.first.map(isDigit) == true, inside.allSatisfy({ isDigit($0) || $0 == "+" }) else {
            return ("", title.startIndex)
        }
        let rest = title[title.index(after: end)...]
        return ("(?:\\([0-9+]+\\)\\s*)?", rest.firstIndex { $0 != " " } ?? rest.endIndex)
    }

    /// The numbers in a text, and versions: numbers with points between them.
    private static func numbers(
        in text: Substring.UnicodeScalarView
    ) -> [Range<String.UnicodeScalarView.Index>] {
        var numbers: [Range<String.UnicodeScalarView.Index>] = []
        var place = text.startIndex
        while let start = text[place...].firstIndex(where: isDigit) {
            var end = start
            while end < text.endIndex {
                if !isDigit(text[end]) {
                    let next = text.index(after: end)
                    guard text[end] == ".", next < text.endIndex, isDigit(text[next]) else { break }
                }
                end = text.index(after: end)
            }
            numbers.append(start..<end)
            place = end
        }
        return numbers
    }

    /// Text that a regular expression takes for itself.
    private static func escaped(_ text: Substring.UnicodeScalarView) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text {
            if "\\.^$*+?()[]{}|".unicodeScalars.contains(scalar) { result.append("\\") }
            result.append(scalar)
        }
        return String(result)
    }
}
