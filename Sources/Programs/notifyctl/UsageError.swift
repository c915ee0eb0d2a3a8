import ArgumentParser
import Routing
import StandardStreams

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
