import ArgumentParser
import NotifyClient
import NotifyJSON

struct LinkForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Drop a device that does not come back.",
        discussion: """
            Deletes what is known of the device here, and the messages of it that the broker keeps. Its events stay. Other \
            devices drop it after 30 days. A device that is online is not dropped, because it would be back at once. Exit code 1 \
            if there is no such device.

            Examples:
              notifyctl link forget phone
              notifyctl link forget 0123456789abcdef0123456789abcdef
            """)

    @Argument(help: "The name of the device, or its id.", completion: Completion.devices)
    var device: String

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await bus.withQuery { query in
            let found = try await LinkInfo.ask(query).find(device)
            _ = try await query.askLink("ForgetDevice", [.string(found.device)])
            output.write(
                .object([("device", .string(found.device)), ("name", .string(found.name))]),
                text: "\(Terminal.plain(found.title)) is forgotten.")
        }
    }
}
