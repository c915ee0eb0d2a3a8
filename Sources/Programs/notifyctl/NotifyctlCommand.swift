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
            StatusCommand.self, TopCommand.self, DoctorCommand.self, ConfigCommand.self, DemoCommand.self,
        ])

    static func main() async {
        StandardStreams.prepare()
        requireTextArguments()
        do {
            try checkCommand(CommandLine.arguments.dropFirst())
            try checkSigns(CommandLine.arguments.dropFirst())
            var command = try await asyncParseAsRoot()
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch  where CommandLine.arguments.contains("--generate-completion-script") && exitCode(for: error).isSuccess
        {
            StandardStreams.write(CompletionScript.mended(fullMessage(for: error)) + "\n")
            StandardStreams.end(0)
        } catch {
            do {
                try checkSigns(CommandLine.arguments.dropFirst(), rejectedWith: fullMessage(for: error))
            } catch {
                end(with: error)
            }
            end(with: reported(error))
        }
        end(with: nil)
    }

    /// Rejects an argument such as `-5`, which the parser takes for options: `-1h` would print the help.
    ///
    /// - Parameter message: the parser's error. Without one, an argument after an option is not rejected, because it may be the
    ///   value of the option.
    static func checkSigns(_ arguments: ArraySlice<String>, rejectedWith message: String? = nil) throws {
        let causes = ["Error: Unknown option '-", "Error: Missing expected argument", "Error: Missing value for "]
        if let message, !causes.contains(where: message.hasPrefix) { return }
        var previous = ""
        for argument in arguments.prefix(while: { $0 != "--" }) {
            defer { previous = argument }
            guard argument.utf8.first == UInt8(ascii: "-"), let digit = argument.utf8.dropFirst().first,
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit, message != nil || !previous.hasPrefix("-")
            else { continue }
            throw ValidationError(
                "“\(argument)” begins with “-” and is taken for an option. Numbers and times are not negative: write "
                    + "\(argument.dropFirst()). A text that begins with “-” goes after “--”, or after “=” as the value of an "
                    + "option.")
        }
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
