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
            let info = try await LinkInfo.ask(query)
            let properties = await query.properties(
                BridgeInfo.prefix + LinkInfo.bridge, BridgeInfo.path, BridgeInfo.interface)
            let letters: UInt64 = properties["DeadLetters"]?.integer() ?? 0
            output.write(info.json(deadLetters: letters), text: Self.text(info, deadLetters: letters))
        }
    }

    private static func text(_ info: LinkInfo, deadLetters: UInt64) -> String {
        let now = Timestamp.now
        let width = Terminal.size?.columns
        var lines = [
            Terminal.plain("This is \(info.name), \(info.device), of “\(info.user)” at \(info.broker).")
        ]
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
