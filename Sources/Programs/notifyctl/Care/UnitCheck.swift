import Glibc
import NotifyClient
import NotifyText

/// The state of notifyd.service; org.freedesktop.systemd1(5).
struct UnitCheck {
    var hasManager = false
    /// `loaded`, `not-found`, `masked`, `bad-setting`, …
    var loadState = ""
    var activeState = ""
    var fragment = ""
    /// How it has ended last.
    var failure = UnitFailure(unit: "notifyd")
    var restarts = 0
    var needsReload = false
    var hasJob = false
    /// All properties that only a service has.
    var service: [String: Value] = [:]
    /// Whether users may create user namespaces here; `nil` if that was not tested.
    var allowsNamespaces: Bool?

    private static let check = "unit"
    private static let reload = "systemctl --user daemon-reload"

    /// Whether it has failed, or does again and again.
    var isFailing: Bool {
        activeState == "failed"
            || activeState == "activating" && restarts > 0 && !["", "success"].contains(failure.result)
    }

    /// Whether there is a service manager that cannot load it: it is missing, masked or bad. The bus starts notifyd by
    /// it.
    var isUnusable: Bool { hasManager && !["loaded", ""].contains(loadState) }

    /// Its main process, if there is one.
    var process: Int? {
        let number: Int = service.number("MainPID")
        return number > 0 ? number : nil
    }

    var finding: Finding {
        guard hasManager else { return .ok(Self.check, "no service manager on this bus: nothing watches over notifyd") }
        switch loadState {
        case "loaded": break
        case "masked":
            return .problem(Self.check, "masked", "Allow it again: systemctl --user unmask notifyd")
        case "not-found":
            return .warning(
                Self.check, "the service manager knows no notifyd.service",
                "Install it (make install), then: \(Self.reload)")
        default:
            return .problem(
                Self.check, "it cannot be read (\(loadState))", "systemctl --user status notifyd says what is wrong.")
        }
        if isFailing { return problem }
        if needsReload {
            return .warning(Self.check, "\(fragment) has changed since it was read", "Read it again: \(Self.reload)")
        }
        let times = restarts == 0 ? "" : restarts == 1 ? ", restarted once" : ", restarted \(restarts) times"
        return .ok(Self.check, "\(activeState)\(times), from \(fragment)")
    }

    /// What to do if a unit is masked that is to run.
    static func unmask(_ unit: String) -> String {
        "Allow it again: systemctl --user unmask \(unit) && systemctl --user enable --now \(unit)"
    }

    private var problem: Finding {
        switch failure.exitStatus {
        case let status where failure.isOfNamespaces && failure.obstacle == nil && allowsNamespaces == false:
            .problem(
                Self.check, "failed with \(status): users get no user namespaces on this system",
                "Run notifyd without them: \(UnitFailure.leaveNamespacesOut(of: "notifyd"))")
        case 78:
            .problem(
                Self.check, "failed: the configuration is bad",
                "See below, then: systemctl --user reset-failed notifyd; systemctl --user start notifyd")
        case 69:
            .problem(
                Self.check, "failed: another notifyd has the name on this bus",
                "End that one, then: systemctl --user restart notifyd")
        default: .problem(Self.check, failure.state, failure.advice)
        }
    }
}

extension UnitCheck {
    /// Asks the service manager.
    static func ask(_ query: BusQuery) async -> UnitCheck {
        guard await query.owner(of: Remote.manager.name) != nil else { return UnitCheck() }
        let (unit, service) = (await query.unit("notifyd.service"), await query.service("notifyd.service"))
        var check = UnitCheck(
            hasManager: true, loadState: unit.text("LoadState"), activeState: unit.text("ActiveState"),
            fragment: unit.text("FragmentPath"), failure: UnitFailure("notifyd", service),
            restarts: service.number("NRestarts"), needsReload: unit.flag("NeedDaemonReload"),
            hasJob: unit["Job"]?.elements?.first?.integer() ?? 0 != 0, service: service)
        if check.isFailing, check.failure.isOfNamespaces, check.failure.obstacle == nil {
            check.allowsNamespaces = await createsNamespaces()
        }
        return check
    }

    /// Whether unshare(1) gets a user namespace and a mount namespace; `nil` if it is not there.
    private static func createsNamespaces() async -> Bool? {
        let process = try? ChildProcess(
            "unshare", ["--user", "--mount", "--map-root-user", "true"],
            environment: ChildProcess.currentEnvironment, capturing: [1, 2])
        return await process?.waitForExit(within: BusQuery.timeout).map { $0 == .code(0) }
    }
}

