import ArgumentParser
import ChildProcesses
import NotifyJSON
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
                desktop.toml, focus.toml, mqtt.toml, ntfy.toml or unifiedpush.toml is checked by the program that reads it. Programs of \
                buttons are looked for as notifyd looks for them.

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
