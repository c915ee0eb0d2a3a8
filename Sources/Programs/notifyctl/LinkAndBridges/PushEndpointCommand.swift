import ArgumentParser
import NotifyClient
import NotifyText

struct PushEndpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-endpoint",
        abstract: "Receive pushes of UnifiedPush and Web Push: make, list, move and remove endpoints.",
        discussion: """
            An endpoint is an address on the web to which one sender pushes; what it sends becomes an event at the \
            topic of the endpoint or below. The messages are encrypted for this machine. A distributor of UnifiedPush \
            has to be installed; notifyd-unifiedpush(8) has the rest.

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

struct PushEndpointCreateCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make an endpoint, and print what its sender needs.",
        discussion: """
            The sender needs the address, both keys and, unless it has a VAPID key of its own, the private key that is \
            made for it. They are as secret as a password. A VAPID key of a sender is what its site or its \
            administrator shows: 87 characters that begin with B. Exit code 1 if there is such an endpoint already.

            Examples:
              notifyctl push-endpoint create post --topic /post
              notifyctl push-endpoint create web --topic /web --vapid "$(cat web.key)"
            """)

    @Argument(help: "The name of the endpoint: letters, digits, -, _ and ., a letter or a digit first.")
    var name: String

    @Option(help: ArgumentHelp("Where its events are.", valueName: "topic"), completion: Completion.prefixes)
    var topic: String

    @Option(
        help: ArgumentHelp(
            "The public VAPID key of the sender; own makes a pair for it, and none does without.", valueName: "key"))
    var vapid = "own"

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try TopicFilter.requireSlash(topic)
        try await bus.withQuery { query in
            let arguments: [Value] = [.string(name), .string(topic), .variants(["vapid": .string(vapid)])]
            output.write(try await PushEndpointInfo.ask(query, "Create", arguments, within: .seconds(30)))
        }
    }
}

extension OutputOptions {
    fileprivate func write(_ endpoint: PushEndpointInfo) { write(endpoint.json, text: endpoint.text) }
}

struct PushEndpointListCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the endpoints, without their keys.",
        discussion: """
            After the distributor has given an endpoint a new address, its sender has to be told.

            Examples:
              notifyctl push-endpoint list
              notifyctl push-endpoint list --json=short | jq -r .endpoint
            """)

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await bus.withQuery { query in
            let endpoints = try await PushEndpointInfo.all(query)
            let now = Timestamp.now
            output.write(
                list: endpoints.map(\.json),
                lines: endpoints.isEmpty
                    ? ["There is no endpoint. Make one: notifyctl push-endpoint create NAME --topic /…"]
                    : Columns.stackedLines(endpoints.map { $0.cells(at: now) }, within: Terminal.size?.columns))
        }
    }
}

struct PushEndpointShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print what the sender of an endpoint needs.",
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
            The endpoint gets a new address, which its sender has to be told; the keys stay. While its distributor is \
            installed, name another one in unifiedpush.toml instead: then all endpoints move. Exit code 1 if there is \
            no such endpoint.

            Examples:
              notifyctl push-endpoint move post
            """)

    @OptionGroup var endpoint: EndpointOptions

    func run() async throws { try await endpoint.show(answerOf: "Move", within: .seconds(30)) }
}

struct PushEndpointRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove an endpoint. Its events stay.",
        discussion: """
            The distributor is told, so that its sender cannot send any more; now, or when it is there. The keys are \
            deleted. Exit code 1 if there is no such endpoint.

            Examples:
              notifyctl push-endpoint remove post
            """)

    @OptionGroup var endpoint: EndpointOptions

    func run() async throws {
        let name = endpoint.name
        try await endpoint.bus.withQuery { query in
            _ = try await query.askPush("Remove", [.string(name)])
            endpoint.output.write(["name": name], text: "\(Terminal.plain(name)) is removed.")
        }
    }
}

/// What a command for one endpoint takes.
struct EndpointOptions: ParsableArguments {
    @Argument(help: "The name of the endpoint.", completion: Completion.pushEndpoints) var name: String

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

    /// Calls a method that answers with the endpoint, and prints it.
    func show(answerOf member: String, within limit: Duration = BusQuery.timeout) async throws {
        try await bus.withQuery { query in
            output.write(try await PushEndpointInfo.ask(query, member, [.string(name)], within: limit))
        }
    }
}

/// An endpoint of notifyd-unifiedpush, as `org.notifyd.Push1` describes it.
struct PushEndpointInfo {
    private let entries: [String: Value]

    init(_ entries: [String: Value]) { self.entries = entries }

    static func all(_ query: BusQuery) async throws -> [PushEndpointInfo] {
        (try await query.askPush("List").first?.elements ?? []).compactMap(\.entries).map(PushEndpointInfo.init)
    }

    /// Calls a method that answers with an endpoint.
    static func ask(
        _ query: BusQuery, _ member: String, _ arguments: [Value], within limit: Duration
    ) async throws -> PushEndpointInfo {
        PushEndpointInfo(try await query.askPush(member, arguments, within: limit).first?.entries ?? [:])
    }

    var name: String { entries.text("name") }
    var topic: String { entries.text("topic") }
    private var state: String { entries.text("state") }
    private var detail: String { entries.text("detail") }
    /// Where senders send to; empty while it is unknown.
    private var address: String { entries.text("endpoint") }
    /// When the distributor changed the address; microseconds since the epoch, 0 if never.
    var changed: Int64 { entries.number("changed") }
    private var vapid: String? { entries["vapid"]?.string }
    private var vapidPrivate: String? { entries["vapid-private"]?.string }

