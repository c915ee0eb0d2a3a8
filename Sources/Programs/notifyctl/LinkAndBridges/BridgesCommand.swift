import ArgumentParser
import NotifyClient
import NotifyJSON

struct BridgesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridges",
        abstract: "Show the bridges to other message systems, and how they are.",
        discussion: """
            A bridge is a program that passes events from elsewhere to notifyd, and back. It is listed while it runs.

            What a bridge can never deliver becomes a dead letter; it is kept for a week. Exit code 1 if a named bridge does not \
            run.

            Examples:
              notifyctl bridges
              notifyctl bridges mqtt --dead-letters
              notifyctl bridges mqtt --forget
              notifyctl bridges --json=short | jq -r 'select(.state != "connected").detail'
            """)

    @Argument(help: "A bridge, such as mqtt. (default: all)", completion: Completion.bridges)
    var name: String?

    @Flag(help: "List the dead letters instead, the oldest first, without their contents.")
    var deadLetters = false

    @Flag(help: "Delete the dead letters, and print how many there were.")
    var forget = false

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if deadLetters, forget { throw ValidationError("Give either --dead-letters or --forget, not both.") }
    }

    func run() async throws { try await bus.withQuery { query in try await run(query) } }

    private func run(_ query: BusQuery) async throws {
        var bridges = await BridgeInfo.all(query)
        if let name {
            bridges.removeAll { $0.name != name }
            guard !bridges.isEmpty else {
                Terminal.complain(
                    "No bridge \(Terminal.plain(name)) runs. “notifyctl bridges” lists those that do.")
                throw ExitCode.nothing
            }
        }
        if deadLetters { return try await listLetters(of: bridges, query) }
        if forget { return try await forgetLetters(of: bridges, query) }
        write(bridges.map(\.json), text: Self.text(bridges))
    }

    /// Writes one object for each element.
    private func write(_ elements: [JSON], text: @autoclosure () -> String) {
        guard output.json == .off else {
            for element in elements { output.write(element, text: nil) }
            return
        }
        let text = text()
        if !text.isEmpty { Terminal.print(text) }
    }

    private static func text(_ bridges: [BridgeInfo]) -> String {
        guard !bridges.isEmpty else { return "No bridge runs." }
        let now = Timestamp.now
        let width = Terminal.size?.columns
        var lines: [String] = []
        let rows = Columns.stackedLines(bridges.map { $0.cells(at: now) }, within: width)
        guard rows.count == bridges.count else {
            // They do not fit side by side.
            return
                (rows
                + bridges.flatMap { Columns.stackedLines($0.peerCells(at: now), indentation: "  ", within: width) })
                .joined(separator: "\n")
        }
        for (bridge, row) in zip(bridges, rows) {
            lines.append(row)
            lines += Columns.stackedLines(bridge.peerCells(at: now), indentation: "  ", within: width)
        }
        return lines.joined(separator: "\n")
    }

    private func listLetters(of bridges: [BridgeInfo], _ query: BusQuery) async throws {
        var letters: [ListedLetter] = []
        for bridge in bridges {
            let answer = try await query.askBridge(bridge.name, "ListDeadLetters")
            letters += (answer.first?.elements ?? []).compactMap { ListedLetter($0, of: bridge.name) }
        }
        let now = Timestamp.now
        write(
            letters.map(\.json),
            text: Columns.lines(letters.map { $0.cells(at: now) }, within: Terminal.size?.columns)
                .joined(separator: "\n"))
    }

    private func forgetLetters(of bridges: [BridgeInfo], _ query: BusQuery) async throws {
        var count: UInt64 = 0
        for bridge in bridges {
            count += try await query.askBridge(bridge.name, "Forget", ["/"]).first?.integer() ?? 0
        }
        output.write(.object([("count", .integer(count))]), text: "\(count)")
    }
}

extension BusQuery {
    /// Calls a method of a bridge.
    func askBridge(_ name: String, _ member: String, _ arguments: [Value] = []) async throws(NotifyError) -> [Value] {
        try await ask(BridgeInfo.prefix + name, BridgeInfo.path, BridgeInfo.interface, member, arguments)
    }
}

/// How a bridge on the bus is: the properties of `org.notifyd.Bridge1`.
struct BridgeInfo {
    static let prefix = "org.notifyd.Bridge."
    static let path = "/org/notifyd/Bridge1"
    static let interface = "org.notifyd.Bridge1"

    struct Peer {
        let device: String
        let name: String
        let isOnline: Bool
        /// Microseconds since the epoch.
        let seen: Int64
        let behind: UInt64
    }

    /// Such as `mqtt`.
    let name: String
    /// `nil` if it does not answer.
    let state: String?
    let detail: String
    /// Microseconds since the epoch.
    let since: Int64
    let backlog: UInt64
    let deadLetters: UInt64
    /// `nil` while it is unknown.
    let roundTrip: Duration?
    let peers: [Peer]
    /// What is wrong although it works.
    let problems: [Problem]

    struct Problem: Equatable {
        let reason: String
        let advice: String
    }

    init(name: String, _ properties: [String: Value]) {
        self.name = name
        state = properties["State"]?.string
        detail = properties["Detail"]?.string ?? ""
        since = properties["Since"]?.integer() ?? 0
        backlog = properties["Backlog"]?.integer() ?? 0
        deadLetters = properties["DeadLetters"]?.integer() ?? 0
        let time: Int64 = properties["RoundTrip"]?.integer() ?? 0
        roundTrip = time > 0 ? .microseconds(time) : nil
        peers = (properties["Peers"]?.elements ?? []).compactMap(\.entries).map { peer in
            Peer(
                device: peer["device"]?.string ?? "", name: peer["name"]?.string ?? "",
                isOnline: peer["online"]?.boolean ?? false, seen: peer["seen"]?.integer() ?? 0,
                behind: peer["behind"]?.integer() ?? 0)
        }
        problems = (properties["Problems"]?.elements ?? []).compactMap { problem in
            guard let parts = problem.elements, parts.count == 2, let reason = parts[0].string,
                let advice = parts[1].string
            else { return nil }
            return Problem(reason: reason, advice: advice)
        }
    }

