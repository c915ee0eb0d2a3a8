import ArgumentParser
import NotifyClient
import NotifyJSON

struct LinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Link your devices, so that one claim silences all of them, and show how the link is.",
        discussion: """
            The devices of a link share events and claims through an MQTT broker. “init” makes a link on the first device, “pair” \
            prints an invitation, and “join” takes it on each other device. Without a command it shows the broker and the \
            devices. notifyd-mqtt(8) has the rest.

            Examples:
              notifyctl link
              notifyctl link init --server mqtts://a.example --user mina --password-file -
              notifyctl link pair
              notifyctl link join --name phone
              notifyctl link test
            """,
        subcommands: [
            LinkInitCommand.self, LinkPairCommand.self, LinkJoinCommand.self, LinkTestCommand.self,
            LinkForgetCommand.self, LinkLeaveCommand.self, LinkResetCommand.self,
        ])

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await bus.withQuery { query in
            let info: LinkInfo
            do throws(NotifyError) {
                info = try await LinkInfo.ask(query)
            } catch {
                // What is wrong with its configuration may be why it is away.
                if error.name == NotifyError.linkIsAway { try LinkFiles(nil).check() }
                throw error
            }
            let bridge = BridgeInfo(
                name: LinkInfo.bridge,
                await query.properties(BridgeInfo.prefix + LinkInfo.bridge, BridgeInfo.path, BridgeInfo.interface))
            output.write(info.json(bridge), text: Self.text(info, bridge))
        }
    }

    private static func text(_ info: LinkInfo, _ bridge: BridgeInfo) -> String {
        let now = Timestamp.now
        let width = Terminal.size?.columns
        let deadLetters = bridge.deadLetters
        let names = [info.name, info.device].filter { !$0.isEmpty }.joined(separator: ", ")
        var lines = [Terminal.plain("This is \(names), of “\(info.user)” at \(info.broker).")]
        if info.lines.isEmpty {
            // It has not begun: notifyd is away, or a key cannot be read.
            lines += Columns.stackedLines([bridge.stateCells], within: width)
        }
        for line in info.lines {
            lines += Columns.stackedLines([line.cells], within: width)
            let devices = line.devices.map { $0.cells(at: now, isConnected: line.isConnected) }
            lines +=
                devices.isEmpty
                ? ["  no other device"] : Columns.stackedLines(devices, indentation: "  ", within: width)
        }
        if deadLetters > 0 {
            lines.append(
                "\(deadLetters) dead letter\(deadLetters == 1 ? "" : "s"): “notifyctl bridges mqtt --dead-letters” lists them."
            )
        }
        return lines.joined(separator: "\n")
    }
}

/// Where the configuration of the link is.
struct LinkFileOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: "The configuration, instead of mqtt.toml in the folder of the configuration.",
        completion: .file(extensions: ["toml"]))
    var path: String?

    var files: LinkFiles { LinkFiles(path) }
}

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

struct LinkTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Send a message to every device that is online and back, and print the times.",
        discussion: """
            Exit code 1 if a device does not answer in time, or none is online. Versions of notifyd-mqtt without this test do \
            not answer.

            Examples:
              notifyctl link test
              notifyctl link test --timeout 30s
            """)

    private static let times: ClosedRange<Duration> = .milliseconds(1)...Duration.seconds(60)

    @Option(
        parsing: .unconditional, help: "How long to wait for the answers. (default: 10s)",
        transform: DurationArgument.parse(times, in: .milliseconds(1)))
    var timeout: DurationArgument?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    private struct Answer {
        let line: LinkInfo.Line
        let device: String
        let name: String
        let time: Duration?
    }

    func run() async throws {
        try await bus.withQuery { query in
            let limit = timeout?.duration ?? .seconds(10)
            let milliseconds = UInt32(
                limit.components.seconds * 1000 + limit.components.attoseconds / 1_000_000_000_000_000)
            let reply = try await query.askLink("Test", [.uint32(milliseconds)], within: limit + .seconds(5))
            let answers = (reply.first?.elements ?? []).compactMap(\.entries).map { entries in
                Answer(
                    line: LinkInfo.Line(["line": entries["line"] ?? ""]), device: entries["device"]?.string ?? "",
                    name: entries["name"]?.string ?? "",
                    time: entries["round-trip"]?.integer().map { (time: Int64) in .microseconds(time) })
            }
            output.write(json(answers), text: text(answers, within: limit))
            guard !answers.isEmpty, answers.allSatisfy({ $0.time != nil }) else { throw ExitCode.nothing }
        }
    }

    private func json(_ answers: [Answer]) -> JSON {
        .object([
            (
                "devices",
                .array(
                    answers.map { answer in
                        .object([
                            ("line", .string(answer.line.name)), ("device", .string(answer.device)),
                            ("name", .string(answer.name)),
                            ("round-trip-microseconds", answer.time.map { .microseconds($0) } ?? .null),
                        ])
                    })
            )
        ])
    }

    private func text(_ answers: [Answer], within limit: Duration) -> String {
        guard !answers.isEmpty else { return "No other device is online." }
        let hasChannels = answers.contains { $0.line.title != "link" }
        let rows = answers.map { answer in
            [
                Cell(answer.name.isEmpty ? answer.device : answer.name, .bold, isImportant: true),
                answer.time.map { Cell($0.displayText, .green) } ?? Cell("no answer within \(limit.shortText)", .red),
                Cell(hasChannels ? answer.line.title : "", .dim),
            ]
        }
        return Columns.lines(rows, within: Terminal.size?.columns).joined(separator: "\n")
    }
}

