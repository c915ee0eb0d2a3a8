/// The sandbox that is in force for the running notifyd. Some settings of a unit silently do nothing if there are no
/// user namespaces, so this checks the process itself.
struct SandboxCheck {
    var hasManager = false
    /// Whether notifyd.service uses namespaces; `nil` if the running process is not that of the unit.
    var wantsNamespaces: Bool?
    /// The facts of the running process, if they can be read.
    var process: ProcessFacts?

    /// The settings of the unit that a drop-in has made weaker.
    var loosened: [String] = []

    private static let check = "sandbox"
    static let leaveNamespacesOut = UnitFailure.leaveNamespacesOut(of: "notifyd")

    /// `nil` if notifyd does not run.
    var finding: Finding? {
        guard let process else { return nil }
        let held = process.filtersCalls && process.gainsNoPrivileges
        let restart = "systemctl --user daemon-reload && systemctl --user restart notifyd"
        switch wantsNamespaces {
        case nil where !hasManager:
            return .ok(
                Self.check,
                held ? "made by the program that started notifyd" : "none: there is no service manager to make it")
        case nil:
            return .warning(
                Self.check,
                held ? "in one, but not that of notifyd.service" : "none: notifyd was not started by its unit",
                "Let the service manager run it: systemctl --user start notifyd")
        case _? where !held:
            return .problem(
                Self.check, "none: neither are system calls filtered nor new privileges refused",
                "A drop-in of notifyd.service may have removed it; see: systemctl --user cat notifyd")
        case true? where !process.hasOwnUsers:
            return .problem(
                Self.check, "its namespaces are not in force; the rest is", "Restart it: \(restart)")
        case _? where !loosened.isEmpty:
            return .warning(
                Self.check, "weaker than that of notifyd.service: \(loosened.joined(separator: ", "))",
                "A drop-in has changed it; see: systemctl --user cat notifyd")
        case true?: return .ok(Self.check, "complete: namespaces, system calls, no new privileges")
        case false?:
            return .ok(Self.check, "system calls and no new privileges; namespaces.conf is left out")
        }
    }
}
