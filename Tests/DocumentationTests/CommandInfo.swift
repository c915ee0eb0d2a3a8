import Foundation
import NotifyClient
import NotifyTestSupport

/// What a program says of its own commands and options: the answer to `--experimental-dump-help`.
struct CommandInfo: Decodable {
    struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
        }
        let names: [Name]?
        /// False where it is not for people.
        let shouldDisplay: Bool
    }

    let commandName: String
    let discussion: String?
    let arguments: [Argument]?
    let subcommands: [CommandInfo]?

    var options: Set<String> {
        let names = (arguments ?? []).filter(\.shouldDisplay).flatMap { $0.names ?? [] }
        return Set(names.map { $0.kind == "long" ? "--\($0.name)" : "-\($0.name)" })
    }

    /// All commands that do something, by what is typed after the program's name.
    var commands: [String: CommandInfo] {
        var found: [String: CommandInfo] = [:]
        for command in subcommands ?? [] {
            if let nested = command.subcommands, !nested.isEmpty {
                for (name, inner) in command.commands { found["\(command.commandName) \(name)"] = inner }
                // Some do something by themselves too.
                if !command.options.subtracting(["--help", "-h", "--version"]).isEmpty {
                    found[command.commandName] = command
                }
            } else {
                found[command.commandName] = command
            }
        }
        return found
    }

    static func of(_ program: String) async throws -> CommandInfo {
        struct Dump: Decodable { let command: CommandInfo }
        let process = try ChildProcess(
            program, ["--experimental-dump-help"], environment: ChildProcess.currentEnvironment, capturing: [1])
        let lines = await process.allLines(of: 1) ?? []
        return try JSONDecoder().decode(Dump.self, from: Data(lines.joined(separator: "\n").utf8)).command
    }
}
