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
