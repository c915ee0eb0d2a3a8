import ArgumentParser
import NotifyClient
import NotifyText

struct MuteCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "mute", abstract: "Stop banners at or below a topic for a while.",
        discussion: """
            Subscribers receive the events as before. Muted events are not shown later. 0 ends the mute of exactly \
            this topic, and a schedule of it until it begins again; what still covers it is printed. Routes with \
            break_through show their banners all the same; those at or below the topic are printed.

            Examples:
              notifyctl mute /post/27 2h
              notifyctl mute / until 9:00
              notifyctl mute /post/27 0
            """)

    @Argument(help: "A topic, such as /post/27; / means every topic.", completion: Completion.prefixes)
    var topic: String
    @Argument(
        help: "How long, such as 10m or 2h, or until when, such as “until 9:00”; 0 ends the mute.",
        completion: .list(["10m", "1h", "8h", "1d", "0"]), transform: DurationArgument.parseEnd())
    var duration: Duration

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try TopicFilter.requireSlash(topic)
        let client = try await bus.connect()
        let isEnd = duration == .zero
        if topic == "/", isEnd { try await refuseForDesktop(client) }
        try await client.mute(topic, for: duration)
        await complainIfNotStored(client)
        let rest = isEnd ? await client.quietNow().concerning(topic) : []
        let exceptions = isEnd ? [] : await ConfiguredRoutes.breakingThrough(at: topic)
        output.write(
            quiet: rest, exceptions: exceptions,
            ["topic": topic, "milliseconds": JSON.milliseconds(duration)],
            text: rest.sentences(about: topic))
    }
}

extension NotifyClient {
    /// What is quiet now; nothing with an older daemon, which does not have the property.
    func quietNow() async -> [Quiet] { (try? await quiet()) ?? [] }
}

extension OutputOptions {
    /// - Parameters:
    ///   - rest: what remains quiet.
    ///   - routes: the routes whose banners neither a pause nor a mute holds back, because they have `break_through`.
    ///   - text: about the rest.
    fileprivate func write(
        quiet rest: [Quiet] = [], exceptions routes: [String] = [],
        _ members: KeyValuePairs<String, (any JSONConvertible)?>, text: String? = nil
    ) {
        let exceptions = routes.isEmpty ? nil : routes
        write(
            .object(
                JSON.present(members)
                    + JSON.present(["quiet": rest.isEmpty ? nil : rest.map(\.json), "break-through": exceptions])),
            text: exceptions.map {
                "Banners still come from routes with break_through: \(Terminal.plain($0.joined(separator: ", ")))."
            } ?? text)
    }
}

extension [Quiet] {
    /// What is still quiet at a topic and below; `nil` if nothing is.
    fileprivate func sentences(about topic: String) -> String? {
        let now = Timestamp.now
        let sentences = map { quiet in
            if quiet.cause == .paused { return "All banners are \(Terminal.plain(quiet.words(at: now)))." }
            if quiet.cause == .desktop { return quiet.sentence(at: now) }
            let verb = quiet.covers(topic) ? "\(topic) is still quiet: " : "Below it "
            return Terminal.plain(verb) + quiet.sentence(at: now)
        }
        return sentences.isEmpty ? nil : sentences.joined(separator: "\n")
    }
}

struct PauseCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Stop all banners, for a while or until “resume”.",
        discussion: """
            Subscribers receive the events as before. Events during a pause are not shown later.

            Examples:
              notifyctl pause; ./presentation; notifyctl resume
              notifyctl pause 1h
              notifyctl pause until 9:00
            """)

    @Argument(
        help: "How long, such as 10m or 2h, or until when, such as “until 9:00”. (default: until “resume”)",
        completion: .list(["10m", "1h", "8h", "1d"]), transform: DurationArgument.parseEnd())
    var duration: Duration?

    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard duration != .zero else {
            throw ValidationError(
                "A pause of 0 seconds has no meaning. Leave the length out for a pause without an end; "
                    + "“notifyctl resume” ends a pause.")
        }
    }

    func run() async throws {
        let client = try await bus.connect()
        if let duration {
            try await client.pause(for: duration)
        } else {
            try await client.setPaused(true)
        }
        await complainIfNotStored(client)
        output.write(
            exceptions: await ConfiguredRoutes.breakingThrough(at: "/"),
            ["paused": true, "milliseconds": duration.map(JSON.milliseconds)])
    }
}

