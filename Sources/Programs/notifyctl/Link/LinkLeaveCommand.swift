import ArgumentParser
import LinkSettings
import NotifyClient
import NotifyJSON

struct LinkLeaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Take this device out of the link.",
        discussion: """
            Tells the other devices, removes what the broker keeps of this one, ends notifyd-mqtt, and deletes its state, except \
            the key for signing on channels, and the files with the password and the keys. The configuration is renamed to \
            mqtt.toml.old. Events stay here and there, and the current values too. It leaves the channels as well, and asks \
            before it does anything.

            Examples:
              notifyctl link leave
              notifyctl link leave --yes --silent
            """)

    @Flag(help: "Do not ask.")
    var yes = false
    @Flag(help: "Tell nobody, for a broker that does not come back. What it keeps of this device stays there.")
    var silent = false

    @OptionGroup var location: LinkFileOptions
    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        // What is wrong with it is told before anything is deleted.
        let settings = try location.files.read()
        try await bus.withQuery { query in
            _ = try await LinkInfo.ask(query)
            try confirm("Take this device out of the link of “\(Terminal.plain(settings.user))”")
            do throws(NotifyError) {
                _ = try await query.askLink("Leave", [.boolean(silent)], within: .seconds(25))
            } catch {
                guard error.name?.hasSuffix(".NotConnected") == true else { throw error }
                throw NotifyError(
                    error.code, "\(error.message) If the broker does not come back: notifyctl link leave --silent",
                    name: error.name)
            }
        }
        let (deleted, renamed) = try location.files.retire(settings)
        output.write(
            .object([("deleted", .array(deleted.map(JSON.string))), ("renamed", .string(renamed))]),
            text: (deleted.map { "Deleted \(Terminal.plain($0))." } + [
                "The configuration is now \(Terminal.plain(renamed)).", "This device has left the link.",
            ]).joined(separator: "\n"))
    }

    private func confirm(_ question: String) throws {
        if yes { return }
        guard StandardInput.isInteractive else {
            throw ValidationError("It asks before it leaves, and there is no terminal. With --yes it does not ask.")
        }
        Terminal.write("\(question)? [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard ["y", "yes"].contains(answer) else {
            Terminal.complain("Nothing was changed.")
            throw ExitCode.nothing
        }
    }
}
