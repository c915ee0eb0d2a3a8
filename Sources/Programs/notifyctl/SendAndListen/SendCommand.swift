import ArgumentParser
import Glibc
import NotifyClient
import NotifyText

struct SendCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Publish an event and print its id.",
        usage: """
            notifyctl send TOPIC [TITLE [BODY]] [-f KEY=VALUE ...] [--wait]
            notifyctl send post ID [TITLE [BODY]]
            notifyctl send invite --session SESSION --from NAME [TITLE [BODY]]
            notifyctl send mate-finished --session SESSION --mate NAME [--distance METRES] [TITLE [BODY]]
            notifyctl send --user USER | --all-users …
            """,
        discussion: """
            The three short forms publish to /post/ID, /run/SESSION/invite and /run/SESSION/mate/NAME/finished.

            A field is a string unless it names its type: -f from=Mina -f distance:integer=5000. Types are string, \
            integer, number and boolean, or a letter of D-Bus: y b n q i u x t d s o g.

            Root sends to the session of a user, or of every user who is logged in. --all-users prints a line for \
            each, with the name first, and goes on where one fails; its exit code is that of the first failure.

            With --wait the outcome follows the id: claimed, shown, silent, … Exit code 1 if there is none in time.

            Examples:
              notifyctl send post 27 "Mina has answered" "Nice!" --wait
              notifyctl send mate-finished --session r1 --mate Mina --distance 5000
              notifyctl send /build/notifyd "It is green" --source ci --event-id 4711
              notifyctl send /build/notifyd "3 of 9 tests" --collapse progress
              notifyctl send /run/r1/mate/Mina -f distance:integer=1200 --retain
              make 2>&1 | tail -n 5 | notifyctl send /build/notifyd "It is done" -
              notifyctl send /download/1 "linux.iso" --progress 40 --icon folder-download
              notifyctl send /door "Somebody rings" --action open=Open --image door.jpg
              make || notifyctl send /build/notifyd "It is broken" --urgency critical
              sudo notifyctl send --all-users /machine/restart "A restart at 18:00"
            """)

    @Argument(
        help: ArgumentHelp("A topic, or post, invite or mate-finished.", valueName: "topic"),
        completion: Completion.places)
    var place: String
    @Argument(
        help: ArgumentHelp(
            "Title and body; if left out, those of the route. A body of - is read from standard input.",
            valueName: "text"))
    var words: [String] = []

    @Option(
        name: [.customShort("f", allowingJoined: true), .customLong("field")],
        help: "A field: KEY=VALUE or KEY:TYPE=VALUE.",
        transform: FieldArgument.parse)
    var fields: [FieldArgument] = []
    @Option(help: "The run, for invite and mate-finished.") var session: String?
    @Option(help: "Who invites, for invite.") var from: String?
    @Option(help: "Who finished, for mate-finished.") var mate: String?
    @Option(
        parsing: .unconditional, help: "How far, in metres, for mate-finished.",
        transform: NumberArgument.parse(0...Int64.max, "a whole number of metres"))
    var distance: Int64?

    @Flag(help: "Wait for the outcome and print it.") var wait = false
    @Option(
        parsing: .unconditional, help: "How long to wait for the outcome. (default: 10s)",
        transform: DurationArgument.parse)
    var timeout: Duration?

    @Option(help: "Where the event comes from; with --event-id it identifies duplicates.") var source: String?
    @Option(help: "The id of the event there.") var eventID: String?
    @Option(help: "Take the place of the earlier event with the same KEY at the same topic.") var collapse: String?
    @Option(
        parsing: .unconditional, help: "The time to claim the event, in whole milliseconds; at most 1m.",
        transform: DurationArgument.parse(.zero ... .seconds(60), in: .milliseconds(1)))
    var window: Duration?
    @Option(
        parsing: .unconditional,
        help: "How long the event is worth showing, in whole seconds; at most 28d. With 0 it expires at once.",
        transform: DurationArgument.parse(.zero ... .seconds(28 * 86400), in: .seconds(1)))
    var ttl: Duration?
    @Option(help: "low, normal or critical.") var urgency: Urgency?
    @Flag(help: "Never a banner for this event.") var noBanner = false
    @Flag(help: "You show the banner: notifyd decides, and its outcome says when to show it or to take it down.")
    var ownBanner = false
    @Flag(help: "Keep the event as the current value of its topic.") var retain = false
    @Flag(help: "Remove the current value of the topic instead of publishing an event.") var remove = false

    @OptionGroup(title: "Banner options") var appearance: AppearanceArguments

    @Flag(help: "As root: send to every user who has a session bus.") var allUsers = false
    @OptionGroup var recipient: SessionOptions
    @OptionGroup var common: CommonOptions

    enum Urgency: String, ExpressibleByArgument, CaseIterable { case low, normal, critical }

    func validate() throws {
        let request = try request()
        if allUsers, recipient.user != nil || bus.address != nil {
            throw ValidationError("--all-users goes to every user: leave out --user and --address.")
        }
        if (source == nil) != (eventID == nil) {
            let given = source == nil ? "--event-id" : "--source"
            throw ValidationError("\(given) alone identifies no duplicates: give both --source and --event-id.")
        }
        if timeout != nil, !wait {
            throw ValidationError("--timeout is how long to wait for the outcome: give --wait, or leave it out.")
        }
        if remove, let option = meaningless(in: request) {
            throw ValidationError(
                "--remove removes the value of the topic, and publishes no event: leave out \(option).")
        }
        if noBanner,
            let option = window.map({ _ in "--window" }) ?? urgency.map({ _ in "--urgency" })
                ?? (ownBanner ? "--own-banner" : appearance.firstGiven)
        {
            throw ValidationError("--no-banner leaves nothing to claim or to show: leave out \(option).")
        }
    }

    /// The first argument that is about an event, which a removal is not.
    private func meaningless(in request: Request) -> String? {
        let given = [
            ("the title", !request.title.isEmpty), ("the body", !request.body.isEmpty), ("-f", !fields.isEmpty),
            ("--wait", wait), ("--retain", retain), ("--collapse", collapse != nil), ("--window", window != nil),
            ("--ttl", ttl != nil), ("--urgency", urgency != nil), ("--no-banner", noBanner),
            ("--own-banner", ownBanner),
        ]
        return given.first { $0.1 }?.0 ?? appearance.firstGiven
    }

    private var patience: Duration { timeout ?? .seconds(10) }

    func run() async throws {
        var request = try request()
        do throws(NotifyError) {
            try TopicFilter.requireSlash(request.topic)
        } catch {
            throw NotifyError(error.code, error.message + " Short forms are post, invite and mate-finished.")
        }
        let user = try recipient.enter(bus)
        let isFromInput = request.body == "-"
        if isFromInput { request.body = try StandardInput.text(upTo: Self.longestBody) }
        if allUsers { return try await sendToAll(body: isFromInput ? request.body : nil) }
        if let obstacle = appearance.obstacleToImage {
            Terminal.complain("The banner will have no picture: \(Terminal.plain(obstacle)).")
        }
        let client = try await bus.connect()
        // Subscribes before publishing, so that the outcome is not missed.
        let waiting = wait ? try await OutcomeWaiter(client, at: request.topic) : nil
        let id = try await client.publish(
            request.topic, title: request.title, body: request.body, fields: request.fields, options: options)
        guard let waiting else {
            output.write(.object(user.members + [("id", .integer(id.rawValue))]), text: "\(id)")
            return
        }
        if output.json == .off { Terminal.print("\(id)") }
        guard var outcome = await waiting.outcome(of: id, within: patience) else {
            let state = await state(of: id, client).map { " " + $0 } ?? ""
            throw Complaint(.nothing, "There was no outcome of event \(id) within \(patience.shortText)." + state)
        }
        let claim = await claim(of: outcome, client)
        outcome.program = outcome.program ?? claim.program
        output.write(
            .object(user.members + [("id", .integer(id.rawValue))] + outcome.members),
            text: outcome.line(confirmed: claim.confirmed))
    }

    /// - Parameter body: what was read from standard input.
    private func sendToAll(body: String?) async throws {
        // Behind “--” there are texts.
        let arguments = CommandLine.arguments.dropFirst(2)
        let options = arguments.prefix { $0 != "--" }
        let style = output.json == .off ? [] : ["--json=\(output.json.rawValue)"]
        let others = options.filter { $0 != "--all-users" && $0 != "-j" }
        try await AllUsers(
            arguments: others + (output.isJSON ? style : []) + arguments.dropFirst(options.count),
            input: body, isJSON: output.json != .off,
            patience: (wait ? patience : .zero) + .seconds(60)
        ).run()
    }

    /// What the daemon knows about an event without an announced outcome; `nil` if it does not answer. The call does
    /// not start the daemon.
    private func state(of id: EventID, _ client: NotifyClient) async -> String? {
        let explanation: Explanation
        do throws(NotifyError) {
            explanation = try await client.notStarting.explain(id)
        } catch {
            return error.code == .notReachable ? "notifyd is not running." : nil
        }
        // A duplicate is not announced again.
        return (explanation.outcome.map { "It was already \($0): " } ?? "") + Terminal.plain(explanation.reason)
    }

    /// What the signal cannot say of the claim that decided an event: when a provisional one was confirmed, after
    /// publishing, and the program of a claimant that the daemon had not met before.
    private func claim(of outcome: Outcome, _ client: NotifyClient) async -> (confirmed: Duration?, program: String?) {
        let isConfirmed = outcome.form == "ClaimProvisionally"
        guard outcome.kind == .claimed, isConfirmed || outcome.program == nil,
            let explanation = try? await client.notStarting.explain(outcome.id)
        else { return (nil, nil) }
        let claims = explanation.claims.filter { $0.by == outcome.by }
        return (isConfirmed ? claims.last { $0.form == "Complete" }?.after : nil, claims.compactMap(\.program).last)
    }

    /// The longest body that is read: more than notifyd accepts, so that notifyd reports its limit.
    private static let longestBody = 64 << 10

    private var options: PublishOptions {
        let urgencies: [Urgency: PublishOptions.Urgency] = [.low: .low, .normal: .normal, .critical: .critical]
        return PublishOptions(
            source: source, eventID: eventID, retain: retain ? true : nil, remove: remove ? true : nil,
            timeToLive: ttl,
            urgency: urgency.flatMap { urgencies[$0] }, banner: noBanner ? false : nil, window: window,
            collapse: collapse, ownBanner: ownBanner ? true : nil, appearance: appearance.options)
    }

    // MARK: - Arguments

    struct Request {
        var topic: String
        var title: String
        var body: String
        var fields: Fields
    }

    func request() throws -> Request {
        var texts = words[...]
        var topic = place
        var known = Fields()
        switch place {
        case "post":
            guard let id = texts.popFirst() else { throw ValidationError("Which post? Write “send post 27”.") }
            topic = "/post/" + (try segment(id, "the id of a post"))
            try refuse("--session", "--from", "--mate", "--distance")
        case "invite":
            guard let session, let from else {
                throw ValidationError(
                    "An invitation takes --session and --from: “send invite --session r1 --from Mina”.")
            }
            topic = "/run/" + (try segment(session, "a session")) + "/invite"
            guard !from.isBlank else { throw ValidationError("Who invites? --from takes a name.") }
            known["from"] = .string(from)
            try refuse("--mate", "--distance")
        case "mate-finished":
            guard let session, let mate else {
                throw ValidationError("Write “send mate-finished --session r1 --mate Mina --distance 5000”.")
            }
            topic =
                "/run/" + (try segment(session, "a session")) + "/mate/" + (try segment(mate, "a mate")) + "/finished"
            known["distance"] = distance.map(Value.int64)
            try refuse("--from")
        default:
            try refuse("--session", "--from", "--mate", "--distance")
        }
        guard texts.count <= 2 else {
            throw ValidationError("There are too many arguments: put quotes around texts with spaces.")
        }
        for field in fields {
            guard known[field.key] == nil else { throw ValidationError("The field “\(field.key)” is given twice.") }
            known[field.key] = field.value
        }
        return Request(topic: topic, title: texts.first ?? "", body: texts.dropFirst().first ?? "", fields: known)
    }

    private func segment(_ text: String, _ what: String) throws -> String {
        if text.isBlank || text.utf8.contains(UInt8(ascii: "/")) {
            throw ValidationError(
                "“\(text)” cannot be \(what): it is one part of a topic, so not empty and without a slash.")
        }
        return text
    }

    private func refuse(_ options: String...) throws {
        let given = [
            "--session": session != nil, "--from": from != nil, "--mate": mate != nil, "--distance": distance != nil,
        ]
        if let option = options.first(where: { given[$0] == true }) {
            throw ValidationError("\(option) has no meaning with “send \(place)”. Other fields are given with -f.")
        }
    }
}

