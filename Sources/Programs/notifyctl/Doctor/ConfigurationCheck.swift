import ChildProcesses

/// Whether the current configuration is valid.
struct ConfigurationCheck {
    /// The output and exit code of “notifyd --check-config”; `nil` if there is no notifyd.
    var report: (code: Int32, lines: [String])?

    var finding: Finding {
        let check = "configuration"
        guard let report else {
            return .warning(check, "cannot be checked: no notifyd beside notifyctl or in $PATH", "Install notifyd.")
        }
        let first = report.lines.first ?? "no message was printed"
        guard report.code == 0 else {
            let more = report.lines.count > 1 ? " (and more: notifyctl config check)" : ""
            return .problem(
                check, first + more,
                "Correct it, then: notifyctl config check && systemctl --user reload-or-restart notifyd")
        }
        // “The configuration is good (FILES). Routes:”
        let files = first.split(separator: "(").last?.split(separator: ")").first.map(String.init)
        return .ok(check, files.map { "good: \($0)" } ?? "good")
    }

    /// Runs the notifyd that belongs to this notifyctl.
    static func ask(_ environment: [String: String]) async -> ConfigurationCheck {
        guard let program = try? Daemon.locate(),
            let process = try? ChildProcess(
                program, ["--check-config"], environment: environment, capturing: [1, 2]),
            case .code(let code)? = await process.waitForExit()
        else { return ConfigurationCheck() }
        let lines = await process.allLines(of: code == 0 ? 1 : 2) ?? []
        return ConfigurationCheck(report: (code, lines))
    }
}
