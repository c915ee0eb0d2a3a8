import ArgumentParser
import NotifyClient
import NotifyJSON

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
