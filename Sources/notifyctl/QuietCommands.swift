import ArgumentParser
import NotifyClient

struct MuteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mute",
        abstract: "Stop banners at or below a topic for a while.",
        discussion: """
            Events are heard as before. What is muted is not shown later.

            Examples:
              notifyctl mute /post/27 2h
              notifyctl mute / 10m
              notifyctl mute /post/27 0
            """)

    @Argument(help: "A topic, such as /post/27; / means every topic.", completion: Completion.prefixes)
    var topic: String
    @Argument(
        help: "How long, such as 10m or 2h; 0 ends the silence.", completion: .list(["10m", "1h", "8h", "1d", "0"]),
        transform: DurationArgument.parse)
    var duration: DurationArgument

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingFailures {
            try await bus.connect().mute(topic, for: duration.duration)
            output.write(
                .object([("topic", .string(topic)), ("milliseconds", .milliseconds(duration.duration))]), text: nil)
        }
    }
}

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop all banners.",
        discussion: """
            Events are heard as before. What comes until “resume” is not shown later.

            Examples:
              notifyctl pause; ./presentation; notifyctl resume
            """)

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws { try await setPaused(true, bus, output) }
}

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let banners appear again after “pause”.",
        discussion: """
            Topics that are muted stay so.

            Examples:
              notifyctl resume
            """)

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws { try await setPaused(false, bus, output) }
}

private func setPaused(_ flag: Bool, _ bus: BusOptions, _ output: OutputOptions) async throws {
    try await reportingFailures {
        try await bus.connect().setPaused(flag)
        output.write(.object([("paused", .bool(flag))]), text: nil)
    }
}
