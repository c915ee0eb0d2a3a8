import ArgumentParser

struct LinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Link your devices, so that one claim silences all of them.",
        discussion: """
            The devices of a link share events and claims through an MQTT broker. “init” makes a link on the first device, “pair” \
            prints an invitation, and “join” takes it on each other device. notifyd-mqtt(8) has the rest.

            Examples:
              notifyctl link init --server mqtts://a.example --user mina --password-file -
              notifyctl link pair
              notifyctl link join --name phone
            """,
        subcommands: [LinkInitCommand.self, LinkPairCommand.self, LinkJoinCommand.self])
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
