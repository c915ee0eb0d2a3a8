import ArgumentParser
import NotifyClient

struct QuietCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quiet",
        abstract: "List the pause and the mutes, and when they end.",
        discussion: """
            Each ends by itself at its time. This does not start notifyd.

            Examples:
              notifyctl quiet
              notifyctl quiet --json=short | jq -r .topic
            """)

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingFailures {
            let quiet = try await bus.connect(starting: false).quiet()
            guard output.json == .off else {
                for quiet in quiet { output.write(quiet.json, text: nil) }
                return
            }
            if quiet.isEmpty { Terminal.print("Banners are on; no topic is muted.") }
            let now = Timestamp.now
            for line in Columns.lines(quiet.map { $0.cells(at: now) }, within: nil) { Terminal.print(line) }
        }
    }
}
