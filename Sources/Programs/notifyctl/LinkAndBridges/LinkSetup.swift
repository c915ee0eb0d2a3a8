import ArgumentParser
import Glibc
import Linking
import NotifyClient
import NotifyText
import StandardStreams
import TOMLTables
import UserFiles

struct LinkInitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Make a link on its first device.",
        discussion: """
            Writes the configuration of notifyd-mqtt, a new key, and the password for the broker, each to a file of \
            its own that only you can read. Files that exist already are not changed.

            Examples:
              notifyctl link init --server mqtts://a.example --user mina --password-file -
              notifyctl link init --server mqtt://localhost --user mina
            """)

    @Option(help: "The broker: mqtts://HOST or mqtts://HOST:PORT; mqtt:// on this machine.") var server: String
    @Option(help: "Your name at the broker.") var user: String
    @Option(help: "A file with the password for the broker; “-” reads standard input.", completion: .file())
    var passwordFile: String?

    @OptionGroup var device: LinkDeviceOptions

    func run() async throws {
        guard let server = LinkSettings.Server(server) else {
            throw ValidationError(
                "“\(Terminal.plain(server))” is not a broker. Write mqtts://HOST or mqtts://HOST:PORT, or "
                    + "mqtt://localhost for one on this machine: \(Authority.rule).")
        }
        let password = try passwordFile.map { try SecretText.read($0) }
        let invitation = Invitation(server: server, user: user, password: password, key: LinkKey.make())
        try device.take(invitation, next: "notifyctl link pair")
    }
}

/// How this device takes a link: its name there, and its files.
struct LinkDeviceOptions: ParsableArguments {
    @Option(help: "How people call this device. (default: the name of the machine)") var name: String?
    @Flag(help: "Allow mqtt:// to another machine. Everybody on the way can read the password.") var insecure = false

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
            invitation, name: name ?? HostName.short, allowsInsecure: insecure, authorities: certificates)
        let made = paths.map { "Made \(Terminal.plain($0))." }
        // One that runs still has the link that was here before.
        let start = "systemctl --user enable notifyd-mqtt && systemctl --user restart notifyd-mqtt"
        let steps = ["Now: \(start)", "Then: \(next)"]
        output.write(["files": paths], text: (made + steps).joined(separator: "\n"))
    }
}

struct LinkJoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Join the link of another device.",
        discussion: """
            Reads the line that “notifyctl link pair” has printed on the other device, from \
            standard input or from a file.

            Examples:
              notifyctl link join --name phone
              ssh desk notifyctl link pair | notifyctl link join
            """)

    @Argument(help: "A file with the invitation, instead of standard input.", completion: .file()) var file: String?

    @OptionGroup var device: LinkDeviceOptions

    func run() async throws {
        if file == nil, StandardInput.isInteractive { Terminal.complain("Paste the invitation, and press Return.") }
        let line = try file.map { try SecretText.read($0) } ?? StandardInput.line(upTo: Invitation.longestLine)
        try device.take(Invitation(line: line), next: "notifyctl link")
    }
}

struct LinkPairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Print the invitation for another device.",
        discussion: """
            The invitation is one line, which “notifyctl link join” takes on the other device. On a terminal it is \
            drawn as a QR code too, if the program qrencode is installed. Whoever has the line has the link: it holds \
            the password and the key.

            Examples:
              notifyctl link pair
              notifyctl link pair | ssh laptop notifyctl link join
            """)

    @Option(
        help: "A file with the key, where the configuration names a credential; “-” reads standard input.",
        completion: .file())
    var keyFile: String?
    @Option(help: "A file with the password, likewise.", completion: .file()) var passwordFile: String?

    @OptionGroup var location: LinkFileOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let settings = try location.files.read()
        let password = try secret(settings.password, passwordFile, option: "--password-file")
        let keyText = try secret(settings.lines[0].keys.first, keyFile, option: "--key-file")
        let key = try keyText.map { text in
            if let key = LinkKey.parse(text) { return key }
            throw Complaint(
                .badConfiguration,
                "The key of the link is not \(LinkKey.count) bytes in Base64. “notifyctl link "
                    + "init” makes one that is.")
        }
        let line = Invitation(server: settings.server, user: settings.user, password: password, key: key).line
        output.write(["invitation": line], text: line)
        if Terminal.isInteractive, output.json == .off { await drawCode(of: line) }
        if let path = settings.server.authorities {
            Terminal.complain(
                "The other device needs the certificates in \(Terminal.plain(path)) too; copy them there.")
        }
        if settings.server.isLocal {
            Terminal.complain(
                "The broker is on this machine, and the line says so: another machine looks for it on itself. For that "
                    + "one, write a name of this machine into 'server' of mqtt.toml first.")
        }
        Terminal.complain("Whoever has this line has the link. On the other device: notifyctl link join")
    }

    private func secret(_ credential: Credential?, _ path: String?, option: String) throws -> String? {
        if let path { return try SecretText.read(path) }
        guard let credential else { return nil }
        do throws(CredentialError) {
            if let text = try credential.read().text { return text }
        } catch {
            let advice =
                credential.isOfUnit ? " Only the unit can read its credentials: give the file with \(option)." : ""
            throw Complaint(.badConfiguration, "\(error).\(advice)")
        }
        throw Complaint(.badConfiguration, "\(credential) is not text in UTF-8.")
    }

    /// How long drawing may take.
    private static let patience: Duration = .seconds(5)

    /// By qrencode(1), which is of libqrencode.
    private func drawCode(of line: String) async {
        do throws(ProcessError) {
            let input = try ChildProcess.file(with: line)
            defer { close(input) }
            let process = try ChildProcess(
                "qrencode", ["-t", "UTF8", "-m", "2"], environment: ChildProcess.currentEnvironment,
                capturing: [1, 2], input: input)
            guard await process.waitForExit(within: Self.patience) == .code(0) else {
                throw ProcessError("qrencode failed: \(await process.allLines(of: 2)?.first ?? "it said nothing").")
            }
            Terminal.print((await process.allLines(of: 1) ?? []).joined(separator: "\n"))
        } catch {
            Terminal.complain("There is no QR code, for which the program qrencode is needed: \(error.description)")
        }
    }
}

