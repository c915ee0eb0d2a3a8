import ArgumentParser
import NotifyVersion
import StandardStreams

@main
struct NotifyctlCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifyctl",
        abstract: "Publish, receive and claim push notifications on the local event bus.",
        discussion: """
            Topics are paths such as /post/27. Commands that read topics include the topics below them; / means every topic. \
            Times are written like 100ms, 5s, 10m or 2h.

            Exit codes: 0 done, 1 nothing matched or time ran out, 64 wrong usage, 65 bad data, 69 no bus or no daemon, \
            74 the output cannot be written, 77 refused, 78 bad configuration.

            Examples:
              notifyctl send post 27 "Nice!" --wait
              notifyctl listen /post
              notifyctl screen /post/27
              notifyctl history -n 5
            See notifyctl(1) for all options; “notifyctl demo” shows how notifyd works.
            """,
        version: projectVersion,
        subcommands: [
            SendCommand.self, ListenCommand.self, ScreenCommand.self, ClaimCommand.self, ClaimTopicCommand.self,
            WithdrawCommand.self, MarkReadCommand.self, InboxCommand.self, WatchCommand.self, HistoryCommand.self,
            ForgetCommand.self, ShowCommand.self, WhyCommand.self, ReplayCommand.self, MuteCommand.self,
            PauseCommand.self, ResumeCommand.self, QuietCommand.self, SnoozeCommand.self,
            StatusCommand.self, TopCommand.self, BridgesCommand.self, LinkCommand.self, PushEndpointCommand.self,
            FocusCommand.self, BrowserCommand.self, ShellCommand.self, DoctorCommand.self, ConfigCommand.self,
            DemoCommand.self,
        ])

    static func main() async {
        StandardStreams.prepare()
        requireTextArguments()
        do {
            try checkCommand(CommandLine.arguments.dropFirst())
            try UsageError.check(CommandLine.arguments.dropFirst())
            var command = try await asyncParseAsRoot()
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch let error as UsageError {
            error.end()
        } catch let error as ValidationError {
            UsageError.found(error, in: CommandLine.arguments.dropFirst()).end()
        } catch  where CommandLine.arguments.contains("--generate-completion-script") && exitCode(for: error).isSuccess
        {
            StandardStreams.write(CompletionScript.mended(fullMessage(for: error)) + "\n")
            StandardStreams.end(0)
        } catch {
            do throws(UsageError) {
                try UsageError.check(CommandLine.arguments.dropFirst(), rejectedWith: fullMessage(for: error))
            } catch {
                error.end()
            }
            end(with: reported(error))
        }
        end(with: nil)
    }

    /// Rejects an unknown command, also after “help”. The parser would call it an unexpected argument, or print the general help.
    static func checkCommand(_ arguments: ArraySlice<String>) throws {
        let names = arguments.first == "help" ? arguments.dropFirst() : arguments
        var command: any ParsableCommand.Type = self
        for name in names {
            if name.hasPrefix("-") || command.configuration.subcommands.isEmpty { return }
            guard let found = command.configuration.subcommands.first(where: { $0.configuration.commandName == name })
            else {
                throw ValidationError("“\(Terminal.plain(name))” is not a command. “notifyctl help” lists them.")
            }
            command = found
        }
    }
}
