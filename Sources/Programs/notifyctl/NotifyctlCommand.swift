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
            FocusCommand.self, DesktopCommand.self, BrowserCommand.self, ShellCommand.self, DoctorCommand.self,
            ConfigCommand.self, DemoCommand.self,
        ])

    static func main() async {
        StandardStreams.prepare()
        requireTextArguments()
        let arguments = withoutUntil(CommandLine.arguments.dropFirst())
        do {
            try checkCommand(arguments)
            try UsageError.check(arguments)
            var command = try await asyncParseAsRoot(Array(arguments))
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch let error as UsageError {
            error.end()
        } catch let error as ValidationError {
            UsageError.found(error, in: arguments).end()
        } catch  where CommandLine.arguments.contains("--generate-completion-script") && exitCode(for: error).isSuccess
        {
            StandardStreams.write(CompletionScript.mended(fullMessage(for: error)) + "\n")
            StandardStreams.end(0)
        } catch {
            do throws(UsageError) {
                try UsageError.check(arguments, rejectedWith: fullMessage(for: error))
            } catch {
                error.end()
            }
            end(with: reported(error))
        }
        end(with: nil)
    }

    /// “pause until 9:00” is “pause 9:00”, which is how the parser takes it.
    static func withoutUntil(_ arguments: ArraySlice<String>) -> ArraySlice<String> {
        guard let command = arguments.first, UsageError.commandsOfTimes.contains(command),
            let place = arguments.lastIndex(of: "until"), place + 1 < arguments.endIndex
        else { return arguments }
        return arguments[..<place] + arguments[(place + 1)...]
    }

    /// Rejects an unknown command, also after “help”, and an option of a command before it. The parser would call the
    /// one an unexpected argument, or print the general help, and the other an unknown option.
    static func checkCommand(_ arguments: ArraySlice<String>) throws {
        if let advice = UsageError.earlyOption(arguments) { throw ValidationError(advice) }
        let names = arguments.first == "help" ? arguments.dropFirst() : arguments
        var command: any ParsableCommand.Type = self
        var path = "notifyctl help"
        for name in names {
            if name.hasPrefix("-") || command.configuration.subcommands.isEmpty { return }
            let known = command.configuration.subcommands
            guard let found = known.first(where: { $0.configuration.commandName == name }) else {
                let similar = name.nearest(of: known.compactMap { $0.configuration.commandName })
                throw ValidationError(
                    "“\(Terminal.plain(name))” is not a command. "
                        + (similar.map { "Did you mean “\($0)”?" } ?? "“\(path)” lists them."))
            }
            command = found
            path += " " + name
        }
    }
}

extension String {
    /// The text that differs from this one by the fewest typing errors, at most two, if there is one: a letter that is
    /// missing, one too many, a wrong one, or two that have changed places.
    func nearest(of texts: [String]) -> String? {
        let close = texts.map { (text: $0, errors: errors(in: $0)) }.filter { $0.errors <= 2 && $0.errors < count }
        return close.min { $0.errors < $1.errors }?.text
    }

    /// The optimal string alignment distance.
    private func errors(in text: String) -> Int {
        let (own, other) = (Array(self), Array(text))
        var rows = [Array(0...other.count)]
        for (i, letter) in own.enumerated() {
            var row = [i + 1]
            for (j, candidate) in other.enumerated() {
                var least = Swift.min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (letter == candidate ? 0 : 1))
                if i > 0, j > 0, letter == other[j - 1], own[i - 1] == candidate {
                    least = Swift.min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[own.count][other.count]
    }
}
