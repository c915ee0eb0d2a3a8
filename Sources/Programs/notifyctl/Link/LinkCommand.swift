import ArgumentParser
import NotifyClient

struct LinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Link your devices, so that one claim silences all of them, and show how the link is.",
        discussion: """
            The devices of a link share events and claims through an MQTT broker. “init” makes a link on the first device, “pair” \
            prints an invitation, and “join” takes it on each other device. Without a command it shows the broker and the \
            devices. notifyd-mqtt(8) has the rest.

            Examples:
              notifyctl link
              notifyctl link init --server mqtts://a.example --user mina --password-file -
              notifyctl link pair
              notifyctl link join --name phone
              notifyctl link test
            """,
        subcommands: [
            LinkInitCommand.self, LinkPairCommand.self, LinkJoinCommand.self, LinkTestCommand.self,
            LinkForgetCommand.self, LinkLeaveCommand.self, LinkResetCommand.self,
        ])

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await bus.withQuery { query in
            let info: LinkInfo
            do throws(NotifyError) {
                info = try await LinkInfo.ask(query)
            } catch {
                // What is wrong with its configuration may be why it is away.
                if error.name == NotifyError.linkIsAway { try LinkFiles(nil).check() }
                throw error
            }
            let bridge = BridgeInfo(
                name: LinkInfo.bridge,
                await query.properties(BridgeInfo.prefix + LinkInfo.bridge, BridgeInfo.path, BridgeInfo.interface))
            output.write(info.json(bridge), text: Self.text(info, bridge))
        }
    }

    private static func text(_ info: LinkInfo, _ bridge: BridgeInfo) -> String {
        let now = Timestamp.now
        let width = Terminal.size?.columns
        let deadLetters = bridge.deadLetters
        let names = [info.name, info.device].filter { !$0.isEmpty }.joined(separator: ", ")
        var lines = [Terminal.plain("This is \(names), of “\(info.user)” at \(info.broker).")]
        if info.lines.isEmpty {
            // It has not begun: notifyd is away, or a key cannot be read.
            lines += Columns.stackedLines([bridge.stateCells], within: width)
        }
        for line in info.lines {
            lines += Columns.stackedLines([line.cells], within: width)
            let devices = line.devices.map { $0.cells(at: now, isConnected: line.isConnected) }
            lines +=
                devices.isEmpty
                ? ["  no other device"] : Columns.stackedLines(devices, indentation: "  ", within: width)
        }
        if deadLetters > 0 {
            lines.append(
                "\(deadLetters) dead letter\(deadLetters == 1 ? "" : "s"): “notifyctl bridges mqtt --dead-letters” lists them."
            )
        }
        return lines.joined(separator: "\n")
    }
}

/// Where the configuration of the link is.
struct LinkFileOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: "The configuration, instead of mqtt.toml in the folder of the configuration.",
        completion: .file(extensions: ["toml"]))
    var path: String?

    var files: LinkFiles { LinkFiles(path) }
}
