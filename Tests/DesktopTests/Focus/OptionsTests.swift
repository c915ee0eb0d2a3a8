import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The command line of notifyd-focus.
@Suite(.timeLimit(.minutes(1))) struct OptionsTests {
    private func run(_ arguments: String...) async throws -> CommandResult { try await run(arguments) }

    private func run(_ arguments: [String]) async throws -> CommandResult {
        try await ChildProcess.run(
            BuiltPrograms.notifydFocus, arguments, environment: ["HOME": "/nowhere"], within: .seconds(30))
    }

    @Test func itSaysWhatItIs() async throws {
        let help = try await run("--help")
        #expect(help.code == 0 && help.output.contains { $0.hasPrefix("USAGE: notifyd-focus") })
        #expect(try await run("--version").output.count == 1)
    }

    @Test(
        arguments: [
            (["--nothing"], "“--nothing” is not an option"), (["--config"], "--config needs a value"),
            (["--log-level=loud"], "“loud” is not a level; there are trace, debug"), (["--help=1"], "is not an option"),
            (["word"], "“word” is not an option"), (["--tmux"], "--tmux is for tmux. Write into ~/.tmux.conf"),
            (["--tmux", "--config=x"], "--tmux has no configuration"),
        ]) func aWrongOptionIsTold(_ arguments: [String], _ mistake: String) async throws
    {
        let result = try await run(arguments)
        #expect(result.code == 64)
        #expect(result.errors.first?.contains(mistake) == true)
    }

    @Test func itChecksAConfiguration() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let good = try folder.write("[[screen]]\napp = \"x\"\ntopic = \"/x\"\n", to: "good.toml")
        let bad = try folder.write("[[screen]]\napp = \"x\"\n", to: "bad.toml")
        #expect(try await run("--check-config", "--config", good).output == ["\(good) is good: 1 rule."])
        let mistakes = try await run("--check-config", "--config=\(bad)")
        #expect(mistakes.code == 78)
        #expect(mistakes.errors == ["notifyd-focus: \(bad):1:1: 'topic' is missing here"])
        #expect(try await run("--check-config", "--config", folder.path + "/none.toml").code == 78)
    }

    @Test func withoutABusItEnds() async throws { #expect(try await run().code == 75) }
}
