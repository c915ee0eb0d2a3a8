import ArgumentParser
import NotifyClient
import NotifyText

struct BridgesCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridges", abstract: "Show the bridges to other message systems, and how they are.",
        discussion: """
            A bridge is a program that passes events from elsewhere to notifyd, and back. It is listed while it runs.

            What a bridge can never deliver becomes a dead letter; it is kept for a week. Exit code 1 if a named \
            bridge does not run.

            Examples:
              notifyctl bridges
              notifyctl bridges mqtt --dead-letters
              notifyctl bridges mqtt --forget
              notifyctl bridges --json=short | jq -r 'select(.state != "connected").detail'
            """)

    @Argument(help: "A bridge, such as mqtt. (default: all)", completion: Completion.bridges) var name: String?

    @Flag(help: "List the dead letters instead, the oldest first, without their contents.") var deadLetters = false

    @Flag(help: "Delete the dead letters, and print how many there were.") var forget = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if deadLetters, forget { throw ValidationError("Give either --dead-letters or --forget, not both.") }
    }

    func run() async throws {
        try await bus.withQuery { query in
            var bridges = await BridgeInfo.all(query)
            if let name {
                bridges.removeAll { $0.name != name }
                guard !bridges.isEmpty else {
                    throw Complaint(.nothing, "No bridge \(name) runs. “notifyctl bridges” lists those that do.")
                }
            }
            if deadLetters { return try await listLetters(of: bridges, query) }
            if forget { return try await forgetLetters(of: bridges, query) }
            output.write(list: bridges.map(\.json), lines: Self.lines(bridges))
        }
    }

    private static func lines(_ bridges: [BridgeInfo]) -> [String] {
        guard !bridges.isEmpty else { return ["No bridge runs."] }
        let now = Timestamp.now
        let width = Terminal.size?.columns
        let rows = Columns.stackedLines(bridges.map { $0.cells(at: now) }, within: width)
        let peers = bridges.map { bridge in
            Columns.stackedLines(bridge.peers.map { bridge.cells($0, at: now) }, indentation: "  ", within: width)
        }
        // If the rows do not fit side by side, each has several lines.
        return rows.count == bridges.count ? zip(rows, peers).flatMap { [$0] + $1 } : rows + peers.joined()
    }

    private func listLetters(of bridges: [BridgeInfo], _ query: BusQuery) async throws {
        var letters: [ListedLetter] = []
        for bridge in bridges {
            let answer = try await query.ask(.bridge(bridge.name), "ListDeadLetters")
            letters += (answer.first?.elements ?? []).compactMap { ListedLetter($0, of: bridge.name) }
        }
        let now = Timestamp.now
        output.write(
            list: letters.map(\.json),
            lines: Columns.lines(letters.map { $0.cells(at: now) }, within: Terminal.size?.columns))
    }

    private func forgetLetters(of bridges: [BridgeInfo], _ query: BusQuery) async throws {
        var count: UInt64 = 0
        for bridge in bridges {
            count += try await query.ask(.bridge(bridge.name), "Forget", ["/"]).first?.integer() ?? 0
        }
        output.write(["count": count], text: "\(count)")
    }
}

/// Another device, as a bridge or the link lists it.
struct ListedDevice {
    let entries: [String: Value]

    var device: String { entries.text("device") }
    var name: String { entries.text("name") }
    /// What people call it.
    var title: String { name.isEmpty ? device : name }
    var isOnline: Bool { entries.flag("online") }
    /// When it was last heard, in microseconds since the epoch; 0 if never.
    var seen: Int64 { entries.number("seen") }
    /// Whether events of it are missing.
    var isBehind: Bool { entries.flag("behind") }
    /// Its clock less the one here.
    var clockOffset: Duration { .microseconds(entries.number("clock-offset") as Int64) }
    /// Whether that is more than a message takes.
    var hasWrongClock: Bool { !(.seconds(-5)...Duration.seconds(5)).contains(clockOffset) }
    var json: JSON {
        [
            "device": device, "name": name, "online": isOnline, "seen": seen, "behind": isBehind,
            "clock-offset-microseconds": clockOffset, "round-trip-microseconds": entries.time("round-trip"),
            "attended": entries.number("attended") as UInt32,
        ]
    }

    /// - Parameters:
    ///   - isConnected: whether its line is; without a connection nobody knows who is offline.
    ///   - facts: what else is known about it.
    func cells(at now: Int64, isConnected: Bool, _ facts: [String]) -> [Cell] {
        let absence =
            (isConnected ? ["offline"] : []) + (seen > 0 ? ["heard " + Timestamp(seen).text(seenAt: now)] : [])
        return [
            Cell(title, .bold, isImportant: true),
            isOnline ? Cell("online", .green) : Cell(absence.joined(separator: ", ")),
            Cell(facts.joined(separator: ", ")), Cell(name.isEmpty ? "" : device, .dim),
        ]
    }

