import Glibc
import NotifyText
package import Systemd

/// Follows which panes of a tmux are looked at: a process of tmux waits for a change, tells how it is, and the next one
/// waits.
package final class TmuxWatcher {
    private let server: TmuxServer
    private let loop: EventLoop
    private let channel: String
    private let onPanes: ([UInt32]) -> Void
    private let onEnd: () -> Void
    private var child: ChildProcess?
    /// Ended; its handler may still be running.
    private var previous: ChildProcess?

    /// - Parameters:
    ///   - onPanes: called with the panes that are looked at, after each change.
    ///   - onEnd: tmux has ended, or another program watches it now.
    package init(
        _ server: TmuxServer, loop: EventLoop, onPanes: @escaping ([UInt32]) -> Void, onEnd: @escaping () -> Void
    ) {
        self.server = server
        self.loop = loop
        self.onPanes = onPanes
        self.onEnd = onEnd
        channel = "notifyd-focus-\(getpid())-" + String(UInt64.random(in: 0 ... .max), radix: 16)
    }

    package func start() {
        run(server.askingOwner) { [unowned self] owner in
            let old = owner.split(separator: "\n").first.map { String($0) }
            run(server.taking(channel, from: old)) { [unowned self] in handleReport($0) }
        }
    }

    /// Takes back what it has brought into tmux, and ends.
    package func stop() {
        run(server.leaving(channel)) { [unowned self] _ in onEnd() }
    }

    private func handleReport(_ output: String) {
        // Without an answer there is no server any more; if there is no client, tmux fails, but has answered.
        guard let report = TmuxReport(output), report.owner == channel else { return onEnd() }
        onPanes(report.panes)
        run(server.waiting(on: channel)) { [unowned self] in handleReport($0) }
    }

    /// Runs a command of tmux, and hands over what it has written.
    private func run(_ command: [String], _ ended: @escaping (String) -> Void) {
        var ends: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return onEnd() }
        let reading = ends[0]
        // A line is short, and there are not so many clients that the socket would not hold them.
        previous = child
        do throws(SystemdError) {
            child = try ChildProcess.start(command, output: ends[1], on: loop) { _ in
                let output = Self.text(of: reading)
                close(reading)
                ended(output)
            }
        } catch {
            close(reading)
            onEnd()
        }
        close(ends[1])
    }

    private static func text(of descriptor: CInt) -> String {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

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

    /// What reports a change; each wakes the one who waits on the channel, without starting a process.
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
        text.hasPrefix("notifyd-focus-") && text.utf8.allSatisfy(\.isNameCharacter)
    }
}

/// What tmux reports about its clients.
package struct TmuxReport: Equatable, Sendable {
    /// What ``owner`` is in.
    package static let option = "@notifyd-focus"
    /// The line that tmux writes for each client: what it is, whether it is a program in control mode, and its active
    /// pane.
    package static let format = "#{client_flags} #{client_control_mode} #{pane_id}"

    /// The channel of the program that holds screens for this tmux.
    package let owner: String
    /// The panes that are active in a client whose terminal has the focus, without their `%`.
    package let panes: [UInt32]

    /// - Parameter text: the value of ``option``, and a line for each client.
    /// - Returns: `nil` if tmux has not answered.
    package init?(_ text: String) {
        let lines = text.split(separator: "\n")
        guard let owner = lines.first else { return nil }
        self.owner = String(owner)
        panes = lines.dropFirst().compactMap(Self.pane)
    }

    private static func pane(_ line: Substring) -> UInt32? {
        let words = line.split(separator: " ")
        guard words.count == 3, words[1] == "0", words[2].hasPrefix("%") else { return nil }
        // A client whose terminal does not report its focus counts as focused.
        let flags = words[0].split(separator: ",")
        guard flags.contains("attached"), flags.contains("focused") else { return nil }
        return UInt32(words[2].dropFirst())
    }
}