/// How the link is: what `org.notifyd.Link1` of notifyd-mqtt says.
struct LinkInfo {
    static let bridge = "mqtt"
    static let interface = "org.notifyd.Link1"

    struct Device {
        let device: String
        let name: String
        let isOnline: Bool
        /// Microseconds since the epoch.
        let seen: Int64
        let isBehind: Bool
        /// Its clock less the one here.
        let clockOffset: Duration
        /// At the last test; `nil` while it is unknown.
        let roundTrip: Duration?
        let attended: UInt32

        /// What people call it.
        var title: String { name.isEmpty ? device : name }
    }

    struct Line {
        /// `mqtt`, or `mqtt:CHANNEL`.
        let name: String
        let state: String
        let detail: String
        let isSealed: Bool
        let backlog: UInt64
        let roundTrip: Duration?
        /// Messages of others that cannot be opened, while none of anybody can.
        let unopened: UInt64
        /// Messages on this connection that are not where, or of whom, they say.
        let forged: UInt64
        /// Whether more devices were heard than are taken.
        let isCrowded: Bool
        let devices: [Device]

        var isConnected: Bool { state == "connected" }
    }

    let device: String
    let name: String
    let broker: String
    let user: String
    let lines: [Line]

    /// All devices, each once.
    var devices: [Device] {
        var known: Set<String> = []
        return lines.flatMap(\.devices).filter { known.insert($0.device).inserted }
    }

    init(_ link: [String: Value], _ lines: [[String: Value]]) {
        device = link["device"]?.string ?? ""
        name = link["name"]?.string ?? ""
        broker = link["broker"]?.string ?? ""
        user = link["user"]?.string ?? ""
        self.lines = lines.map(Line.init)
    }

    /// - Throws: what is wrong if notifyd-mqtt does not run or does not answer.
    static func ask(_ query: BusQuery) async throws(NotifyError) -> LinkInfo {
        let answer = try await query.askLink("List")
        return LinkInfo(
            answer.first?.entries ?? [:], (answer.dropFirst().first?.elements ?? []).compactMap(\.entries))
    }

    /// A device by its name or its id.
    func find(_ text: String) throws -> Device {
        let found = devices.filter { $0.device == text }
        if let device = found.first { return device }
        let named = devices.filter { $0.name == text }
        if named.count > 1 {
            Terminal.complain(
                "Several devices are called \(Terminal.plain(text)): \(named.map(\.device).joined(separator: ", ")). "
                    + "Name one by its id.")
            throw ExitCode.badData
        }
        guard let device = named.first else {
            Terminal.complain("The link has no device \(Terminal.plain(text)). “notifyctl link” lists them.")
            throw ExitCode.nothing
        }
        return device
    }

    func json(_ bridge: BridgeInfo) -> JSON {
        .object([
            ("device", .string(device)), ("name", .string(name)), ("broker", .string(broker)), ("user", .string(user)),
            ("state", bridge.state.map(JSON.string) ?? .null), ("detail", .string(bridge.detail)),
            ("dead-letters", .integer(bridge.deadLetters)), ("lines", .array(lines.map(\.json))),
        ])
    }
}

extension LinkInfo.Device {
    init(_ entries: [String: Value]) {
        let time: Int64 = entries["round-trip"]?.integer() ?? 0
        self.init(
            device: entries["device"]?.string ?? "", name: entries["name"]?.string ?? "",
            isOnline: entries["online"]?.boolean ?? false, seen: entries["seen"]?.integer() ?? 0,
            isBehind: entries["behind"]?.boolean ?? false,
            clockOffset: .microseconds(entries["clock-offset"]?.integer() ?? Int64(0)),
            roundTrip: time > 0 ? .microseconds(time) : nil, attended: entries["attended"]?.integer() ?? 0)
    }

    var json: JSON {
        .object([
            ("device", .string(device)), ("name", .string(name)), ("online", .boolean(isOnline)),
            ("seen", .integer(seen)), ("behind", .boolean(isBehind)),
            ("clock-offset-microseconds", .microseconds(clockOffset)),
            ("round-trip-microseconds", roundTrip.map { .microseconds($0) } ?? .null), ("attended", .integer(attended)),
        ])
    }

