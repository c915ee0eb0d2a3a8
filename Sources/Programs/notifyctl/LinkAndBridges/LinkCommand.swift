import ArgumentParser
import NotifyClient
import NotifyText

struct LinkCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Link your devices, so that one claim silences all of them, and show how the link is.",
        discussion: """
            The devices of a link share events and claims through an MQTT broker. “init” makes a link on the first \
            device, “pair” prints an invitation, and “join” takes it on each other device. Without a command it shows \
            the broker and the devices. notifyd-mqtt(8) has the rest.

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

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await bus.withQuery { query in
            let info: LinkInfo
            do {
                info = try await LinkInfo.ask(query)
            } catch let error as Complaint {
                // What is wrong with its configuration may be why it is away.
                if error.code != .nothing { _ = try LinkFiles(nil).settings?.get() }
                throw error
            }
            let bridge = BridgeInfo(name: LinkInfo.bridge, await query.properties(.bridge(LinkInfo.bridge)))
            output.write(info.json(bridge), text: Self.text(info, bridge))
        }
    }

    private static func text(_ info: LinkInfo, _ bridge: BridgeInfo) -> String {
        let now = Timestamp.now
        let width = Terminal.size?.columns
        let names = [info.name, info.device].filter { !$0.isEmpty }.joined(separator: ", ")
        var lines = [Terminal.plain("This is \(names), of “\(info.user)” at \(info.broker).")]
        if info.lines.isEmpty {
            // It has not begun: notifyd is away, or a key cannot be read.
            lines += Columns.stackedLines([bridge.stateCells], within: width)
        }
        for line in info.lines {
            lines += Columns.stackedLines([line.cells], within: width)
            let devices = line.devices.map { $0.linkCells(at: now, isConnected: line.isConnected) }
            lines +=
                devices.isEmpty
                ? ["  no other device"] : Columns.stackedLines(devices, indentation: "  ", within: width)
        }
        if bridge.deadLetters > 0 {
            lines.append(
                bridge.deadLetters.counting("dead letter") + ": “notifyctl bridges mqtt --dead-letters” lists them.")
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

struct LinkForgetCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Drop a device that does not come back.",
        discussion: """
            Deletes what is known about the device here, and its messages at the broker. Its events stay. Other \
            devices drop it after 30 days. A device that is online is not dropped, because it would be back at once. \
            Exit code 1 if there is no such device.

            Examples:
              notifyctl link forget phone
              notifyctl link forget 0123456789abcdef0123456789abcdef
            """)

    @Argument(help: "The name of the device, or its id.", completion: Completion.devices) var device: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await bus.withQuery { query in
            let found = try await LinkInfo.ask(query).find(device)
            _ = try await query.askLink("ForgetDevice", [.string(found.device)])
            output.write(
                ["device": found.device, "name": found.name],
                text: "\(Terminal.plain(found.title)) is forgotten.")
        }
    }
}

struct LinkTestCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Send a message to every device that is online and back, and print the times.",
        discussion: """
            Exit code 1 if a device does not answer in time, or none is online. Versions of notifyd-mqtt without this \
            test do not answer.

            Examples:
              notifyctl link test
              notifyctl link test --timeout 30s
            """)

    private static let times: ClosedRange<Duration> = .milliseconds(1)...Duration.seconds(60)

    @Option(
        parsing: .unconditional, help: "How long to wait for the answers. (default: 10s)",
        transform: DurationArgument.parse(times, in: .milliseconds(1)))
    var timeout: Duration?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await bus.withQuery { query in
            let limit = timeout ?? .seconds(10)
            let reply = try await query.askLink("Test", [.milliseconds(limit)], within: limit + .seconds(5))
            let answers = (reply.first?.elements ?? []).compactMap(\.entries)
            let devices = answers.map { answer -> JSON in
                [
                    "line": answer.text("line"), "device": answer.text("device"), "name": answer.text("name"),
                    "round-trip-microseconds": answer["round-trip"],
                ]
            }
            output.write(["devices": devices], text: text(answers, within: limit))
            guard !answers.isEmpty, answers.allSatisfy({ $0["round-trip"] != nil }) else { throw ExitCode.nothing }
        }
    }

    private func text(_ answers: [[String: Value]], within limit: Duration) -> String {
        guard !answers.isEmpty else { return "No other device is online." }
        let titles = answers.map { LinkInfo.Line(entries: $0).title }
        let hasChannels = titles.contains { $0 != "link" }
        let rows = zip(answers, titles).map { answer, title in
            [
                Cell(ListedDevice(entries: answer).title, .bold, isImportant: true),
                answer["round-trip"]?.integer().map { (time: Int64) in
                    Cell(Duration.microseconds(time).displayText, .green)
                } ?? Cell("no answer within \(limit.shortText)", .red),
                Cell(hasChannels ? title : "", .dim),
            ]
        }
        return Columns.lines(rows, within: Terminal.size?.columns).joined(separator: "\n")
    }
}

/// The state of the link: the answers of `org.notifyd.Link1` of notifyd-mqtt.
struct LinkInfo {
    static let bridge = "mqtt"

    /// A link, or a channel.
    struct Line {
        let entries: [String: Value]

        /// `mqtt`, or `mqtt:CHANNEL`.
        var name: String { entries.text("line") }
        var isConnected: Bool { entries.text("state") == "connected" }
        var isSealed: Bool { entries.flag("sealed") }
        /// Messages of others that cannot be opened, while none of anybody can.
        var unopened: UInt64 { entries.number("unopened") }
        /// Messages on this connection whose topic or sender is not the one that they name.
        var forged: UInt64 { entries.number("forged") }
        /// Whether there are more devices than are accepted.
        var isCrowded: Bool { entries.flag("crowded") }
        var devices: [ListedDevice] { entries.list("devices").map(ListedDevice.init) }
        var isChannel: Bool { name.hasPrefix("mqtt:") }

        /// For people.
        var title: String { isChannel ? "channel \(name.dropFirst(5))" : "link" }

        var json: JSON {
            .object(
                entries.members(["line": "", "state": "", "detail": "", "sealed": false, "backlog": 0])
                    + JSON.members(["round-trip-microseconds": entries.time("round-trip")])
                    + entries.members(["unopened": 0, "forged": 0, "crowded": false])
                    + JSON.members(["devices": devices.map(\.json)]))
        }

        var cells: [Cell] {
            let (state, backlog) = (entries.text("state"), entries.number("backlog") as UInt64)
            let colour: Terminal.Style =
                switch state {
                case "connected": unopened > 0 || forged > 0 || isCrowded ? .yellow : .green
                case "failed": .red
                default: .yellow
                }
            var facts = entries.time("round-trip").map { ["round trip \($0.displayText)"] } ?? []
            if backlog > 0 { facts.append("backlog \(backlog)") }
            return [
                Cell(title, .bold, isImportant: true), Cell(state, colour, isImportant: true),
                Cell(facts.joined(separator: ", ")), Cell(entries.text("detail")),
            ]
        }
    }

    private let link: [String: Value]
    let lines: [Line]

    init(_ link: [String: Value], _ lines: [[String: Value]]) {
        self.link = link
        self.lines = lines.map(Line.init)
    }

    var device: String { link.text("device") }
    var name: String { link.text("name") }
    var broker: String { link.text("broker") }
    var user: String { link.text("user") }

    /// All devices, each once.
    var devices: [ListedDevice] {
        var known: Set<String> = []
        return lines.flatMap(\.devices).filter { known.insert($0.device).inserted }
    }

    /// - Throws: what is wrong if notifyd-mqtt does not run or does not answer.
    static func ask(_ query: BusQuery) async throws -> LinkInfo {
        let answer = try await query.askLink("List")
        return LinkInfo(answer.first?.entries ?? [:], (answer.dropFirst().first?.elements ?? []).compactMap(\.entries))
    }

    /// A device by its name or its id.
    func find(_ text: String) throws -> ListedDevice {
        if let device = devices.first(where: { $0.device == text }) { return device }
        let named = devices.filter { $0.name == text }
        if named.count > 1 {
            let ids = named.map(\.device).joined(separator: ", ")
            throw Complaint(.badData, "Several devices are called \(text): \(ids). Name one by its id.")
        }
        if let device = named.first { return device }
        throw Complaint(.nothing, "The link has no device \(text). “notifyctl link” lists them.")
    }

    func json(_ bridge: BridgeInfo) -> JSON {
        [
            "device": device, "name": name, "broker": broker, "user": user, "state": bridge.state,
            "detail": bridge.detail, "dead-letters": bridge.deadLetters, "lines": lines.map(\.json),
        ]
    }
}

extension Duration {
    /// Of a clock: `12.00 s ahead`, `3 min behind`.
    var distanceText: String { self < .zero ? "\((.zero - self).displayText) behind" : "\(displayText) ahead" }
}

extension BusQuery {
    /// Calls a method of the link.
    ///
    /// - Parameter limit: how long the method may take.
    func askLink(
        _ member: String, _ arguments: [Value] = [], within limit: Duration = BusQuery.timeout
    ) async throws -> [Value] {
        do throws(NotifyError) {
            return try await ask(.link, member, arguments, within: limit)
        } catch {
            // In terms of notifyd-mqtt: the usual advice is about notifyd.
            switch error.code {
            case .notReachable where error.name != nil:
                throw Complaint(
                    .notReachable,
                    "notifyd-mqtt does not run, which links devices. If this device has no link: “notifyctl link "
                        + "init”, or “notifyctl link join”. If it has one: systemctl --user enable --now notifyd-mqtt")
            case .timedOut:
                throw Complaint(
                    .nothing, "notifyd-mqtt does not answer. Restart it: systemctl --user restart notifyd-mqtt")
            case .refused where error.name == NotifyError.unknownMethod:
                throw Complaint(
                    .refused,
                    "The running notifyd-mqtt is older than this notifyctl. Start the new one: systemctl "
                        + "--user restart notifyd-mqtt")
            default: throw error
            }
        }
    }
}