    /// The bridges on the bus, by name. One that does not answer within two seconds has no state.
    static func all(_ query: BusQuery) async -> [BridgeInfo] {
        let names = await query.names().filter { $0.hasPrefix(prefix) }.sorted()
        return await withTaskGroup { group in
            for (index, name) in names.enumerated() {
                group.addTask {
                    let properties = await query.properties(name, path, interface)
                    return (index, BridgeInfo(name: String(name.dropFirst(prefix.count)), properties))
                }
            }
            var found: [(Int, BridgeInfo)] = []
            for await bridge in group { found.append(bridge) }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// In a few words, such as `connected (broker.example)`.
    var words: String {
        guard let state else { return "it does not answer" }
        return detail.isEmpty ? state : "\(state) (\(detail))"
    }

    /// The same, and what is wrong besides.
    var fullWords: String { ([words] + otherProblems.map(\.reason)).joined(separator: "; ") }

    /// What to do about the problems that the detail tells too; `nil` if it tells none.
    var adviceOnDetail: String? {
        let advice = problems.filter { detail.contains($0.reason) }.map(\.advice)
        return advice.isEmpty ? nil : Set(advice).sorted().joined(separator: " ")
    }

    /// The problems that the detail does not tell.
    var otherProblems: [Problem] { problems.filter { !detail.contains($0.reason) } }

    var json: JSON {
        .object([
            ("name", .string(name)), ("state", state.map(JSON.string) ?? .null), ("detail", .string(detail)),
            ("since", state == nil ? .null : .integer(since)), ("backlog", .integer(backlog)),
            ("dead-letters", .integer(deadLetters)),
            ("round-trip-microseconds", roundTrip.map { .microseconds($0) } ?? .null),
            (
                "peers",
                .array(
                    peers.map { peer in
                        .object([
                            ("device", .string(peer.device)), ("name", .string(peer.name)),
                            ("online", .boolean(peer.isOnline)), ("seen", .integer(peer.seen)),
                            ("behind", .integer(peer.behind)),
                        ])
                    })
            ),
            (
                "problems",
                .array(
                    problems.map { .object([("reason", .string($0.reason)), ("advice", .string($0.advice))]) })
            ),
        ])
    }

    private var colour: Terminal.Style {
        switch state {
        case "connected": .green
        case "failed", nil: .red
        default: .yellow
        }
    }

    /// Nothing but how it is, and why.
    var stateCells: [Cell] {
        [Cell(name, .bold, isImportant: true), Cell(state ?? "silent", colour, isImportant: true), Cell(detail)]
    }

    func cells(at now: Int64) -> [Cell] {
        var facts: [String] = []
        if let roundTrip { facts.append("round trip \(roundTrip.displayText)") }
        if backlog > 0 { facts.append("backlog \(backlog)") }
        facts += otherProblems.map(\.reason)
        if deadLetters > 0 { facts.append("\(deadLetters) dead letter\(deadLetters == 1 ? "" : "s")") }
        return [
            Cell(name, .bold, isImportant: true), Cell(state ?? "silent", colour, isImportant: true),
            Cell(state == nil ? "" : "since " + Timestamp(since).clock(seenAt: now), .dim),
            Cell(facts.joined(separator: ", ")), Cell(detail),
        ]
    }

    /// A line for each device.
    func peerCells(at now: Int64) -> [[Cell]] {
        peers.map { peer in
            let heard = peer.seen > 0 ? "heard " + Timestamp(peer.seen).text(seenAt: now) : ""
            // Without a connection nobody knows who is offline.
            let absence = (state == "connected" ? ["offline"] : []) + (heard.isEmpty ? [] : [heard])
            return [
                Cell(peer.name.isEmpty ? peer.device : peer.name, .bold, isImportant: true),
                peer.isOnline ? Cell("online", .green) : Cell(absence.joined(separator: ", ")),
                Cell(peer.behind > 0 ? "behind" : ""), Cell(peer.name.isEmpty ? "" : peer.device, .dim),
            ]
        }
    }
}

/// What a bridge could not deliver, and never will.
struct ListedLetter {
    let bridge: String
    let id: UInt64
    /// Microseconds since the epoch.
    let at: Int64
    let topic: String
    let origin: String
    let reason: String
    let bytes: UInt64

    /// From an entry of a list: `t x s s s t`.
    init?(_ entry: Value, of bridge: String) {
        guard let members = entry.elements, members.count >= 6, let id: UInt64 = members[0].integer(),
            let at: Int64 = members[1].integer(), let topic = members[2].string, let origin = members[3].string,
            let reason = members[4].string, let bytes: UInt64 = members[5].integer()
        else { return nil }
        self.bridge = bridge
        (self.id, self.at, self.topic, self.origin, self.reason, self.bytes) = (id, at, topic, origin, reason, bytes)
    }

    var json: JSON {
        .object([
            ("bridge", .string(bridge)), ("id", .integer(id)), ("at", .integer(at)), ("topic", .string(topic)),
            ("origin", .string(origin)), ("reason", .string(reason)), ("bytes", .integer(bytes)),
        ])
    }

    func cells(at now: Int64) -> [Cell] {
        [
            Cell(bridge), Cell(Timestamp(at).clock(seenAt: now), .dim), Cell(origin),
            Cell(topic, .bold), Cell(reason, isImportant: true),
        ]
    }
}