    /// A row of the link.
    func linkCells(at now: Int64, isConnected: Bool) -> [Cell] {
        let attended: UInt32 = entries.number("attended")
        var facts = entries.time("round-trip").map { ["round trip \($0.displayText)"] } ?? []
        if isBehind { facts.append("events are missing") }
        if hasWrongClock { facts.append("its clock is \(clockOffset.distanceText)") }
        if attended > 0 { facts.append(attended.counting("topic") + " on screen") }
        return cells(at: now, isConnected: isConnected, facts)
    }
}

/// The state of a bridge on the bus: the properties of `org.notifyd.Bridge1`.
struct BridgeInfo {
    static let prefix = "org.notifyd.Bridge."

    /// What is wrong, and what to do about it.
    typealias Problem = (reason: String, advice: String)

    /// Such as `mqtt`.
    let name: String
    private let properties: [String: Value]
    /// What it answers to `Diagnose`, for `notifyctl doctor`; the first is about its state, unless it is well.
    var diagnosis: [Problem] = []

    init(name: String, _ properties: [String: Value]) { (self.name, self.properties) = (name, properties) }

    /// The program that has its name and does not answer as a bridge does, and whether it answers at all.
    var stranger: (program: String, answers: Bool)?

    /// `nil` if it does not answer.
    var state: String? { properties["State"]?.string }
    var detail: String { properties.text("Detail") }
    /// Microseconds since the epoch.
    var since: Int64 { properties.number("Since") }
    var deadLetters: UInt64 { properties.number("DeadLetters") }
    private var backlog: UInt64 { properties.number("Backlog") }
    var peers: [ListedDevice] { properties.list("Peers").map(ListedDevice.init) }
    /// What is wrong although it works.
    var problems: [Problem] {
        (properties["Problems"]?.elements ?? []).compactMap { $0.texts(atLeast: 2) }.map { ($0[0], $0[1]) }
    }

    /// The names of the bridges on the bus.
    static func names(_ query: BusQuery) async -> [String] {
        await query.names().filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }.sorted()
    }

    /// The bridges on the bus, by name. One that does not answer within two seconds has no state.
    static func all(_ query: BusQuery) async -> [BridgeInfo] {
        let names = await names(query)
        return await concurrently(names, atOnce: names.count) {
            BridgeInfo(name: $0, await query.properties(.bridge($0)))
        }
    }

    /// In a few words, such as `connected (broker.example)`.
    var words: String {
        guard let state else { return "it does not answer" }
        return detail.isEmpty ? state : "\(state) (\(detail))"
    }

    /// The same, and what is wrong besides.
    var fullWords: String { ([words] + otherProblems.map(\.reason)).joined(separator: "; ") }

    /// The problems that the detail does not name.
    var otherProblems: [Problem] { problems.filter { !detail.contains($0.reason) } }

    var json: JSON {
        [
            "name": name, "state": state, "detail": detail, "since": state == nil ? nil : since, "backlog": backlog,
            "dead-letters": deadLetters, "round-trip-microseconds": properties.time("RoundTrip"),
            "peers": peers.map {
                JSON.object($0.entries.members(["device": "", "name": "", "online": false, "seen": 0, "behind": 0]))
            },
            "problems": problems.map { problem -> JSON in ["reason": problem.reason, "advice": problem.advice] },
        ]
    }

    private var colour: Terminal.Style {
        switch state {
        case "connected": .green
        case "failed", nil: .red
        default: .yellow
        }
    }

    /// Only its state and the reason for it.
    var stateCells: [Cell] {
        [Cell(name, .bold, isImportant: true), Cell(state ?? "silent", colour, isImportant: true), Cell(detail)]
    }

    func cells(at now: Int64) -> [Cell] {
        var facts = properties.time("RoundTrip").map { ["round trip \($0.displayText)"] } ?? []
        if backlog > 0 { facts.append("backlog \(backlog)") }
        facts += otherProblems.map(\.reason)
        if deadLetters > 0 { facts.append(deadLetters.counting("dead letter")) }
        let time = Cell(state == nil ? "" : "since " + Timestamp(since).clock(seenAt: now), .dim)
        return stateCells.dropLast() + [time, Cell(facts.joined(separator: ", ")), Cell(detail)]
    }

    fileprivate func cells(_ peer: ListedDevice, at now: Int64) -> [Cell] {
        let behind: UInt64 = peer.entries.number("behind")
        return peer.cells(at: now, isConnected: state == "connected", behind > 0 ? ["behind"] : [])
    }
}

/// An event that a bridge could not deliver, and never will.
struct ListedLetter {
    private let bridge: String
    private let members: [Value]

    /// From an entry of a list, `t x s s s t`: id, time in microseconds since the epoch, topic, origin, reason, bytes.
    init?(_ entry: Value, of bridge: String) {
        guard let members = entry.elements, members.count >= 6 else { return nil }
        (self.bridge, self.members) = (bridge, members)
    }

    var json: JSON {
        .object(
            [("bridge", .string(bridge))]
                + zip(["id", "at", "topic", "origin", "reason", "bytes"], members).map { ($0, $1.json) })
    }

    func cells(at now: Int64) -> [Cell] {
        [
            Cell(bridge), Cell(Timestamp(members[1].integer() ?? 0).clock(seenAt: now), .dim), Cell(members[3].text),
            Cell(members[2].text, .bold), Cell(members[4].text, isImportant: true),
        ]
    }
}
