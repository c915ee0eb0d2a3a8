import ArgumentParser
import NotifyClient
import NotifyText
import StandardStreams

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Check the configuration.",
        discussion: """
            Examples:
              notifyctl config check
            """,
        subcommands: [Check.self])

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Check the configuration the way notifyd reads it.",
            discussion: """
                Exit code 78 if there is a mistake; it is reported with line and column. A file named browser.toml, \
                desktop.toml, focus.toml, mqtt.toml, ntfy.toml or unifiedpush.toml is checked by the program that \
                reads it. Programs of buttons are looked for as notifyd looks for them.

                Examples:
                  notifyctl config check && systemctl --user reload notifyd
                  notifyctl config check new.toml
                  notifyctl config check ~/.config/notifyd/focus.toml
                """)

        /// The programs that read the files beside notifyd's.
        private static let readers = [
            "browser.toml": "notifyd-browser", "desktop.toml": "notifyd-desktop", "focus.toml": "notifyd-focus",
            "mqtt.toml": "notifyd-mqtt", "ntfy.toml": "notifyd-ntfy", "unifiedpush.toml": "notifyd-unifiedpush",
        ]

        @Argument(help: "A configuration file, instead of the user's own.", completion: .file(extensions: ["toml"]))
        var file: String?
        @Option(help: "The program to ask, instead of the one beside notifyctl or in $PATH.", completion: .file())
        var daemon: String?

        @OptionGroup var output: OutputOptions

        func run() async throws {
            let name = file.flatMap { $0.split(separator: "/").last }.map(String.init) ?? ""
            let program = try daemon ?? Daemon.locate(Self.readers[name] ?? "notifyd")
            let arguments = ["--check-config"] + (file.map { ["--config", $0] } ?? [])
            var environment = ChildProcess.currentEnvironment
            // Otherwise programs would be found that notifyd does not find.
            if let path = try? await BusQuery.run(at: nil, { await $0.pathOfButtons() }) { environment["PATH"] = path }
            let (code, lines) = try await Daemon.run(program, arguments, environment: environment)
            let report = lines.joined(separator: "\n")
            output.write(["good": code == 0, "report": lines], text: code == 0 ? report : nil)
            if code != 0 {
                if output.json == .off { StandardStreams.writeToError(report + "\n") }
                throw ExitCode(code)
            }
        }
    }
}

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
        func firstLine(below heading: String) -> Substring? {
            report.lines.drop { $0 != heading }.dropFirst().first?.drop { $0 == " " }
        }
        if let mistake = firstLine(below: "Left out:") {
            return .warning(
                check, "good, without a file of a package: \(mistake)",
                "Report it to the makers of the package; notifyctl config check lists all such files.")
        }
        if let program = firstLine(below: "Missing programs:") {
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
        return text.split(separator: ":").map { path in "/" + path.split(separator: "/").joined(separator: "/") }
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
