/// A server of tmux, as `$TMUX` names it.
package struct TmuxServer: Equatable, Sendable {
    package let socket: String
    package let process: UInt32

    /// - Parameter variable: the value of `$TMUX`: socket, process and session.
    package init?(variable: String) {
        let parts = variable.split(separator: ",")
        // A path may have commas.
        guard parts.count >= 3, let process = UInt32(parts[parts.count - 2]) else { return nil }
        socket = parts.dropLast(2).joined(separator: ",")
        self.process = process
    }

    /// What tells of a change; each wakes the one who waits on the channel, without starting a process.
    private static let hooks = [
        "client-attached", "client-detached", "client-focus-in", "client-focus-out", "client-session-changed",
        "session-window-changed", "window-pane-changed",
    ]
    /// The place of these hooks among others of the user.
    private static let place = 1818

    /// Writes the channel of who is there before.
    package var askingOwner: [String] { command(["show-options", "-gqv", TmuxReport.option]) }

    /// Takes over from who is there before, and has all changes told on a channel from now on.
    package func taking(_ channel: String, from old: String?) -> [String] {
        var commands = [
            ["set-option", "-g", TmuxReport.option, channel], ["set-option", "-s", "focus-events", "on"],
        ]
        commands += Self.hooks.map { ["set-hook", "-g", "\($0)[\(Self.place)]", "wait-for -S \(channel)"] }
        if let old, Self.isChannel(old) { commands.append(["wait-for", "-S", old]) }
        return command(commands + Self.report)
    }

    /// Takes the hooks out again, unless somebody else has taken over.
    package func leaving(_ channel: String) -> [String] {
        var commands = Self.hooks.map { "set-hook -gu \($0)[\(Self.place)]" }
        commands += ["set-option -gu \(TmuxReport.option)", "wait-for -S \(channel)"]
        let isOurs = "#{==:#{\(TmuxReport.option)},\(channel)}"
        return command(["if-shell", "-F", isOurs, commands.joined(separator: " ; ")])
    }

    /// Waits for a change, and tells how it is then. What changes before anybody waits is not lost.
    package func waiting(on channel: String) -> [String] { command([["wait-for", channel]] + Self.report) }

    private static let report = [
        ["show-options", "-gqv", TmuxReport.option], ["list-clients", "-F", TmuxReport.format],
    ]

    private func command(_ words: [String]) -> [String] { ["tmux", "-S", socket] + words }

    private func command(_ commands: [[String]]) -> [String] { command(Array(commands.joined(separator: [";"]))) }

    /// Whether it is one of ours.
    private static func isChannel(_ text: String) -> Bool {
        text.hasPrefix("notifyd-focus-") && text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0.isLetterOrDigit }
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
    }
}
