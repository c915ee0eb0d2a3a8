import ArgumentParser
import NotifyTestSupport
import Testing

@testable import notifyctl

/// The commands that `--help`, the manual pages and the README show can be given like that.
struct ExampleTests {
    @Test func everyCommandTeachesByExample() async throws {
        for (name, command) in try await CommandInfo.of(BuiltPrograms.notifyctl).commands where name != "help" {
            let examples = (command.discussion ?? "").split(separator: "Examples:\n").dropFirst().first ?? ""
            let lines = examples.split(separator: "\n").map { String($0) }
            #expect(lines.contains { $0.contains("notifyctl \(name)") }, "“notifyctl \(name) --help” has no example")
            for line in lines { await check(line) }
        }
    }

    /// ArgumentParser wraps at 80 columns. A command that is broken there cannot be copied.
    @Test func helpIsNeitherTornNorFullOfHoles() async throws {
        for (name, command) in try await CommandInfo.of(BuiltPrograms.notifyctl).commands {
            for line in (command.discussion ?? "").split(separator: "\n") {
                if line.hasPrefix("  ") { #expect(line.count <= 80, "“help \(name)” breaks: \(line)") }
                let text = line.drop { $0 == " " }
                #expect(!text.contains("  "), "“help \(name)” has a hole: \(line)")
            }
        }
    }

    @Test(arguments: ["docs/notifyctl.1", "docs/notifyd.8", "docs/notifyd.toml.5"])
    func theExamplesOfTheManualCanBeTyped(_ page: String) async throws {
        for line in try ManualPage(page).examples { await check(line) }
    }

    @Test func theExamplesOfTheReadMeCanBeTyped() async throws {
        let blocks = try Project.text("README.md").split(separator: "```sh\n").dropFirst()
        for block in blocks {
            for line in block.prefix(upTo: block.firstRange(of: "```")?.lowerBound ?? block.endIndex).split(
                separator: "\n")
            {
                await check(String(line))
            }
        }
    }

    /// Whether `notifyctl` understands what it is given in a line of shell.
    private func check(_ line: String) async {
        for arguments in ShellLine(line).arguments(of: "notifyctl") {
            do {
                _ = try await NotifyctlCommand.asyncParseAsRoot(
                    Array(NotifyctlCommand.withoutUntil(arguments[...])))
            } catch {
                Issue.record("\(line): \(NotifyctlCommand.message(for: error))")
            }
        }
    }
}

/// A line of shell, as far as examples go: words, quotes, and what parts one command from the next.
struct ShellLine {
    /// The words of each command in the line.
    private var commands: [[String]] = [[]]

    init(_ line: String) {
        var word: String?
        var quote: Character?
        func end() -> String? {
            defer { word = nil }
            return word
        }
        for character in line {
            switch character {
            case quote: quote = nil
            case _ where quote != nil: word?.append(character)
            case "'", "\"":
                quote = character
                word = word ?? ""
            case " ": if let done = end() { commands[commands.count - 1].append(done) }
            case "#" where word == nil: return
            case "|", "&", ";", "(", ")":
                if let done = end() { commands[commands.count - 1].append(done) }
                commands.append([])
            default: word = (word ?? "") + String(character)
            }
        }
        if let done = end() { commands[commands.count - 1].append(done) }
        // What another command prints, where an id is wanted.
        commands = commands.map { words in words.map { $0.hasPrefix("$") && $0.count > 1 ? "1" : $0 } }
    }

    /// What follows the program's name, for each command that begins with it.
    func arguments(of program: String) -> [[String]] {
        commands.compactMap { words in
            let words = words.first == "$" ? words.dropFirst() : words[...]
            return words.first == program ? Array(words.dropFirst()) : nil
        }
    }
}
