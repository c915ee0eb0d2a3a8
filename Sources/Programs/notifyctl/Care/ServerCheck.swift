import Glibc
import NotifyClient
import NotifyText

/// Whether there is a notification server: desktop notifications specification 1.2.
struct ServerCheck {
    enum Answer: Equatable {
        case information(name: String, version: String)
        case error(String)
        case none
    }

    var isThere = false
    var answer = Answer.none
    /// What is known about it without its answer: its program, process and unit.
    var identity: String?
    /// `nil` if it does not answer.
    var capabilities: [String]?
    /// The counters of notifyd.
    var statistics: [String: UInt64] = [:]
    /// Whether the bus knows how to start one.
    var isActivatable = false
    /// Those that the bus knows how to start.
    var installed: [InstalledServer] = []

    private static let check = "notification server"

    /// Due banners that wait for a server.
    private var waiting: UInt64 { statistics["waiting-banners"] ?? 0 }

    var finding: Finding {
        guard isThere else {
            let hasFailed = statistics["server-start-failures"] ?? 0 > 0
            if hasFailed || installed.contains(where: { $0.failure != nil }) { return notStarted }
            if isActivatable, waiting > 0 {
                return .warning(
                    Self.check, "not running, and \(waitingBanners)",
                    "If it does not start soon, start the one of your desktop. The log says whether the bus could "
                        + "start it: journalctl --user -u notifyd. See also start_server in notifyd.toml(5).")
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
            // notifyd does not call it for a while.
            if statistics["notification-server-rests"] == 1 {
                return .warning(
                    Self.check, "\(title), which has failed several times: notifyd does not call it for a while",
                    "Its own log should say why; notifyd tries it again by itself.")
            }
            if waiting > 0, statistics["banner-failures"] ?? 0 > 0 {
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
                "The log says why: journalctl --user -u notifyd. Start the one of your desktop, "
                    + "or install dunst or mako."
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

/// A notification server that the bus can start: a file such as `/usr/share/dbus-1/services/org.knopwob.dunst.service`.
struct InstalledServer: Equatable {
    /// The name of its program.
    let program: String
    /// Its unit; `nil`: the bus starts the program by itself.
    let unit: String?
    /// How its unit has failed; `nil`: it has not.
    var failure: String?

    /// Reads a service file of the bus.
    ///
    /// - Returns: `nil` if it is that of another name.
    init?(_ text: String, for name: String) {
        let values = ProcessFacts.variables(text.split(separator: "\n").map(String.init))
        guard values["Name"] == name else { return nil }
        let program = values["Exec"]?.split(separator: " ").first?.split(separator: "/").last
        // `Exec=/bin/false` says that only the unit starts it.
        unit = values["SystemdService"]
        guard let named = program == "false" ? unit?.dropLast(".service".count) : program ?? unit?[...] else {
            return nil
        }
        self.program = String(named)
    }

    /// Those that are installed, and how the units of some have failed.
    static func all(_ query: BusQuery, environment: [String: String]) async -> [InstalledServer] {
        var found: [InstalledServer] = []
        for folder in folders(environment) {
            for file in FileFacts.names(in: folder) where file.hasSuffix(".service") {
                guard let text = FileFacts.text(of: folder + "/" + file),
                    var server = InstalledServer(text, for: "org.freedesktop.Notifications"),
                    !found.contains(where: { $0.program == server.program })
                else { continue }
                if let unit = server.unit { server.failure = await failure(of: unit, query) }
                found.append(server)
            }
        }
        return found
    }

    /// Where the bus looks: dbus-daemon(1), `standard_session_servicedirs`.
    private static func folders(_ environment: [String: String]) -> [String] {
        let own = environment["XDG_DATA_HOME"] ?? environment["HOME"].map { $0 + "/.local/share" }
        let shared = (environment["XDG_DATA_DIRS"] ?? "").split(separator: ":").map(String.init)
        let all =
            [environment["XDG_RUNTIME_DIR"], own] + (shared.isEmpty ? ["/usr/local/share", "/usr/share"] : shared)
        return all.compactMap(\.self).filter { $0.hasPrefix("/") }.map { $0 + "/dbus-1/services" }
    }

    private static func failure(of unit: String, _ query: BusQuery) async -> String? {
        guard await query.unit(unit)["ActiveState"]?.string == "failed" else { return nil }
        return UnitFailure(unit, await query.service(unit)).state
    }
}

/// Whether notifyd can detect that the session is locked or idle.
struct SessionCheck {
    var hasLogin = false
    /// The counters of notifyd; empty if it does not run.
    var statistics: [String: UInt64] = [:]
    /// Whether the user's services go on without a session; loginctl(1), enable-linger.
    var lingers = false

    var finding: Finding {
        let isWatched = statistics["session-watched"]
        let unnoticed = "a lock is never noticed, but by notifyd-focus and browsers where they know the locker"
        let state =
            if !hasLogin {
                "no logind: \(unnoticed)"
            } else if statistics["session-known"] == 0 {
                "logind knows no session of yours at a seat: \(unnoticed)"
            } else if isWatched == 0 {
                "locked or idle: every screen counts as hidden"
            } else {
                isWatched == nil ? "logind is there" : "watched by way of logind, as far as your locker tells it"
            }
        return .ok("session", lingers ? state + "; lingering, so notifyd keeps running after you log out" : state)
    }
}
