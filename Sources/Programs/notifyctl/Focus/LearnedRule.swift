import ArgumentParser
import NotifyJSON
import Routing

/// A rule of `focus.toml` that is made for a window.
struct LearnedRule {
    enum State: String, ExpressibleByArgument, CaseIterable { case focused, visible }

    /// In TOML.
    let text: String

    /// - Parameters:
    ///   - topic: a pattern with one capture at most, for which the first number in the title stands.
    ///   - state: when it holds its screen; `nil` leaves it out.
    ///   - withTitle: whether only windows with this title fit.
    init(for window: FocusInfo.FocusedWindow, topic: String, state: State?, withTitle: Bool) throws {
        let app = window.app.isEmpty ? window.instance : window.app
        var lines = ["[[screen]]"]
        if !app.isEmpty { lines.append("app = \(Self.quoted(app))") }
        if let name = try TopicPattern(topic).captureNames.first {
            guard let pattern = Self.pattern(window.title, capturing: name) else {
                Terminal.complain(
                    "The title of the window has no number for the {\(name)} of the topic: “\(Terminal.plain(window.title))”. "
                        + "Write the rule by hand: notifyd-focus.toml(5).")
                throw ExitCode.badData
            }
            lines.append("title = \(Self.quoted(pattern))")
        } else if withTitle || app.isEmpty {
            lines.append("title = \(Self.quoted("^" + Self.escaped(window.title.unicodeScalars[...]) + "$"))")
        }
        lines.append("topic = \(Self.quoted(topic))")
        if let state { lines.append("state = \(Self.quoted(state.rawValue))") }
        text = lines.joined(separator: "\n")
    }

    /// A string of JSON is a basic string of TOML too.
    private static func quoted(_ text: String) -> String { JSON.string(text).text() }

    /// What stands before the first number in a title, and a capture for the number.
    private static func pattern(_ title: String, capturing name: String) -> String? {
        let scalars = title.unicodeScalars
        guard let start = scalars.firstIndex(where: { ("0"..."9").contains($0) }) else { return nil }
        let end = scalars[start...].firstIndex { !("0"..."9").contains($0) }
        let next = end.map { escaped(scalars[$0...].prefix(1)) } ?? "$"
        return "^" + escaped(scalars[..<start]) + "(?<\(name)>[0-9]+)" + next
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
