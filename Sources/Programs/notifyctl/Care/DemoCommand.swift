import ArgumentParser
import NotifyClient
import NotifyRehearsal
import NotifyText

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Play the whole story on a private bus, and draw what happened.",
        discussion: """
            Starts a message bus and a daemon of its own and a stand-in for the desktop, so it needs no desktop and \
            touches nothing of yours. Every time is measured. Exit code 1 if the story did not go as it should.

            Examples:
              notifyctl demo
              notifyctl demo link
            """,
        subcommands: [DemoLinkCommand.self])

    @Option(help: "The notifyd to play with, instead of the one beside notifyctl or in $PATH.", completion: .file())
    var daemon: String?

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let program = try daemon ?? Daemon.locate()
        let performance = Performance(output)
        try await withPrivateBus { bus in
            let stage = try await Stage(bus, daemon: program)
            try await performance.play(until: stage.end) {
                let window = try await stage.publisher.defaultWindow()
                performance.say(introduction(window))
                try await Story(stage: stage, window: window).scenes { performance.show($0) }
            }
        }
        try performance.end()
    }

    private func introduction(_ window: Duration) -> String {
        """
        An event is published, every subscriber receives it, and a screen that shows it claims it. An event without a
        claim within \(window.shortText) becomes a banner. One character is 10 ms; all times are measured, \
        from the publisher's call.

          P published   h heard   C claimed   [==] the window for claims   B### banner   x taken down

        """
    }
}

struct DemoLinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Play the story of three linked devices and a broker that is killed, and draw what happened.",
        discussion: """
            Starts three devices on this machine, each with a message bus, a notifyd, a notifyd-mqtt and a stand-in \
            for the desktop, and the MQTT broker mosquitto. It needs no desktop and no network, and touches nothing of \
            yours. Every time is measured. Exit code 1 if the story did not go as it should.

            Examples:
              notifyctl demo link
            """)

    @Option(help: "The notifyd to play with, instead of the one beside notifyctl or in $PATH.", completion: .file())
    var daemon: String?
    @Option(help: "The notifyd-mqtt to play with, likewise.", completion: .file()) var bridge: String?

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let programs = LinkedDevice.Programs(
            daemon: try daemon ?? Daemon.locate(),
            bridge: try bridge ?? Daemon.locate("notifyd-mqtt", option: "--bridge"))
        let performance = Performance(output)
        try await withBroker { broker in
            let stage = try await LinkStage(broker, programs)
            try await performance.play(until: stage.end) {
                let window = try await stage.desk.client.defaultWindow()
                performance.say(introduction(window))
                try await LinkStory(stage: stage, window: window).scenes { performance.show($0) }
            }
        }
        try performance.end()
    }

    private func introduction(_ window: Duration) -> String {
        """
        Three devices of one user, linked by an MQTT broker that can read nothing. Each has a \
        notifyd of its own, which waits
        \(window.shortText) for a claim before it shows a banner. All times are measured, from the publisher's call.

          P published   h heard   C claimed here   c claimed elsewhere   ==] the window for claims   \
          B### banner   x taken down
          X the broker is killed   ^ it is there again   o connected to it   A everything is there

        """
    }
}

/// What has happened in a scene of a demo: it can be drawn, and checked.
protocol PlayedScene {
    var title: String { get }
    var timeline: Timeline { get }
    /// What did not go as it should.
    var flaws: [String] { get }
    var json: JSON { get }
}

/// Shows scenes as they are played, and says at the end whether all went as they should.
final class Performance {
    private let output: OutputOptions
    private var scenes: [any PlayedScene] = []

    init(_ output: OutputOptions) { self.output = output }

    /// Plays the scenes, and ends the stage whatever happens.
    func play(until end: () async -> Void, _ scenes: () async throws -> Void) async throws {
        let result: Result<Void, any Error>
        do { result = .success(try await scenes()) } catch { result = .failure(error) }
        await end()
        try result.get()
    }

    /// Prints what is for people only.
    func say(_ text: String) {
        if output.json == .off { Terminal.print(text) }
    }

    func show(_ scene: any PlayedScene) {
        scenes.append(scene)
        say(Terminal.bold("\(scenes.count). \(scene.title)"))
        for line in scene.timeline.lines() { say(line) }
        for flaw in scene.flaws { say(Terminal.red("  ✗ \(flaw)")) }
        say("")
    }

    func end() throws {
        let failures = scenes.filter { !$0.flaws.isEmpty }.count
        output.write(
            .array(scenes.map(\.json)),
            text: failures == 0
                ? Terminal.green("✓ All \(scenes.count) went as they should.")
                : Terminal.red("✗ \(failures) of \(scenes.count) did not go as they should."))
        if failures > 0 { throw ExitCode.nothing }
    }
}
