import ChildProcesses
import NotifyClient
import NotifyJSON

/// The state of notifyd.service; org.freedesktop.systemd1(5).
struct UnitCheck {
    var hasManager = false
    /// `loaded`, `not-found`, `masked`, `bad-setting`, …
    var loadState = ""
    var activeState = ""
    var fragment = ""
    /// `success`, `exit-code`, `oom-kill`, `watchdog`, `start-limit-hit`, …
    var result = ""
    /// The exit status of notifyd, or of a failure to execute it.
    var exitStatus = 0
    var restarts = 0
    var needsReload = false
    var hasJob = false
    /// The files that `LoadCredential=` names.
    var credentials: [String] = []
    /// Whether users may create user namespaces here; `nil` if that was not tested.
    var allowsNamespaces: Bool?

    private static let check = "unit"
    private static let reload = "systemctl --user daemon-reload"

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
        if activeState == "failed" { return failure }
        if needsReload {
            return .warning(Self.check, "\(fragment) has changed since it was read", "Read it again: \(Self.reload)")
        }
        let times = restarts == 0 ? "" : restarts == 1 ? ", restarted once" : ", restarted \(restarts) times"
        return .ok(Self.check, "\(activeState)\(times), from \(fragment)")
    }

    private var failure: Finding {
        let failure = UnitFailure(
            unit: "notifyd", result: result, exitStatus: exitStatus, credentials: credentials)
        switch exitStatus {
        case _ where UnitFailure.namespaceFailures.contains(exitStatus):
            return allowsNamespaces == false
                ? .problem(
                    Self.check, "failed with \(exitStatus): users get no user namespaces on this system",
                    "Run notifyd without them: \(SandboxCheck.leaveNamespacesOut)")
                : .problem(Self.check, failure.state, failure.advice)
        case 78:
            return .problem(
                Self.check, "failed: the configuration is bad",
                "See below, then: systemctl --user reset-failed notifyd; systemctl --user start notifyd")
        case 69:
            return .problem(
                Self.check, "failed: another notifyd has the name on this bus",
                "End that one, then: systemctl --user restart notifyd")
        default: return .problem(Self.check, failure.state, failure.advice)
        }
    }
}

extension UnitCheck {
    static let manager = "org.freedesktop.systemd1"

    /// Asks the service manager.
    ///
    /// - Returns: the state of the unit, and all properties of the service.
    static func ask(_ query: BusQuery) async -> (UnitCheck, service: [String: Value]) {
        var check = UnitCheck()
        check.hasManager = await query.owner(of: manager) != nil
        guard check.hasManager,
            let path = try? await query.askManager("LoadUnit", ["notifyd.service"])?.string
        else { return (check, [:]) }
        let unit = await query.properties(manager, path, "\(manager).Unit")
        let service = await query.properties(manager, path, "\(manager).Service")
        check.loadState = unit["LoadState"]?.string ?? ""
        check.activeState = unit["ActiveState"]?.string ?? ""
        check.fragment = unit["FragmentPath"]?.string ?? ""
        check.needsReload = unit["NeedDaemonReload"]?.boolean ?? false
        check.hasJob = unit["Job"]?.elements?.first?.integer() ?? 0 != 0
        let failure = UnitFailure("notifyd", service)
        check.result = failure.result
        check.exitStatus = failure.exitStatus
        check.credentials = failure.credentials
        check.restarts = service["NRestarts"]?.integer() ?? 0
        if check.activeState == "failed", UnitFailure.namespaceFailures.contains(check.exitStatus) {
            check.allowsNamespaces = await createsNamespaces()
        }
        return (check, service)
    }

    /// Whether unshare(1) gets a user namespace and a mount namespace; `nil` if it is not there.
    private static func createsNamespaces() async -> Bool? {
        let process = try? ChildProcess(
            "unshare", ["--user", "--mount", "--map-root-user", "true"],
            environment: ChildProcess.currentEnvironment, capturing: [1, 2])
        return await process?.waitForExit(within: BusQuery.timeout).map { $0 == .code(0) }
    }
}
