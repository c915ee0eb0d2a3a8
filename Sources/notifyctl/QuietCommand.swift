import ArgumentParser
import NotifyClient

struct QuietCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quiet",
        abstract: "List what holds banners back, until when and why.",
        discussion: """
            The pause and every mute end by themselves, each at its own time. It starts nothing.

            Examples:
              notifyctl quiet
              notifyctl quiet --json=short | jq -r .topic
            """)

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingFailures {
            let quiet = try await bus.connect().quiet()
            guard output.json == .off else {
                for quiet in quiet { output.write(quiet.json, text: nil) }
                return
            }
            if quiet.isEmpty { Terminal.print("Banners are on; no topic is muted.") }
            let now = Moment.now
            for line in Columns.lines(quiet.map { $0.cells(at: now) }, within: nil) { Terminal.print(line) }
        }
    }
}
