import ArgumentParser
import ChildProcesses
import Credentials
import LinkSettings
import NotifyJSON
import StandardStreams

struct LinkPairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair",
        abstract: "Print the invitation for another device.",
        discussion: """
            The invitation is one line, which “notifyctl link join” takes on the other device. On a terminal it is drawn as a QR \
            code too, if the program qrencode is installed. Whoever has the line has the link: it holds the password and the key.

            Examples:
              notifyctl link pair
              notifyctl link pair | ssh laptop notifyctl link join
            """)

    @Option(
        help: "A file with the key, where the configuration names a credential; “-” reads standard input.",
        completion: .file())
    var keyFile: String?
    @Option(help: "A file with the password, likewise.", completion: .file())
    var passwordFile: String?

    @OptionGroup var location: LinkFileOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let settings = try location.files.read()
        let password = try secret(settings.password, passwordFile, option: "--password-file")
        let keyText = try secret(settings.lines[0].keys.first, keyFile, option: "--key-file")
        let key = try keyText.map { text in
            guard let key = LinkKey.parse(text) else {
                Terminal.complain(
                    "The key of the link is not \(LinkKey.count) bytes in Base64. “notifyctl link init” makes one that is."
                )
                throw ExitCode.badConfiguration
            }
            return key
        }
        let line = Invitation(server: settings.server, user: settings.user, password: password, key: key).line
        output.write(.object([("invitation", .string(line))]), text: line)
        guard Terminal.isInteractive, output.json == .off else { return }
        await drawCode(of: line)
        if let path = settings.server.authorities {
            Terminal.complain(
                "The other device needs the certificates in \(Terminal.plain(path)) too; copy them there.")
        }
        if settings.server.isLocal {
            Terminal.complain(
                "The broker is on this machine, and the line says so: another machine looks for it on itself. For that one, write "
                    + "a name of this machine into 'server' of mqtt.toml first.")
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
            Terminal.complain("\(error).\(advice)")
            throw ExitCode.badConfiguration
        }
        Terminal.complain("\(credential) is no text in UTF-8.")
        throw ExitCode.badConfiguration
    }

    /// By qrencode(1), which is of libqrencode.
    private func drawCode(of line: String) async {
        do throws(ProcessError) {
            let lines = try await QRCode.lines(of: line)
            Terminal.write(lines.joined(separator: "\n") + "\n")
        } catch {
            Terminal.complain("There is no QR code, for which the program qrencode is needed: \(error.description)")
        }
    }
}
