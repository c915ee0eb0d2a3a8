import Glibc
import WindowRules

/// In which pane or window this process runs.
enum TerminalPane {
    /// - Parameter environment: that of the shell.
    static func current(_ environment: [String: String]) -> ShellTopic.Pane {
        if let pane = tmux(environment, parentOfSession: parentOfSession) { return pane }
        if let window = environment["WINDOWID"].flatMap({ UInt64($0) }), window > 0 { return .window(window) }
        return .terminal(terminal)
    }

    /// A pane of tmux.
    ///
    /// - Parameter parentOfSession: who started the leader of this session; the server of tmux, if it is a shell of
    ///   tmux. A window of another terminal that was opened from there has the same variables.
    static func tmux(_ environment: [String: String], parentOfSession: UInt32?) -> ShellTopic.Pane? {
        // Socket, server and session, of which the first may have commas; and such as %3.
        guard let server = environment["TMUX"]?.split(separator: ",").dropLast().last.flatMap({ UInt32($0) }),
            let name = environment["TMUX_PANE"], name.hasPrefix("%"), let pane = UInt32(name.dropFirst())
        else { return nil }
        guard parentOfSession == nil || parentOfSession == server else { return nil }
        return .tmux(server: server, pane: pane)
    }

    private static var parentOfSession: UInt32? {
        FileFacts.text(of: "/proc/\(getsid(0))/status")?.split(separator: "\n").first { $0.hasPrefix("PPid:") }
            .flatMap { UInt32($0.dropFirst("PPid:".count).drop { $0 == "\t" || $0 == " " }) }
    }

    /// The device of the terminal, such as `pts/3`. Standard output is a pipe here.
    static var terminal: String {
        for descriptor in [STDIN_FILENO, STDERR_FILENO] {
            guard let path = ttyname(descriptor) else { continue }
            let name = String(cString: path)
            return name.hasPrefix("/dev/") ? String(name.dropFirst("/dev/".count)) : name
        }
        return ""
    }
}