    /// The members "endpoint" and "keys" are what libraries of senders call a subscription. A list has no keys.
    var json: JSON {
        let keys: JSON? =
            entries.text("p256dh").isEmpty
            ? nil : ["p256dh": entries.text("p256dh"), "auth": entries.text("auth")]
        return .object(
            entries.members(["name": "", "topic": "", "state": "", "detail": "", "distributor": ""])
                + JSON.members(["changed": changed > 0 ? changed : nil, "endpoint": address.isEmpty ? nil : address])
                + JSON.present([
                    "keys": keys,
                    "vapid": vapid.map { vapid -> JSON in ["public": vapid, "private": vapidPrivate] },
                ]))
    }

    func cells(at now: Int64) -> [Cell] {
        let isRegistered = state == "registered"
        var facts = detail
        if isRegistered, changed > 0 { facts = "new address since " + Timestamp(changed).clock(seenAt: now) }
        return [
            Cell(name, .bold, isImportant: true), Cell(topic, isImportant: true),
            Cell(state, isRegistered ? .green : state == "failed" ? .red : .yellow), Cell(facts), Cell(address, .dim),
        ]
    }

    /// What to give to a sender, and how to try it.
    var text: String {
        var lines = [Terminal.plain("\(name) → \(topic), \(state)\(detail.isEmpty ? "" : ": \(detail)")")]
        guard !address.isEmpty else {
            return (lines + ["There is no address yet. When there is one: notifyctl push-endpoint show \(name)"])
                .joined(separator: "\n")
        }
        lines += [
            "Whoever has these can send here:", "  endpoint  \(Terminal.plain(address))",
            "  p256dh    \(entries.text("p256dh"))",
            "  auth      \(entries.text("auth"))",
        ]
        if let vapidPrivate {
            lines += ["  VAPID     \(vapidPrivate) (the private key, with which the sender signs)"]
        } else if let vapid {
            lines += ["  VAPID     \(vapid) (the sender has the private key)"]
        }
        let hasKey = vapid == nil || vapidPrivate != nil
        let heading =
            "To try it, with pywebpush\(hasKey ? "" : " and the private key of the sender, private_key.pem"); where "
            + "templates of a [[map]] name members, write JSON for Hello:"
        return (lines + [heading, "  \(trial)"]).joined(separator: "\n")
    }

    private var trial: String {
        let file = "\(name).json"
        // What the push server asks for, if the endpoint has a key.
        let key = vapidPrivate == nil ? #""private_key.pem""# : #"s["vapid"]["private"]"#
        let signature =
            vapid == nil ? "" : #", vapid_private_key=\#(key), vapid_claims={"sub": "mailto:you@example.org"}"#
        return "(umask 077; notifyctl push-endpoint show \(name) --json=short > \(file)) && python3 -c '"
            + #"import json; from pywebpush import webpush; s = json.load(open("\#(file)")); "#
            + #"webpush(s, "Hello"\#(signature))'"#
    }
}

extension BusQuery {
    /// The name that the bus can start.
    static let connector = "org.notifyd.UnifiedPush"

    /// Calls a method of notifyd-unifiedpush, which is started if it does not run.
    ///
    /// - Parameter limit: how long the method may take.
    func askPush(
        _ member: String, _ arguments: [Value] = [], within limit: Duration = BusQuery.timeout
    ) async throws -> [Value] {
        do throws(NotifyError) {
            if await owner(of: Remote.push.name) == nil {
                _ = try await connection.call(.toBus("StartServiceByName", [.string(Self.connector), .uint32(0)]))
            }
            return try await ask(.push, member, arguments, within: limit)
        } catch {
            // In terms of notifyd-unifiedpush: the usual advice is about notifyd.
            let unit = await owner(of: Remote.push.name) == nil ? pushUnit() : nil
            let errors = "org.notifyd.Push1.Error."
            switch (error.code, error.name) {
            // A unit that ends again and again does not take its name in time: the start has timed out then.
            case (.timedOut, _) where unit != nil && unit != "active", (.notReachable, _?):
                throw Complaint(
                    .notReachable,
                    unit.map {
                        "notifyd-unifiedpush is installed, and does not run: its unit is \($0). Why: systemctl --user "
                            + "status notifyd-unifiedpush, and journalctl --user -u notifyd-unifiedpush -n 20"
                    }
                        ?? "notifyd-unifiedpush does not run, and the bus cannot start it. Is it installed? Its log: "
                        + "journalctl --user -u notifyd-unifiedpush -n 20")
            case (.timedOut, _):
                throw Complaint(
                    .nothing,
                    "notifyd-unifiedpush does not answer. Restart it: systemctl --user restart notifyd-unifiedpush")
            case (.refused, errors + "Unknown"), (.refused, errors + "Exists"): throw Complaint(.nothing, error.message)
            default: throw error
            }
        }
    }

    /// How its unit is, such as `failed`; `nil` if there is no such unit, or no service manager.
    private func pushUnit() async -> String? {
        let unit = await unit("notifyd-unifiedpush.service")
        guard unit["LoadState"]?.string != "not-found" else { return nil }
        return unit["LoadState"]?.string == "masked" ? "masked" : unit["ActiveState"]?.string
    }
}
