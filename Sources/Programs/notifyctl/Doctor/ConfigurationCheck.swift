import ChildProcesses

struct ConfigurationCheck {
    /// The output and exit code of “notifyd --check-config”; `nil` if it could not be run.
    var report: (code: Int32, lines: [String])?
    /// The variables in which the running notifyd and the caller differ.
    var differences: [String] = []
    /// Whether notifyd runs and answers. It has read a good configuration then.
    var isRunning = false
    /// Why it could not be run, although there is a notifyd.
    var obstacle: String?

    /// The variables that say where the files are.
    private static let variables = ["HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS"]

    var finding: Finding {
        let finding = ownFinding
        if differences.isEmpty { return finding }
        let words = "read as the running notifyd does, which has another \(differences.joined(separator: ", "))"
        return Finding(
            check: finding.check, level: finding.level, state: "\(finding.state) (\(words))", advice: finding.advice)
    }

    private var ownFinding: Finding {
        let check = "configuration"
        if let obstacle { return .warning(check, "cannot be checked: \(obstacle)", "Install notifyd again.") }
        guard let report else {
            return .warning(check, "cannot be checked: no notifyd beside notifyctl or in $PATH", "Install notifyd.")
        }
        let first = report.lines.first ?? "no message was printed"
        guard report.code == 0 else {
            let more = report.lines.count > 1 ? " (and more: notifyctl config check)" : ""
            return .problem(
                check, first + more + (isRunning ? "; notifyd goes on with the configuration that it has" : ""),
                "Correct it, then: notifyctl config check && systemctl --user reload-or-restart notifyd")
        }
        if let heading = report.lines.firstIndex(of: "Left out:"), heading + 1 < report.lines.count {
            let mistake = report.lines[heading + 1].drop { $0 == " " }
            return .warning(
                check, "good, without a file of a package: \(mistake)",
                "Report it to the makers of the package; notifyctl config check lists all such files.")
        }
        if let heading = report.lines.firstIndex(of: "Missing programs:"), heading + 1 < report.lines.count {
            let program = report.lines[heading + 1].drop { $0 == " " }
            return .warning(
                check, "good, but there is no program \(program)",
                "Install it, or name another one in the configuration; notifyctl config check lists all such programs.")
        }
        // “The configuration is good (FILES). Routes:”
        let files = first.split(separator: "(").last?.split(separator: ")").first.map(String.init)
        return .ok(check, files.map { "good: \($0)" } ?? "good")
    }

    /// What a variable stands for, if it is set or not: basedir-spec 0.8.
    static func value(_ name: String, in environment: [String: String]) -> [String] {
        let text =
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
            ?? ["XDG_CONFIG_DIRS": "/etc/xdg", "XDG_DATA_DIRS": "/usr/local/share:/usr/share"][name]
            ?? (name == "XDG_CONFIG_HOME" ? (environment["HOME"] ?? "") + "/.config" : "")
        return text.split(separator: ":").map { path in
            "/" + path.split(separator: "/").joined(separator: "/")
        }
    }

    /// Runs the notifyd that belongs to this notifyctl, with the environment of the running notifyd if that can be
    /// read.
    ///
    /// - Parameters:
    ///   - process: the running notifyd.
    ///   - isRunning: whether it has answered, so that it has read a good configuration.
    ///   - path: see ``BusQuery/pathOfButtons()``.
    static func ask(
        as process: Int? = nil, isRunning: Bool = false, path: String? = nil
    ) async -> ConfigurationCheck {
        guard let program = try? Daemon.locate() else { return ConfigurationCheck() }
        var environment = ChildProcess.currentEnvironment
        let theirs = process.flatMap(ProcessFacts.environment(of:)) ?? environment
        let differences = variables.filter { value($0, in: theirs) != value($0, in: environment) }
        for name in variables { environment[name] = theirs[name] }
        environment["PATH"] = path ?? environment["PATH"]
        do throws(ProcessError) {
            let report = try await Daemon.run(
                program, ["--check-config"], environment: environment, within: .seconds(10))
            return ConfigurationCheck(report: report, differences: differences, isRunning: isRunning)
        } catch {
            return ConfigurationCheck(obstacle: error.description)
        }
    }
}