struct ResumeCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let banners appear again after “pause”, or at a topic.",
        discussion: """
            Without a topic it ends the pause. With one it ends the mute of exactly this topic, and a schedule of it \
            until it begins again; / ends the pause too. What remains is printed.

            Examples:
              notifyctl resume
              notifyctl resume /post/27
              notifyctl resume /
            """)

    @Argument(help: "A topic, such as /post/27; / means what is quiet everywhere.", completion: Completion.quietTopics)
    var topic: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        if let topic { try TopicFilter.requireSlash(topic) }
        let client = try await bus.connect()
        let isEverything = topic ?? "/" == "/"
        if isEverything { try await refuseForDesktop(client) }
        if let topic { try await client.mute(topic, for: .zero) }
        if isEverything { try await client.setPaused(false) }
        await complainIfNotStored(client)
        let rest = await client.quietNow()
        guard let topic else {
            let now = Timestamp.now
            let text = rest.map { "Still quiet: " + $0.sentence(at: now) }.joined(separator: "\n")
            return output.write(quiet: rest, ["paused": false], text: text.isEmpty ? nil : text)
        }
        let below = rest.concerning(topic)
        output.write(quiet: below, ["topic": topic], text: below.sentences(about: topic))
    }
}

extension Quiet {
    /// A mute, a schedule or the desktop's own, and its end.
    fileprivate func sentence(at now: Int64) -> String {
        if cause == .desktop { return "Banners are \([self].desktop ?? "")." }
        let state = cause == .schedule ? "quiet by a schedule" : "muted"
        return Terminal.plain(
            "\(topic) is \(state)\(end(at: now)); “notifyctl resume \(topic)” ends that.")
    }
}

struct QuietCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "quiet", abstract: "List the pause, the mutes and the schedules, and when they end.",
        discussion: """
            Each ends by itself at its time; “resume” ends it before. The “do not disturb” of the desktop is listed \
            too, and is switched off there. This does not start notifyd.

            Examples:
              notifyctl quiet
              notifyctl quiet --json=short | jq -r .topic
            """)

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let quiet = try await bus.connect(starting: false, reading: true).quiet()
        let now = Timestamp.now
        output.write(
            list: quiet.map(\.json),
            lines: quiet.isEmpty
                ? ["Banners are on; no topic is muted."] : Columns.lines(quiet.map { $0.cells(at: now) }, within: nil))
    }
}

/// Nothing but the desktop's own “do not disturb” holds back all banners: notifyd follows it, and does not end it.
private func refuseForDesktop(_ client: NotifyClient) async throws {
    let all = await client.quietNow().filter { $0.topic == "/" }
    guard all.map(\.cause) == [.desktop] else { return }
    throw NotifyError(.refused, all[0].sentence(at: Timestamp.now))
}

/// Warns if the change may not be on disk: it is in force, but may be lost when the daemon ends.
func complainIfNotStored(_ client: NotifyClient) async {
    guard let words = try? await client.degradation(), !words.isEmpty else { return }
    Terminal.complain("this may not outlive a restart: \(Terminal.plain(words)).")
}

extension Quiet {
    /// Such as `paused until 14:05`, `/post until 14:05` or `/ until 07:00 (schedule)`.
    func words(at now: Int64 = Timestamp.now) -> String {
        let subject = cause == .paused ? "paused" : topic
        return subject + end(at: now) + ([.paused, .muted].contains(cause) ? "" : " (\(cause))")
    }

    /// Such as ` until 14:05`; empty if it does not end by itself.
    func end(at now: Int64) -> String { until.map { " until " + Timestamp($0).end(seenAt: now) } ?? "" }

    var json: JSON { ["topic": topic, "until": until, "cause": cause.rawValue] }