/// Waits for the outcome of an event that will be published.
struct OutcomeWaiter {
    private let outcomes = Mailbox<Outcome>()
    private let readers: [Task<Void, any Error>]

    init(_ client: NotifyClient, at topic: String) async throws(NotifyError) {
        let heardOutcomes = try await client.outcomes(at: topic)
        let heardEvents = try await client.events(at: topic)
        readers = [
            Task { [outcomes] in for try await outcome in heardOutcomes { outcomes.put(outcome) } },
            // A silent event gets no outcome: its announcement says that it is silent.
            Task { [outcomes] in
                for try await event in heardEvents where event.silence != nil {
                    outcomes.put(Outcome(id: event.id, topic: event.topic, kind: .silent))
                }
            },
        ]
    }

    func outcome(of id: EventID, within limit: Duration) async -> Outcome? {
        defer { for reader in readers { reader.cancel() } }
        return await outcomes.next(within: limit) { $0.id == id }
    }
}

extension UserSession? {
    /// For the output about one user of several.
    fileprivate var members: [(String, JSON)] { map { [("user", .string($0.name))] } ?? [] }
}

/// The options of `send` that describe the banner.
struct AppearanceArguments: ParsableArguments {
    @Option(help: "The application that the banner belongs to.") var app: String?
    @Option(help: "A name of the icon theme, or a file.", completion: .file()) var icon: String?
    @Option(help: "A picture on the banner.", completion: .file()) var image: String?
    @Option(help: "The kind of notification, such as im.received.") var category: String?
    @Option(help: "A name of the sound theme.") var sound: String?
    @Option(help: "The desktop file of the application, without .desktop.") var desktopEntry: String?
    @Option(
        parsing: .unconditional,
        help: "How long the banner stays up, in whole milliseconds, at most 24h; 0 means until it is closed.",
        transform: DurationArgument.parse(.zero ... .seconds(86400), in: .milliseconds(1)))
    var showFor: Duration?
    @Flag(help: "The notification server keeps no record of the banner.") var transient = false
    @Flag(help: "The banner stays up when one of its buttons is pressed.") var resident = false
    @Option(
        parsing: .unconditional, help: "A progress in percent, 0 to 100.",
        transform: NumberArgument.parse(0...100, "a percentage"))
    var progress: Int?
    @Option(
        name: .customLong("action"), help: ArgumentHelp("A button, at most 8.", valueName: "key=label"),
        transform: BannerOptions.Button.parse)
    var actions: [BannerOptions.Button] = []

