import Glibc
import NotifyClient

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

    /// `EXIT_CREDENTIALS`
    static let credentialFailure = 243
    /// `EXIT_USER`, `EXIT_CAPABILITIES` and `EXIT_NAMESPACE`
    static let namespaceFailures = [217, 218, 226]

    private var restart: String { "systemctl --user reset-failed \(unit); systemctl --user start \(unit)" }
    private var log: String { "journalctl --user -u \(unit)" }

    var state: String {
        switch exitStatus {
        case 78: "failed: its configuration is bad"
        case 203: "failed with 203: its program is not there, or cannot be executed"
        case Self.credentialFailure:
            "failed with 243/CREDENTIALS: a credential file that LoadCredential= names is missing or cannot be read"
        case _ where Self.namespaceFailures.contains(exitStatus):
            "failed with \(exitStatus): systemd could not set up the unit's namespaces"
        default: "failed (\(result), exit status \(exitStatus))"
        }
    }

    var advice: String {
        switch exitStatus {
        case 78: return "Correct it: \(unit) --check-config says what is wrong. Then: \(restart)"
        case 203: return "See ExecStart= in “systemctl --user cat \(unit)”. Then: \(restart)"
        case Self.credentialFailure:
            let unreadable = credentials.filter { $0.hasPrefix("/") && access($0, R_OK) != 0 }
            let files = (unreadable.isEmpty ? credentials : unreadable).joined(separator: ", ")
            let place = files.isEmpty ? "“systemctl --user cat \(unit)” names it" : "it is \(files)"
            return "Write that file, readable for you: \(place). Then: \(restart)"
        case _ where Self.namespaceFailures.contains(exitStatus):
            return
                "\(log) says what was in the way, such as a folder that is missing, or a system without user namespaces. "
                + "To run it without namespaces: \(Self.leaveNamespacesOut(of: unit))"
        default: return "\(log) says why. Then: \(restart)"
        }
    }

    static func leaveNamespacesOut(of unit: String) -> String {
        "mkdir -p ~/.config/systemd/user/\(unit).service.d && "
            + "ln -s /dev/null ~/.config/systemd/user/\(unit).service.d/namespaces.conf && "
            + "systemctl --user daemon-reload && systemctl --user reset-failed \(unit) && systemctl --user restart \(unit)"
    }
}

extension UnitFailure {
    /// - Parameter service: the properties of the service.
    init(_ unit: String, _ service: [String: Value]) {
        self.unit = unit
        result = service["Result"]?.string ?? ""
        exitStatus = service["ExecMainStatus"]?.integer() ?? 0
        credentials = (service["LoadCredential"]?.elements ?? []).compactMap { pair in
            guard let pair = pair.elements, pair.count == 2 else { return nil }
            return pair[1].string
        }
    }
}