    func cells(at now: Int64) -> [Cell] {
        let end =
            until.map { "until " + Timestamp($0).end(seenAt: now) }
            ?? (cause == .desktop ? "until it is switched off there" : "until “notifyctl resume”")
        return [Cell(topic, .bold), Cell(end), Cell(cause.rawValue, .dim)]
    }
}

extension [Quiet] {
    private static var named: Int { 3 }

    /// What covers a topic or a topic below it.
    func concerning(_ topic: String) -> [Quiet] {
        filter { $0.covers(topic) || Quiet(topic: topic, cause: .muted).covers($0.topic) }
    }

    /// Whether there is a mute of exactly this topic.
    func isMuted(_ topic: String) -> Bool { contains { $0.cause == .muted && $0.topic.utf8.elementsEqual(topic.utf8) } }

    var pause: Quiet? { first { $0.cause == .paused } }

    /// The desktop's own “do not disturb”, and where it is switched off; `nil` while it is off.
    var desktop: String? {
        guard contains(where: { $0.cause == .desktop }) else { return nil }
        return
            "held back by “do not disturb” of the desktop: switch it off there, in its settings or with the command of "
            + "its notification server, such as “dunstctl set-paused false”"
    }

    /// The mutes and schedules as text, such as `/post until 14:05, /run until 15:00`; `nil` without any.
    func mutes() -> String? {
        let mutes = filter { $0.cause != .paused && $0.cause != .desktop }
        guard !mutes.isEmpty else { return nil }
        let rest = mutes.count - Self.named
        let words = mutes.prefix(Self.named).map { $0.words() }
        return (words + (rest > 0 ? ["\(rest) more"] : [])).joined(separator: ", ")
    }
}

struct SnoozeCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "snooze", abstract: "Let the banner of an event, or the banners of a topic, come back later.",
        discussion: """
            The banner is closed now. It comes back at its time unless the event is claimed or read before. With a \
            topic, the newest 100 unread events at or below it that were shown are snoozed. Prints the ids.

            Examples:
              notifyctl snooze last 10m
              notifyctl snooze 1795231492321669 1d
              notifyctl snooze /post until 18:30
            """)

    /// Events of a topic that are snoozed at once.
    private static let events = 100
    private static let denied = "org.notifyd.Router1.Error.AccessDenied"

    @Argument(
        help: ArgumentHelp(
            "The id of an event that was shown or muted, “last”, or a topic such as /post/27.", valueName: "id-or-topic"
        ),
        completion: Completion.prefixesAndEvents, transform: Target.parse)
    var target: Target
    @Argument(
        help: "How long, from 1m to 7d, or until when, such as “until 9:00”.",
        completion: .list(["10m", "1h", "8h", "1d"]),
        transform: DurationArgument.parseEnd(.seconds(60)...(.seconds(7 * 24 * 3600))))
    var duration: Duration

    @OptionGroup var common: CommonOptions

    enum Target: Sendable {
        case event(EventArgument)
        case topic(String)

        static func parse(_ text: String) throws -> Target {
            if text.hasPrefix("/") { return .topic(text) }
            if text == "last" || UInt64(text) != nil { return .event(try EventArgument.parse(text)) }
            throw ValidationError("“\(text)” is neither the id of an event, nor “last”, nor a topic such as /post/27.")
        }
    }

    func run() async throws {
        let client = try await bus.connect()
        switch target {
        case .event(let event): try await snooze(try await event.find(client), client)
        case .topic(let topic):
            let shown = try await client.inbox(topic, limit: Self.events).filter { $0.outcome == .shown }
            guard !shown.isEmpty else {
                throw Complaint(.nothing, "No unread event at or below \(topic) was shown.")
            }
            var denial: NotifyError?
            for entry in shown {
                do {
                    try await snooze(entry.id, client)
                } catch let error as NotifyError where error.name == Self.denied {
                    denial = error
                }
            }
            // The others are snoozed all the same.
            if let denial { throw denial }
        }
        await complainIfNotStored(client)
    }

    private func snooze(_ id: EventID, _ client: NotifyClient) async throws {
        try await client.snooze(id, for: duration)
        output.write(["id": id.rawValue, "milliseconds": JSON.milliseconds(duration)], text: "\(id)")
    }
}