/// What another device needs to join the link, on one line: `notifyd-link:` and JSON in Base64. It holds the secrets of
/// the link.
struct Invitation: Equatable {
    var server: LinkSettings.Server
    var user: String
    var password: String?
    /// The key that seals the link.
    var key: [UInt8]?

    private static let scheme = "notifyd-link:"
    private static let version = 1
    /// The longest line that is read, in bytes.
    static let longestLine = 8192

    var line: String {
        let members = JSON.present([
            "v": Self.version, "server": server.description, "user": user, "password": password,
            "key": key.map(Base64.encode),
        ])
        return Self.scheme + Base64.encode(JSON.object(members).bytes)
    }
}

extension Invitation {
    /// Reads a line. White space around it, and line breaks inside it, are from copying.
    init(line: String) throws {
        func flaw(_ text: String) -> Complaint { Complaint(.badData, text) }
        let text = String(line.unicodeScalars.filter { !$0.properties.isWhitespace })
        guard text.hasPrefix(Self.scheme) else {
            throw flaw(
                "This is not an invitation. One begins with “\(Self.scheme)”, as “notifyctl link pair” prints it.")
        }
        guard let bytes = Base64.decode(String(text.dropFirst(Self.scheme.count))) else {
            throw flaw("The invitation is not whole. Copy the line from its beginning to its end.")
        }
        let json: JSON
        do throws(JSONError) { json = try JSONParser.parse(bytes) } catch {
            throw flaw("The invitation is damaged: \(error). Copy the line again.")
        }
        guard json["v"]?.integer() == Self.version else {
            throw flaw("The invitation is from a newer notifyctl. Install that version here too.")
        }
        guard let server = json["server"]?.string.flatMap(LinkSettings.Server.init), let user = json["user"]?.string,
            !user.isEmpty
        else { throw flaw("The invitation names no broker or no user. Make a new one.") }
        let key = json["key"].map { $0.string.flatMap(Base64.decode) ?? [] }
        guard key == nil || key?.count == LinkKey.count else {
            throw flaw("The key in the invitation has not \(LinkKey.count) bytes. Make a new one.")
        }
        self.init(server: server, user: user, password: json["password"]?.string, key: key)
    }
}

/// Secrets come from files or from standard input, because others can read the arguments of a program.
enum SecretText {
    private static let maximumBytes = 64 << 10

    /// The text of a file without the final line break; `-` is standard input.
    static func read(_ path: String) throws -> String {
        if path == "-" {
            let text = try StandardInput.text(upTo: maximumBytes)
            guard !text.isEmpty else { throw ValidationError("Standard input holds no secret: it is empty.") }
            return text
        }
        let bytes: [UInt8]?
        do throws(FileKind.Failure) {
            bytes = try FileKind.read(path, atMost: maximumBytes + 1)
        } catch {
            throw ValidationError("\(Terminal.plain(path)) cannot be read: \(error)")
        }
        guard var bytes else { throw ValidationError("\(Terminal.plain(path)) does not exist.") }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard bytes.count <= maximumBytes, !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else {
            throw ValidationError(
                "\(Terminal.plain(path)) holds no secret: it is empty, too large or not text in UTF-8.")
        }
        return text
    }
}