    /// - Parameter isConnected: whether the line is; without it nobody knows who is offline.
    func cells(at now: Int64, isConnected: Bool) -> [Cell] {
        let heard = seen > 0 ? "heard " + Timestamp(seen).text(seenAt: now) : ""
        let absence = (isConnected ? ["offline"] : []) + (heard.isEmpty ? [] : [heard])
        var facts: [String] = []
        if let roundTrip { facts.append("round trip \(roundTrip.displayText)") }
        if isBehind { facts.append("events are missing") }
        if clockOffset > LinkCheck.clockTolerance || clockOffset < .zero - LinkCheck.clockTolerance {
            facts.append("its clock is \(clockOffset.distanceText)")
        }
        if attended > 0 { facts.append("\(attended) topic\(attended == 1 ? "" : "s") on screen") }
        return [
            Cell(title, .bold, isImportant: true),
            isOnline ? Cell("online", .green) : Cell(absence.joined(separator: ", ")),
            Cell(facts.joined(separator: ", ")), Cell(name.isEmpty ? "" : device, .dim),
        ]
    }
}

extension LinkInfo.Line {
    init(_ entries: [String: Value]) {
        let time: Int64 = entries["round-trip"]?.integer() ?? 0
        self.init(
            name: entries["line"]?.string ?? "", state: entries["state"]?.string ?? "",
            detail: entries["detail"]?.string ?? "", isSealed: entries["sealed"]?.boolean ?? false,
            backlog: entries["backlog"]?.integer() ?? 0, roundTrip: time > 0 ? .microseconds(time) : nil,
            unopened: entries["unopened"]?.integer() ?? 0, forged: entries["forged"]?.integer() ?? 0,
            isCrowded: entries["crowded"]?.boolean ?? false,
            devices: (entries["devices"]?.elements ?? []).compactMap(\.entries).map(LinkInfo.Device.init))
    }

    var isChannel: Bool { name.hasPrefix("mqtt:") }

    /// In people's words.
    var title: String {
        isChannel ? "channel \(name.dropFirst(5))" : "link"
    }

    var json: JSON {
        .object([
            ("line", .string(name)), ("state", .string(state)), ("detail", .string(detail)),
            ("sealed", .boolean(isSealed)), ("backlog", .integer(backlog)),
            ("round-trip-microseconds", roundTrip.map { .microseconds($0) } ?? .null),
            ("unopened", .integer(unopened)), ("forged", .integer(forged)), ("crowded", .boolean(isCrowded)),
            ("devices", .array(devices.map(\.json))),
        ])
    }

    private var colour: Terminal.Style {
        switch state {
        case "connected": unopened > 0 || forged > 0 || isCrowded ? .yellow : .green
        case "failed": .red
        default: .yellow
        }
    }

    var cells: [Cell] {
        var facts: [String] = []
        if let roundTrip { facts.append("round trip \(roundTrip.displayText)") }
        if backlog > 0 { facts.append("backlog \(backlog)") }
        return [
            Cell(title, .bold, isImportant: true), Cell(state, colour, isImportant: true),
            Cell(facts.joined(separator: ", ")), Cell(detail),
        ]
    }
}

extension Duration {
    /// Of a clock: `12.00 s ahead`, `3 min behind`.
    var distanceText: String {
        self < .zero ? "\((.zero - self).displayText) behind" : "\(displayText) ahead"
    }
}

extension BusQuery {
    /// Calls a method of the link.
    ///
    /// - Parameter limit: how long the method may take.
    func askLink(
        _ member: String, _ arguments: [Value] = [], within limit: Duration = BusQuery.timeout
    ) async throws(NotifyError) -> [Value] {
        do throws(NotifyError) {
            return try await connection.call(
                .call(
                    member, of: LinkInfo.interface, at: BridgeInfo.path, on: BridgeInfo.prefix + LinkInfo.bridge,
                    autoStart: false, arguments), timeout: limit
            ).arguments
        } catch {
            throw error.ofLink
        }
    }
}

extension NotifyError {
    /// The name of an error whose message is complete.
    static let linkIsAway = "org.notifyd.notifyctl.LinkIsAway"

    /// The error in terms of notifyd-mqtt: the usual advice is about notifyd.
    fileprivate var ofLink: NotifyError {
        switch code {
        case .notReachable where name != nil:
            NotifyError(
                .notReachable,
                "notifyd-mqtt does not run, which links devices. If this device has no link: “notifyctl link init”, or "
                    + "“notifyctl link join”. If it has one: systemctl --user enable --now notifyd-mqtt",
                name: Self.linkIsAway)
        case .timedOut:
            NotifyError(
                .timedOut, "notifyd-mqtt does not answer. Restart it: systemctl --user restart notifyd-mqtt",
                name: Self.hangs)
        case .refused where name == Self.unknownMethod:
            NotifyError(
                .refused,
                "The running notifyd-mqtt is older than this notifyctl. Start the new one: systemctl --user restart notifyd-mqtt",
                name: Self.linkIsAway)
        default: self
        }
    }
}
