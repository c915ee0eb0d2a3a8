import ArgumentParser
import NotifyClient
import NotifyJSON

struct PushEndpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-endpoint",
        abstract: "Receive pushes of UnifiedPush and Web Push: make, list, move and remove endpoints.",
        discussion: """
            An endpoint is an address on the web to which one sender pushes; what it sends becomes an event at the topic of the \
            endpoint or below. The messages are encrypted for this machine. A distributor of UnifiedPush has to be installed; \
            notifyd-unifiedpush(8) has the rest.

            Examples:
              notifyctl push-endpoint create post --topic /post
              notifyctl push-endpoint list
              notifyctl push-endpoint show post
              notifyctl push-endpoint remove post
            """,
        subcommands: [
            PushEndpointCreateCommand.self, PushEndpointListCommand.self, PushEndpointShowCommand.self,
            PushEndpointMoveCommand.self, PushEndpointRemoveCommand.self,
        ])
}

struct PushEndpointCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make an endpoint, and print what its sender needs.",
        discussion: """
            The sender needs the address, both keys and, unless it has a VAPID key of its own, the private key that is made for \
            it. They are as secret as a password. A VAPID key of a sender is what its site or its administrator shows: 87 \
            characters that begin with B. Exit code 1 if there is such an endpoint already.

            Examples:
              notifyctl push-endpoint create post --topic /post
              notifyctl push-endpoint create web --topic /web --vapid "$(cat web.key)"
            """)

    @Argument(help: "The name of the endpoint: letters, digits, -, _ and ., a letter or a digit first.")
    var name: String

    @Option(
        help: ArgumentHelp("Where its events are.", valueName: "topic"), completion: Completion.prefixes)
    var topic: String

    @Option(
        help: ArgumentHelp(
            "The public VAPID key of the sender; own makes a pair for it, and none does without.", valueName: "key"))
    var vapid = "own"

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try TopicFilter.requireSlash(topic)
        try await bus.withQuery { query in
            let answer = try await query.askPush(
                "Create", [.string(name), .string(topic), .variants(["vapid": .string(vapid)])], within: .seconds(30))
            let endpoint = PushEndpointInfo(answer.first?.entries ?? [:])
            output.write(endpoint.json, text: endpoint.text)
        }
    }
}

struct PushEndpointListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the endpoints, without their keys.",
        discussion: """
            After the distributor has given an endpoint a new address, its sender has to be told.

            Examples:
              notifyctl push-endpoint list
              notifyctl push-endpoint list --json=short | jq -r .endpoint
            """)

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await bus.withQuery { query in
            let entries = try await query.askPush("List").first?.elements ?? []
            let endpoints = entries.compactMap(\.entries).map(PushEndpointInfo.init)
            guard output.json == .off else {
                for endpoint in endpoints { output.write(endpoint.json, text: nil) }
                return
            }
            guard !endpoints.isEmpty else {
                return Terminal.print("There is no endpoint. Make one: notifyctl push-endpoint create NAME --topic /…")
            }
            let now = Timestamp.now
            let lines = Columns.stackedLines(endpoints.map { $0.cells(at: now) }, within: Terminal.size?.columns)
            Terminal.print(lines.joined(separator: "\n"))
        }
    }
}

struct PushEndpointShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print what the sender of an endpoint needs.",
        discussion: """
            The JSON is what libraries of senders call a subscription. Exit code 1 if there is no such endpoint.

            Examples:
              notifyctl push-endpoint show post
              notifyctl push-endpoint show post --json=short | jq .keys
            """)

    @OptionGroup var endpoint: EndpointOptions

    func run() async throws { try await endpoint.show(answerOf: "Get") }
}

struct PushEndpointMoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Take another distributor for an endpoint whose own one is not installed any more.",
        discussion: """
            The endpoint gets a new address, which its sender has to be told; the keys stay. While its distributor is installed, \
            name another one in unifiedpush.toml instead: then all endpoints move. Exit code 1 if there is no such endpoint.

            Examples:
              notifyctl push-endpoint move post
            """)

    @OptionGroup var endpoint: EndpointOptions

    func run() async throws { try await endpoint.show(answerOf: "Move", within: .seconds(30)) }
}

struct PushEndpointRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove an endpoint. Its events stay.",
        discussion: """
            The distributor is told, so that its sender cannot send any more; now, or when it is there. The keys are deleted. \
            Exit code 1 if there is no such endpoint.

            Examples:
              notifyctl push-endpoint remove post
            """)

    @OptionGroup var endpoint: EndpointOptions

    func run() async throws {
        let name = endpoint.name
        try await endpoint.bus.withQuery { query in
            _ = try await query.askPush("Remove", [.string(name)])
            endpoint.output.write(.object([("name", .string(name))]), text: "\(Terminal.plain(name)) is removed.")
        }
    }
}

/// What a command for one endpoint takes.
struct EndpointOptions: ParsableArguments {
    @Argument(help: "The name of the endpoint.", completion: Completion.pushEndpoints)
    var name: String

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    /// Calls a method that answers with the endpoint, and prints it.
    func show(answerOf member: String, within limit: Duration = BusQuery.timeout) async throws {
        try await bus.withQuery { query in
            let answer = try await query.askPush(member, [.string(name)], within: limit)
            let endpoint = PushEndpointInfo(answer.first?.entries ?? [:])
            output.write(endpoint.json, text: endpoint.text)
        }
    }
}