    /// The first of these options that is given.
    var firstGiven: String? {
        let given = [
            ("--app", app != nil), ("--icon", icon != nil), ("--image", image != nil), ("--category", category != nil),
            ("--sound", sound != nil), ("--desktop-entry", desktopEntry != nil), ("--show-for", showFor != nil),
            ("--transient", transient), ("--resident", resident), ("--progress", progress != nil),
            ("--action", !actions.isEmpty),
        ]
        return given.first { $0.1 }?.0
    }

    var options: BannerOptions {
        BannerOptions(
            app: app, icon: icon.map(Self.iconPath), image: imagePath, category: category, sound: sound,
            desktopEntry: desktopEntry, timeout: showFor, isTransient: transient ? true : nil,
            isResident: resident ? true : nil, progress: progress, buttons: actions)
    }

    private var imagePath: String? { image.map(Self.path) }

    /// Why the file of the picture cannot be read; `nil` if it can. A `file://` address is not looked at.
    var obstacleToImage: String? {
        guard let imagePath, imagePath.hasPrefix("/"), access(imagePath, R_OK) != 0 else { return nil }
        return "\(imagePath): \(String(cString: strerror(errno)))"
    }

    /// A name of the icon theme has no slash.
    private static func iconPath(_ text: String) -> String { text.contains("/") ? path(text) : text }

    /// The daemon does not know the working directory.
    private static func path(_ text: String) -> String {
        guard !text.hasPrefix("/"), !text.contains(":") else { return text }
        guard let directory = getcwd(nil, 0) else { return text }
        defer { free(directory) }
        return "\(String(cString: directory))/\(text.hasPrefix("./") ? text.dropFirst(2) : text[...])"
    }
}

extension BannerOptions.Button {
    /// A button as an argument: `KEY=LABEL`.
    @Sendable fileprivate static func parse(_ text: String) throws -> BannerOptions.Button {
        guard let (key, label) = text.cut(at: "="), !key.isEmpty, !label.isEmpty else {
            throw ValidationError("“\(text)” is not a button. Write KEY=LABEL, such as accept=Join.")
        }
        return BannerOptions.Button(key: key, label: label)
    }
}
