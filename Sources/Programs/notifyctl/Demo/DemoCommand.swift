import ArgumentParser
import NotifyClient
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
              notifyctl demo link
            """,
        subcommands: [DemoLinkCommand.self])

    @Option(
        help: "The notifyd to play with, instead of the one beside notifyctl or in $PATH.", completion: .file())
    var daemon: String?

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let program = try daemon ?? Daemon.locate()
        let performance = Performance(output)
        try await withPrivateBus { bus in
            let stage = try await Stage(bus, daemon: program)
            let window = try await stage.publisher.defaultWindow()
            performance.say(introduction(window))
            do {
                try await Story(stage: stage, window: window).scenes { performance.show($0) }
            } catch {
                await stage.end()
                throw error
            }
            await stage.end()
        }
        try performance.end()
    }

    private func introduction(_ window: Duration) -> String {
        """
        An event is published, every subscriber receives it, and a screen that shows it claims it. An event without a
        claim within \(window.shortText) becomes a banner. One character is 10 ms; all times are measured, from the publisher's call.

          P published   h heard   C claimed   [==] the window for claims   B### banner   x taken down

        """
    }
}
