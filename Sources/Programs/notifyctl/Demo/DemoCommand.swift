import ArgumentParser
import ChildProcesses
import NotifyClient
import NotifyJSON
import NotifyRehearsal

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Play the whole story on a private bus, and draw what happened.",
        discussion: """
            Starts a message bus and a daemon of its own and a stand-in for the desktop, so it needs no desktop and \
            touches nothing of yours. Every time is measured. Exit code 1 if the story did not go as it should.

            Examples:
              notifyctl demo
            """)

    @Option(
        help: "The notifyd to play with, instead of the one beside notifyctl or in $PATH.", completion: .file())
    var daemon: String?

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let program = try daemon ?? Daemon.locate()
        var scenes: [Scene] = []
        try await withPrivateBus { bus in
            let stage = try await Stage(bus, daemon: program)
            let window = try await stage.publisher.defaultWindow()
            if output.json == .off { introduce(window) }
            do {
                try await Story(stage: stage, window: window).scenes { scene in
                    scenes.append(scene)
                    if output.json == .off { show(scene, number: scenes.count) }
                }
            } catch {
                await stage.end()
                throw error
            }
            await stage.end()
        }
        let failures = scenes.filter { !$0.flaws.isEmpty }.count
        output.write(.array(scenes.map(\.json)), text: summary(scenes.count, failures))
        if failures > 0 { throw ExitCode.nothing }
    }

    private func introduce(_ window: Duration) {
        Terminal.print(
            """
            An event is published, every subscriber receives it, and a screen that shows it claims it. An event without a
            claim within \(window.shortText) becomes a banner. One character is 10 ms; all times are measured, from the publisher's call.

              P published   h heard   C claimed   [==] the window for claims   B### banner   x taken down

            """)
    }

    private func show(_ scene: Scene, number: Int) {
        Terminal.print(Terminal.bold("\(number). \(scene.title)"))
        for line in scene.timeline.lines() { Terminal.print(line) }
        for flaw in scene.flaws { Terminal.print(Terminal.red("  ✗ \(flaw)")) }
        Terminal.print("")
    }

    private func summary(_ count: Int, _ failures: Int) -> String {
        failures == 0
            ? Terminal.green("✓ All \(count) went as they should.")
            : Terminal.red("✗ \(failures) of \(count) did not go as they should.")
    }
}
