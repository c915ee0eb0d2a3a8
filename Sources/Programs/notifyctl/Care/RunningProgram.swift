import Glibc
import UserFiles

/// A notifyd, bridge or notifyd-focus of this user that runs, whether or not a bus or a service manager can be asked.
struct RunningProgram: Equatable {
    private static let names = [
        "notifyd", "notifyd-desktop", "notifyd-focus", "notifyd-mqtt", "notifyd-ntfy", "notifyd-unifiedpush",
    ]

    /// Such as `notifyd-mqtt`.
    let name: String
    let process: Int
    /// Whether the service manager has started it as the unit of its name.
    var isUnit = false
    /// Whether its file was replaced or deleted since it was started.
    var isReplaced = false

    /// Whether it writes the journal or a state of its own.
    var isWriter: Bool { name != "notifyd-focus" }

    /// `nil` if nothing is amiss.
    var finding: Finding? {
        guard isReplaced else { return nil }
        return .warning(
            name, "process \(process) runs a program that was replaced or deleted",
            isUnit
                ? "Restart it: systemctl --user restart \(name)"
                : "End it, and start it again as it was started: kill \(process)")
    }

    /// Those that have the same configuration or state as this program, or that do not show what they have.
    static func all() -> [RunningProgram] {
        FileFacts.names(in: "/proc").compactMap { entry in
            guard let process = Int(entry), let comm = FileFacts.text(of: "/proc/\(entry)/comm"),
                // The kernel keeps 15 bytes.
                let name = names.first(where: { $0.prefix(15) + "\n" == comm }),
                let status = FileFacts.text(of: "/proc/\(entry)/status")?.split(separator: "\n"),
                status.contains(where: { $0.hasPrefix("Uid:\t\(getuid())\t") }),
                !status.contains(where: { $0.hasPrefix("State:\tZ") })
            else { return nil }
            errno = 0
            if let environment = ProcessFacts.environment(of: process) {
                if !sharesFolders(environment) { return nil }
            } else if errno != EACCES {
                // It has just ended.
                return nil
            }
            let cgroup = FileFacts.text(of: "/proc/\(entry)/cgroup") ?? ""
            return RunningProgram(
                name: name, process: process, isUnit: cgroup.contains("/\(name).service"),
                isReplaced: FileFacts.link(at: "/proc/\(entry)/exe")?.hasSuffix(" (deleted)") == true)
        }
    }

    private static func sharesFolders(_ environment: [String: String]) -> Bool {
        let (ours, theirs) = (BaseDirectories(), BaseDirectories { environment[$0] })
        return FileFacts.isSame(ours.state, theirs.state)
            || FileFacts.isSame(ours.configuration, theirs.configuration)
    }
}
