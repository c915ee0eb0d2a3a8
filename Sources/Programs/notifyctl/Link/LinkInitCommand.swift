import ArgumentParser
import LinkSettings
import NotifyJSON
import NotifyText

struct LinkInitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make a link on its first device.",
        discussion: """
            Writes the configuration of notifyd-mqtt, a new key, and the password for the broker, each to a file of its own that \
            only you can read. Files that exist already are not changed.

            Examples:
              notifyctl link init --server mqtts://a.example --user mina --password-file -
              notifyctl link init --server mqtt://localhost --user mina
            """)

    @Option(help: "The broker: mqtts://HOST or mqtts://HOST:PORT; mqtt:// on this machine.")
    var server: String
    @Option(help: "Your name at the broker.")
    var user: String
    @Option(help: "A file with the password for the broker; “-” reads standard input.", completion: .file())
    var passwordFile: String?

    @OptionGroup var device: LinkDeviceOptions

    func run() async throws {
        guard let server = LinkSettings.Server(server) else {
            throw ValidationError(
                "“\(Terminal.plain(server))” is no broker. Write mqtts://HOST or mqtts://HOST:PORT, or mqtt://localhost for one "
                    + "on this machine: \(Authority.rule).")
        }
        let password = try passwordFile.map { try SecretText.read($0) }
        let invitation = Invitation(server: server, user: user, password: password, key: LinkKey.make())
        try device.take(invitation, next: "notifyctl link pair")
    }
}

/// How this device takes a link: its name there, and its files.
struct LinkDeviceOptions: ParsableArguments {
    @Option(help: "How people call this device. (default: the name of the machine)")
    var name: String?
    @Flag(help: "Allow mqtt:// to another machine. Everybody on the way can read the password.")
    var insecure = false

    @Option(
        help: "A file with the certificates of your own authority, in PEM, where it has signed that of the broker.",
        completion: .file())
    var authorities: String?

    @OptionGroup var location: LinkFileOptions
    @OptionGroup var output: OutputOptions

    /// Makes the files, and says which they are and what comes next.
    func take(_ invitation: Invitation, next: String) throws {
        let certificates = try authorities.map { path in
            // A copy: the sandbox of notifyd-mqtt has no home.
            let text = path == "-" ? "" : try SecretText.read(path)
            guard text.contains("-----BEGIN CERTIFICATE-----") else {
                throw ValidationError("\(Terminal.plain(path)) holds no certificate in PEM.")
            }
            return text
        }
        let paths = try location.files.write(
            invitation, name: name ?? HostName.own, allowsInsecure: insecure, authorities: certificates)
        let made = paths.map { "Made \(Terminal.plain($0))." }
        // One that runs still has the link that was here before.
        let start = "systemctl --user enable notifyd-mqtt && systemctl --user restart notifyd-mqtt"
        let steps = ["Now: \(start)", "Then: \(next)"]
        output.write(
            .object([("files", .array(paths.map(JSON.string)))]), text: (made + steps).joined(separator: "\n"))
    }
}
