import ArgumentParser
import NotifyVersion
import StandardStreams

@main
struct NotifyctlCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifyctl",
        abstract: "Send, hear and claim push notifications on the local event bus.",
        discussion: """
            Topics are paths such as /post/27; wherever topics are listened to, what is below them is meant as well, \
            and / means every topic. Times are written like 100ms, 5s, 10m or 2h.

            Exit codes: 0 done, 1 nothing matched or time ran out, 64 wrong usage, 65 bad data, 69 no bus or no daemon, \
            74 the output cannot be written, 77 refused, 78 bad configuration.

            Examples:
              notifyctl send post 27 "Nice!" --wait
              notifyctl listen /post
              notifyctl screen /post/27
              notifyctl history -n 5
            The manual page notifyctl(1) says it all; “notifyctl demo” shows it.
            """,
        version: projectVersion,
        subcommands: [
            SendCommand.self, ListenCommand.self, ScreenCommand.self, ClaimCommand.self, ClaimTopicCommand.self,
            MarkReadCommand.self,
            PassCommand.self, WatchCommand.self, HistoryCommand.self, ShowCommand.self, WhyCommand.self,
            ReplayCommand.self,
            MuteCommand.self, PauseCommand.self, ResumeCommand.self, QuietCommand.self, StatusCommand.self,
            TopCommand.self,
            DoctorCommand.self, ConfigCommand.self, DemoCommand.self,
        ])
    static func main() async {
        StandardStreams.prepare()
        requireTextArguments()
        do {
            try checkHelpRequest(CommandLine.arguments.dropFirst())
            var command = try await asyncParseAsRoot()
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch  where CommandLine.arguments.contains("--generate-completion-script") && exitCode(for: error).isSuccess
        {
            StandardStreams.write(BashScript.mended(fullMessage(for: error)) + "\n")
            StandardStreams.end(0)
        } catch {
            end(with: error)
        }
        end(with: nil)
    }

    /// “help” with a command that does not exist is wrong usage; the parser would show the help of all.
    static func checkHelpRequest(_ arguments: ArraySlice<String>) throws {
        guard arguments.first == "help" else { return }
        var command: any ParsableCommand.Type = self
        for name in arguments.dropFirst() where !name.hasPrefix("-") {
            guard let found = command.configuration.subcommands.first(where: { $0.configuration.commandName == name })
            else {
                throw ValidationError("“\(Terminal.plain(name))” is not a command. “notifyctl help” lists them.")
            }
            command = found
        }
    }
}
