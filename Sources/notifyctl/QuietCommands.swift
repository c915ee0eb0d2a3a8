import ArgumentParser
import NotifyClient

struct MuteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mute",
        abstract: "Stop banners at or below a topic for a while.",
        discussion: """
            Events are heard as before. What is muted is not shown later. 0 ends what was said of this very topic; what else \
            still holds its banners back is printed.

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
            let client = try await bus.connect()
            try await client.mute(topic, for: duration.duration)
            // A daemon of an earlier version does not know what is quiet.
            let rest = duration.duration == .zero ? ((try? await client.quiet()) ?? []).filter(concerns) : []
            var members: [(String, JSON)] = [
                ("topic", .string(topic)), ("milliseconds", .milliseconds(duration.duration)),
            ]
            if !rest.isEmpty { members.append(("quiet", .array(rest.map(\.json)))) }
            output.write(.object(members), text: rest.isEmpty ? nil : rest.map(sentence).joined(separator: "\n"))
        }
    }

    /// Whether it holds back some of the banners at or below the topic.
    private func concerns(_ quiet: Quiet) -> Bool {
        quiet.covers(topic) || Quiet(topic: topic, cause: .muted).covers(quiet.topic)
    }

    private func sentence(_ quiet: Quiet) -> String {
        let now = Moment.now
        if quiet.cause == .paused { return "All banners are \(Terminal.plain(quiet.words(at: now)))." }
        let verb = quiet.covers(topic) ? "\(topic) is still quiet: \(quiet.topic)" : "Below it \(quiet.topic)"
        return Terminal.plain(
            "\(verb) is muted" + (quiet.until.map { " until " + Moment($0).end(seenAt: now) } ?? "") + ".")
    }
}

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop all banners, for a while or until “resume”.",
        discussion: """
            Events are heard as before. What comes meanwhile is not shown later.

            Examples:
              notifyctl pause; ./presentation; notifyctl resume
              notifyctl pause 1h
            """)

    @Argument(
        help: "How long, such as 10m or 2h. (default: until “resume”)", completion: .list(["10m", "1h", "8h", "1d"]),
        transform: DurationArgument.parse)
    var duration: DurationArgument?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        guard let duration, duration.duration > .zero else { return try await setPaused(true, bus, output) }
        try await reportingFailures {
            try await bus.connect().pause(for: duration.duration)
            output.write(
                .object([("paused", .bool(true)), ("milliseconds", .milliseconds(duration.duration))]), text: nil)
        }
    }
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
