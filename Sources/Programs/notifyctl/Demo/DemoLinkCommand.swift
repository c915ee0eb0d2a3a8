import ArgumentParser
import NotifyClient
import NotifyRehearsal

struct DemoLinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Play the story of three linked devices and a broker that is killed, and draw what happened.",
        discussion: """
            Starts three devices on this machine, each with a message bus, a notifyd, a notifyd-mqtt and a stand-in for the desktop, \
            and the MQTT broker mosquitto. It needs no desktop and no network, and touches nothing of yours. Every time is \
            measured. Exit code 1 if the story did not go as it should.

            Examples:
              notifyctl demo link
            """)

    @Option(
        help: "The notifyd to play with, instead of the one beside notifyctl or in $PATH.", completion: .file())
    var daemon: String?
    @Option(help: "The notifyd-mqtt to play with, likewise.", completion: .file())
    var bridge: String?

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let programs = LinkedDevice.Programs(
            daemon: try daemon ?? Daemon.locate(),
            bridge: try bridge ?? Daemon.locate("notifyd-mqtt", option: "--bridge"))
        let performance = Performance(output)
        try await withBroker { broker in
            let stage = try await LinkStage(broker, programs)
            do {
                let window = try await stage.desk.client.defaultWindow()
                performance.say(introduction(window))
                try await LinkStory(stage: stage, window: window).scenes { performance.show($0) }
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
        Three devices of one user, linked by an MQTT broker that can read nothing. Each has a notifyd of its own, which waits
        \(window.shortText) for a claim before it shows a banner. All times are measured, from the publisher's call.

          P published   h heard   C claimed here   c claimed elsewhere   ==] the window for claims   B### banner   x taken down
          X the broker is killed   ^ it is there again   o connected to it   A everything is there

        """
    }
}
