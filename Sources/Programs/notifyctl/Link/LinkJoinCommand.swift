import ArgumentParser
import NotifyClient

struct LinkJoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join the link of another device.",
        discussion: """
            Reads the line that “notifyctl link pair” has printed on the other device, from standard input or from a file.

            Examples:
              notifyctl link join --name phone
              ssh desk notifyctl link pair | notifyctl link join
            """)

    @Argument(help: "A file with the invitation, instead of standard input.", completion: .file())
    var file: String?

    @OptionGroup var device: LinkDeviceOptions

    func run() async throws {
        if file == nil, StandardInput.isInteractive { Terminal.complain("Paste the invitation, and press Return.") }
        let line = try file.map { try SecretText.read($0) } ?? StandardInput.line(upTo: Invitation.longestLine)
        let invitation: Invitation
        do throws(InvitationError) {
            invitation = try Invitation(line: line)
        } catch {
            Terminal.complain(error.advice)
            throw ExitCode.badData
        }
        try device.take(invitation, next: "notifyctl link")
    }
}