/// Why a unit has failed, as the service manager knows it, and what to do; the exit statuses are those of
/// systemd.exec(5).
struct UnitFailure: Equatable {
    /// Such as `notifyd-ntfy`.
    let unit: String
    /// `success`, `exit-code`, `oom-kill`, `watchdog`, `start-limit-hit`, …
    var result = ""
    /// The exit status of the program, or of a failure to execute it.
    var exitStatus = 0
    /// The files that `LoadCredential=` names.
    var credentials: [String] = []
    /// What stood in the way of the unit's namespaces, if that can be told.
    var obstacle: NamespaceObstacle?

    /// `EXIT_USER`, `EXIT_CAPABILITIES` and `EXIT_NAMESPACE`
    var isOfNamespaces: Bool { [217, 218, 226].contains(exitStatus) }

    var state: String { words.state }
    var advice: String { words.advice }

    private var words: (state: String, advice: String) {
        let restart = "Then: systemctl --user reset-failed \(unit); systemctl --user start \(unit)"
        let log = "journalctl --user -u \(unit)"
        switch (exitStatus, isOfNamespaces ? obstacle : nil) {
        case (78, _):
            return (
                "failed: its configuration is bad", "Correct it: \(unit) --check-config says what is wrong. \(restart)"
            )
        case (203, _):
            return (
                "failed with 203: its program is not there, or cannot be executed",
                "See ExecStart= in “systemctl --user cat \(unit)”. \(restart)"
            )
        // `EXIT_CREDENTIALS`
        case (243, _):
            let unreadable = credentials.filter { $0.hasPrefix("/") && access($0, R_OK) != 0 }
            let files = (unreadable.isEmpty ? credentials : unreadable).joined(separator: ", ")
            let place = files.isEmpty ? "“systemctl --user cat \(unit)” names it" : "it is \(files)"
            return (
                "failed with 243/CREDENTIALS: a credential file that LoadCredential= names is missing or cannot be "
                    + "read",
                "Write that file, readable for you: \(place). \(restart)"
            )
        case (let status, .setting(let setting)?):
            return (
                "failed with \(status): users get no user namespaces on this system (\(setting))",
                "Run \(unit) without them: \(Self.leaveNamespacesOut(of: unit))"
            )
        case (let status, .mount(let path)?):
            return (
                "failed with \(status): systemd cannot set up PrivateDevices= while \(path) is mounted",
                "Unmount it, as root: umount \(path). \(restart)"
            )
        case (let status, nil) where isOfNamespaces:
            return (
                "failed with \(status): systemd could not set up the unit's namespaces",
                "\(log) says what was in the way, such as a folder that is missing, or a system without user "
                    + "namespaces. To run it without namespaces: \(Self.leaveNamespacesOut(of: unit))"
            )
        default: return ("failed (\(result), exit status \(exitStatus))", "\(log) says why. \(restart)")
        }
    }

    static func leaveNamespacesOut(of unit: String) -> String {
        "mkdir -p ~/.config/systemd/user/\(unit).service.d && "
            + "ln -s /dev/null ~/.config/systemd/user/\(unit).service.d/namespaces.conf && "
            + "systemctl --user daemon-reload && systemctl --user reset-failed \(unit) && "
            + "systemctl --user restart \(unit)"
    }
}

extension UnitFailure {
    /// - Parameter service: the properties of the service.
    init(_ unit: String, _ service: [String: Value]) {
        self.unit = unit
        result = service.text("Result")
        exitStatus = service.number("ExecMainStatus")
        if isOfNamespaces { obstacle = .find(FileFacts.text) }
        credentials = (service["LoadCredential"]?.elements ?? []).compactMap { $0.elements?.last?.string }
    }
}

/// What keeps systemd from making the namespaces of a user's unit, as far as this system tells.
enum NamespaceObstacle: Equatable {
    /// A setting of the kernel gives users no user namespaces, such as
    /// `kernel.apparmor_restrict_unprivileged_userns=1`.
    case setting(String)
    /// This is mounted below `/dev/shm`. For `PrivateDevices=` systemd binds `/dev/shm` without what is mounted there,
    /// and in a user namespace the kernel does not let it.
    case mount(String)

