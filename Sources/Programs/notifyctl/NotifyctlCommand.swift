import ArgumentParser
import NotifyText
import Routing
import StandardStreams

@main
struct NotifyctlCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifyctl", abstract: "Publish, receive and claim push notifications on the local event bus.",
        discussion: """
            Topics are paths such as /post/27. Commands that read topics include the topics below them; / means every \
            topic. Times are written like 100ms, 5s, 10m or 2h.

            Exit codes: 0 done, 1 nothing matched or time ran out, 64 wrong usage, 65 bad data, 69 no bus or no \
            daemon, 74 the output cannot be written, 77 refused, 78 bad configuration.

            Examples:
              notifyctl send post 27 "Nice!" --wait
              notifyctl listen /post
              notifyctl screen /post/27
              notifyctl history -n 5
            See notifyctl(1) for all options; “notifyctl demo” shows how notifyd works, and “notifyctl setup” asks \
            what to turn on.
            """,
        version: projectVersion,
        subcommands: [
            SendCommand.self, ListenCommand.self, ScreenCommand.self, ClaimCommand.self, ClaimTopicCommand.self,
            WithdrawCommand.self, MarkReadCommand.self, InboxCommand.self, WatchCommand.self, HistoryCommand.self,
            ForgetCommand.self, ShowCommand.self, WhyCommand.self, ReplayCommand.self, MuteCommand.self,
            PauseCommand.self, ResumeCommand.self, QuietCommand.self, SnoozeCommand.self,
            StatusCommand.self, TopCommand.self, BridgesCommand.self, LinkCommand.self, PushEndpointCommand.self,
            FocusCommand.self, DesktopCommand.self, BrowserCommand.self, ShellCommand.self, SetupCommand.self,
            DoctorCommand.self, ConfigCommand.self, DemoCommand.self,
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

/// An argument that the parser takes for an option, or reports as something else than it is.
struct UsageError: Error {
    let message: String
    /// The command it was given to, below the first.
    private let command: [any ParsableCommand.Type]

    /// A mistake that a command has found itself, when it ran. The parser would say how the whole program is used.
    static func found(_ error: ValidationError, in arguments: ArraySlice<String>) -> UsageError {
        UsageError(message: error.message, command: command(of: arguments))
    }

    /// As the parser writes its own errors.
    var fullMessage: String {
        let name = command.map { $0.configuration.commandName ?? "" }.joined(separator: " ")
        let usage = NotifyctlCommand.usageString(for: command[command.count - 1])
        return "Error: \(message)\nUsage: \(usage.replacing("\n", with: "\n       "))\n"
            + "  See '\(name) --help' for more information."
    }

    func end() -> Never {
        StandardStreams.writeToError(fullMessage + "\n")
        StandardStreams.end(ExitCode.validationFailure.rawValue)
    }

    // MARK: - Finding it

    /// Commands with the id of an event among their arguments.
    static let commandsOfIDs: Set = ["claim", "withdraw", "show", "why", "forget", "snooze"]
    /// Commands with a time among their arguments.
    static let commandsOfTimes: Set = ["mute", "pause", "snooze"]
    /// Commands with a text among their arguments.
    static let commandsOfTexts: Set = ["send"]

    /// Rejects an argument such as `-5`, which the parser takes for options: `-1h` would print the help. And an unknown
    /// option where the parser says that an argument is missing.
    ///
    /// - Parameter message: the parser's error. Without one, an argument after an option is not rejected, because it
    ///   may be the value of the option.
    static func check(
        _ arguments: ArraySlice<String>, rejectedWith message: String? = nil
    ) throws(UsageError) {
        let isMissing = message?.hasPrefix("Error: Missing expected argument") ?? false
        let causes = ["Error: Unknown option '-", "Error: Missing value for "]
        if let message, !isMissing, !causes.contains(where: message.hasPrefix) { return }
        let command = command(of: arguments)
        let options = options(of: command[command.count - 1])
        var previous = ""
        for argument in arguments.prefix(while: { $0 != "--" }) {
            defer { previous = argument }
            guard argument.utf8.first == UInt8(ascii: "-"), let second = argument.utf8.dropFirst().first else {
                continue
            }
            if UInt8(ascii: "0")...UInt8(ascii: "9") ~= second {
                guard message != nil || !previous.hasPrefix("-") else { continue }
                throw UsageError(message: advice(about: argument, after: previous, options, command), command: command)
            }
            if isMissing, options[name(of: argument)] == nil, options[previous] != true {
                throw UsageError(message: "Unknown option '\(name(of: argument))'", command: command)
            }
        }
    }

    /// What to do about an option that stands before its command: none is allowed there.
    static func earlyOption(_ arguments: ArraySlice<String>) -> String? {
        guard let option = arguments.first, option.hasPrefix("-"), !["-h", "--help", "--version"].contains(option),
            !option.hasPrefix("---")
        else { return nil }
        for place in arguments.indices.dropFirst() {
            let command = command(of: arguments[place...])
            guard command.count > 1, options(of: command[command.count - 1])[name(of: option)] != nil else { continue }
            let end = place + command.count - 1
            let words = arguments[place..<end] + arguments[..<place] + arguments[end...]
            return "'\(name(of: option))' goes after the command: notifyctl \(words.joined(separator: " "))"
        }
        return nil
    }

    /// The command that is meant and those above it.
    private static func command(of arguments: ArraySlice<String>) -> [any ParsableCommand.Type] {
        var found: [any ParsableCommand.Type] = [NotifyctlCommand.self]
        for name in arguments {
            let next = found[found.count - 1].configuration.subcommands.first { $0.configuration.commandName == name }
            guard let next else { break }
            found.append(next)
        }
        return found
    }

    /// The options of a command, as they are typed, and whether they have a value.
    private static func options(of command: any ParsableCommand.Type) -> [String: Bool] {
        var options: [String: Bool] = [:]
        for line in command.helpMessage(columns: 500).split(separator: "\n") where line.hasPrefix("  -") {
            let words = (line.dropFirst(2).firstRange(of: "  ").map { line[..<$0.lowerBound] } ?? line).split(
                separator: " ")
            for word in words where word.hasPrefix("-") {
                options[word.last == "," ? String(word.dropLast()) : String(word)] = words.last?.hasPrefix("<") ?? false
            }
        }
        return options
    }

    /// Without a value: `--json` of `--json=short`, `-n` of `-n5`.
    private static func name(of option: String) -> String {
        String(option.hasPrefix("--") ? option.prefix { $0 != "=" } : option.prefix(2))
    }

    private static func advice(
        about argument: String, after previous: String, _ options: [String: Bool],
        _ command: [any ParsableCommand.Type]
    ) -> String {
        let name = command.dropFirst().first?.configuration.commandName ?? ""
        let digits = argument.dropFirst()
        var advice = "“\(argument)” begins with “-” and is taken for an option."
        if options[previous] == true {
            advice += " As the value of an option it goes after “=”"
            advice += previous.hasPrefix("--") ? ": \(previous)=\(argument)." : "."
        } else if commandsOfIDs.contains(name) && UInt64(digits) != nil
            || commandsOfTimes.contains(name) && Duration(text: String(digits)) != nil
        {
            advice += " Numbers and times are not negative: write \(digits)."
        } else if options["-n"] == true, UInt64(digits) != nil {
            advice += " A number of events goes after -n: write -n \(digits)."
        } else if commandsOfTexts.contains(name) {
            advice += " A text that begins with “-” goes after “--”."
        }
        return advice
    }
}
