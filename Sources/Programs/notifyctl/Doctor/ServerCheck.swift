/// Whether there is a notification server: desktop notifications specification 1.2.
struct ServerCheck {
    enum Answer: Equatable {
        case information(name: String, version: String)
        case error(String)
        case none
    }

    var isThere = false
    var answer = Answer.none
    /// What is known of it without its answer: its program, process and unit.
    var identity: String?
    /// `nil` if it does not answer.
    var capabilities: [String]?
    /// Whether notifyd does not call it for a while, because it has failed several times.
    var rests = false
    /// Whether the bus knows how to start one.
    var isActivatable = false
    /// Due banners that wait for a server.
    var waiting = 0
    /// Calls to it that failed since notifyd started.
    var failures = 0
    /// How often the bus could not start one.
    var startFailures = 0
    /// Those that the bus knows how to start.
    var installed: [InstalledServer] = []

    private static let check = "notification server"

    var finding: Finding {
        guard isThere else {
            if startFailures > 0 || installed.contains(where: { $0.failure != nil }) { return notStarted }
            if isActivatable, waiting > 0 {
                return .warning(
                    Self.check, "not running, and \(waitingBanners)",
                    "If it does not start soon, start the one of your desktop. The log says whether the bus could start it: "
                        + "journalctl --user -u notifyd. See also start_server in notifyd.toml(5).")
            }
            if isActivatable {
                return .ok(
                    Self.check, "not running; unless start_server is false, the first banner has the bus start it")
            }
            let waiting = waiting > 0 ? waitingBanners : "banners wait for one"
            return .warning(
                Self.check, "none: \(waiting) until their time to live is over",
                "Start the one of your desktop, or one such as dunst or mako.")
        }
        switch answer {
        case .none:
            return .problem(
                Self.check, "\(identity ?? "it") hangs: no answer within \(BusQuery.timeout.shortText)",
                "Restart it. notifyd then shows the banners that wait.")
        case .error(let words):
            return .problem(Self.check, "it answers with an error: \(words)", "Restart it, or use another one.")
        case .information(let name, let version):
            let title = "\(name) \(version)"
            if rests {
                return .warning(
                    Self.check, "\(title), which has failed several times: notifyd does not call it for a while",
                    "Its own log should say why; notifyd tries it again by itself.")
            }
            if waiting > 0, failures > 0 {
                return .warning(
                    Self.check, "\(title), which did not show every banner: \(waitingBanners)",
                    "Its own log should say why; notifyd tries it again by itself.")
            }
            guard let capabilities else { return .ok(Self.check, "\(title), which does not say what it can do") }
            let lacks = [("body", "texts below the title"), ("actions", "buttons")]
                .filter { !capabilities.contains($0.0) }.map(\.1)
            return .ok(
                Self.check, lacks.isEmpty ? title : "\(title), which cannot show \(lacks.joined(separator: " or "))")
        }
    }

    /// The bus could not start one. Of several that are installed it starts the one that it has found first, whatever
    /// the desktop.
    private var notStarted: Finding {
        let state = "none, and the bus could not start one: banners wait"
        guard !installed.isEmpty else {
            return .problem(
                Self.check, state,
                "The log says why: journalctl --user -u notifyd. Start the one of your desktop, or install dunst or mako."
            )
        }
        let failed = installed.filter { $0.failure != nil }
        let list = "installed: " + installed.map(\.program).joined(separator: ", ")
        let details = failed.map { "\($0.unit ?? $0.program) \($0.failure ?? "")" } + [list]
        let units = (failed.isEmpty ? ["notifyd"] : failed.compactMap(\.unit)).map { "-u " + $0 }.joined(separator: " ")
        let others = installed.filter { $0.failure == nil }.map(\.program).joined(separator: " or ")
        let start =
            others.isEmpty
            ? "Then restart it: systemctl --user restart \(failed.compactMap(\.unit).first ?? "")"
            : "If your desktop has another one, start that: \(others)."
        return .problem(
            Self.check, Terminal.plain("\(state); \(details.joined(separator: "; "))"),
            Terminal.plain("The log says why: journalctl --user \(units). \(start)"))
    }

    /// - Parameters:
    ///   - program: its name, from proc(5).
    ///   - cgroup: the control group of the process, of which the last part may be the unit.
    static func identity(_ program: String?, process: Int, cgroup: String?) -> String {
        let last = cgroup?.split { $0 == "/" || $0 == "\n" }.last.map(String.init)
        let unit = last.flatMap { $0.hasSuffix(".service") ? ", \($0)" : nil } ?? ""
        let name = program.flatMap { $0.split(separator: "\n").first }.map { Terminal.plain(String($0)) } ?? "it"
        return "\(name) (process \(process)\(Terminal.plain(unit)))"
    }

    private var waitingBanners: String { waiting == 1 ? "a banner waits for it" : "\(waiting) banners wait for it" }
}