    private static let forbidding = [
        ("kernel.apparmor_restrict_unprivileged_userns", "1"), ("kernel.unprivileged_userns_clone", "0"),
        ("user.max_user_namespaces", "0"),
    ]

    /// - Parameter text: reads a file; `nil` if it is not there.
    static func find(_ text: (String) -> String?) -> NamespaceObstacle? {
        for (name, value) in forbidding where text("/proc/sys/\(name.replacing(".", with: "/"))") == value + "\n" {
            return .setting("\(name)=\(value)")
        }
        // The fifth field of a line is where it is mounted; proc_pid_mountinfo(5).
        let points = (text("/proc/self/mountinfo") ?? "").split(separator: "\n")
            .compactMap { $0.split(separator: " ").dropFirst(4).first }
        return points.first { $0.hasPrefix("/dev/shm/") }.map { .mount(String($0)) }
    }
}

/// Whether notifyd runs, answers, and can be started by the bus.
struct RouterCheck {
    var isRunning = false
    /// Its properties; empty if it does not answer, or not as notifyd does.
    var properties: [String: Value] = [:]
    /// The program that has its name and answers otherwise.
    var stranger: String?
    var ownVersion = ""
    var process: Int?
    var unit = UnitCheck()
    var isActivatable = false
    /// It is on the bus only to report a bad configuration.
    var hasBadConfiguration = false

    var findings: [Finding] {
        var findings = [router, activation]
        let quiet = properties.quiet
        // Somebody has asked for this, so it is neither a warning nor a problem.
        if properties.flag("Paused") {
            findings.append(.ok("banners", "none: \(quiet.pause?.words() ?? "paused"); “notifyctl resume” ends that"))
        }
        if let desktop = quiet.desktop { findings.append(.ok("banners", desktop)) }
        if let mutes = quiet.mutes() {
            findings.append(
                .ok("banners", "muted: \(mutes); “notifyctl quiet” lists all, “notifyctl resume TOPIC” ends one"))
        }
        if let fill = properties.statistics["awaited-fill"], fill >= 90 {
            findings.append(
                .warning(
                    "claims", "the room for claims of events that have not come is \(fill) % full",
                    "When it is full, the program that has most there loses some, and banners may appear for events "
                        + "that were read elsewhere. “notifyctl forget /” drops all of them, with the history."))
        }
        return findings
    }

    private var router: Finding {
        let check = "notifyd"
        guard isRunning else {
            if unit.isFailing { return .problem(check, "not running: notifyd.service has failed", "See “unit” below.") }
            if unit.isUnusable {
                return .problem(check, "not running, and the bus cannot start it", "See “unit” below.")
            }
            return isActivatable
                ? .ok(check, "not running; the first call starts it")
                : .problem(
                    check, "not running",
                    "Start it: systemctl --user start notifyd, or, without systemd, notifyd")
        }
        let place = process.map { ", process \($0)" } ?? ""
        if hasBadConfiguration {
            return .problem(check, "it does not start: its configuration is bad", "See “configuration” below.")
        }
        if let stranger { return .stranger(check, Router.name, stranger) }
        guard let version = properties["Version"]?.string else {
            return .problem(
                check, "on the bus\(place), but it does not answer", "Restart it: systemctl --user restart notifyd")
        }
        guard version == ownVersion else {
            return .warning(
                check, "version \(version)\(place); this notifyctl is \(ownVersion)",
                "After an update: systemctl --user daemon-reload && systemctl --user restart notifyd")
        }
        if let process, let main = unit.process, main != process {
            return .warning(
                check, "version \(version)\(place), which is not that of notifyd.service",
                "It was started by hand. End that process, then: systemctl --user restart notifyd")
        }
        return .ok(check, "version \(version)\(place)")
    }

    private var activation: Finding {
        if isActivatable, unit.isUnusable {
            return .warning(
                "activation", "the bus starts notifyd by its unit, which cannot be loaded", "See “unit” below.")
        }
        return isActivatable
            ? .ok("activation", "the bus knows how to start notifyd")
            : .warning(
                "activation", "the bus does not know how to start notifyd",
                "org.notifyd.Router1.service belongs in share/dbus-1/services of a folder in $XDG_DATA_DIRS, or in "
                    + "~/.local/share/dbus-1/services; then: systemctl --user reload dbus")
    }
}
