import ArgumentParser
import NotifyClient

/// Completions of topics and ids of events, from recent events of the running daemon.
///
/// The user waits at a prompt: so this does not start the daemon, prints no errors, and has a short time limit.
enum Completion {
    private static let patience: Duration = .milliseconds(500)
    private static let recentEvents = 200
    private static let offeredIDs = 20

    /// Topics with events, values or screens, and the topics above them.
    static let prefixes = CompletionKind.custom { _, _, _ in await heardPrefixes() }

    /// The same for `focus`, which takes a topic with --learn alone.
    static let prefixesToLearn = CompletionKind.custom { words, _, _ in
        await words.contains("--learn") ? heardPrefixes() : []
    }

    /// The topics that are quiet now, as “quiet” lists them.
    static let quietTopics = CompletionKind.custom { _, _, _ in
        offered(Topics(await known { client in try await client.quiet().map(\.topic) }).all)
    }

    /// The same topics as of `prefixes` without those above them, and the short forms of `send`.
    static let places = CompletionKind.custom { _, _, _ in
        offered(["post", "invite", "mate-finished"] + Topics(await known(heardTopics)).all)
    }

    /// The bridges on the bus.
    static let bridges = CompletionKind.custom { _, _, _ in
        (try? await BusQuery.run(at: nil) { await BridgeInfo.names($0) }) ?? []
    }

    /// The other devices of the link, by name; by id where the name is none of one word, or that of several.
    static let devices = CompletionKind.custom { _, _, _ in
        let devices = (try? await BusQuery.run(at: nil) { try await LinkInfo.ask($0) })?.devices ?? []
        return devices.compactMap { device in
            let isClear = !device.name.isEmpty && devices.filter { $0.name == device.name }.count == 1
            let byName = isClear ? Candidate(device.name, device.isOnline ? "online" : "offline") : nil
            return (byName ?? Candidate(device.device, device.name))?.text
        }
    }

    /// The endpoints of notifyd-unifiedpush, if it runs.
    static let pushEndpoints = CompletionKind.custom { _, _, _ in
        let endpoints = try? await BusQuery.run(at: nil) { query in
            try await query.owner(of: Remote.push.name) == nil ? [] : PushEndpointInfo.all(query)
        }
        return (endpoints ?? []).compactMap { Candidate($0.name, $0.topic)?.text }
    }

    /// The ids of the last events, the newest first, with their topics if the shell shows descriptions.
    static let events = CompletionKind.custom { _, _, _ in await recentIDs().map(\.text) }

    /// The same after `last`, which stands for the newest event.
    static let eventsAndLast = CompletionKind.custom { _, _, _ in await lastAndIDs().map(\.text) }

    /// The same with topics.
    static let prefixesAndEvents = CompletionKind.custom { _, _, _ in
        await heardPrefixes() + lastAndIDs().map(\.text)
    }

    /// The words that a shell can take as they are.
    private static func offered(_ words: [String]) -> [String] { words.compactMap { Candidate($0)?.text } }

    private static func heardPrefixes() async -> [String] { offered(Topics(await known(heardTopics)).withAncestors) }

    private static func lastAndIDs() async -> [Candidate] {
        [Candidate("last", "The newest event")].compactMap(\.self) + (await recentIDs())
    }

    private static func recentIDs() async -> [Candidate] {
        await known { client in try await HistoryReader(client: client, topic: "/").last(offeredIDs) }
            .reversed().compactMap { Candidate("\($0.event.id)", $0.event.topic + " " + $0.event.title) }
    }

    private static func heardTopics(_ client: NotifyClient) async throws(NotifyError) -> [String] {
        let recent = try await HistoryReader(client: client, topic: "/").last(recentEvents).map(\.event.topic)
        let values = try await client.snapshot("/").values.map(\.event.topic)
        return try await recent + values + client.screens().map(\.topic)
    }

    /// The replies of the daemon within the time limit.
    private static func known<Answer: Sendable>(
        _ ask: @escaping @Sendable (NotifyClient) async throws -> [Answer]
    ) async -> [Answer] {
        // Not a task group: it would wait for a bus that hangs.
        let answers = Mailbox<[Answer]>()
        let asking = Task {
            do {
                let client = try await NotifyClient()
                answers.put(try await client.isDaemonRunning() ? try await ask(client) : [])
            } catch {
                answers.put([])
            }
        }
        defer { asking.cancel() }
        return await answers.next(within: patience) ?? []
    }
}

struct Topics {
    let all: [String]

    init(_ topics: [String]) { all = Set(topics).sorted() }

    /// With `/post` for `/post/27`, and so on; a topic that ends above others covers them.
    var withAncestors: [String] {
        var found = Set(all)
        for topic in all {
            var rest = topic[...]
            while let slash = rest.lastIndex(of: "/"), slash > rest.startIndex {
                rest = rest[..<slash]
                found.insert(String(rest))
            }
        }
        return found.sorted()
    }
}

struct Candidate: Equatable {
    let text: String

    /// - Returns: `nil` if a shell would expand the word. bash expands completions, so it would execute a topic with
    ///   `$(…)` in it, which every program on the bus can publish.
    init?(_ word: String, _ meaning: String = "", for shell: CompletionShell? = .requesting) {
        guard word.unicodeScalars.allSatisfy(Self.isPlain) else { return nil }
        let meaning = Terminal.plain(meaning)
        text =
            switch shell {
            // A colon separates the two; a colon within the word is escaped.
            case .zsh: word.replacing(":", with: "\\:") + (meaning.isEmpty ? "" : ":" + meaning)
            case .fish: word + (meaning.isEmpty ? "" : "\t" + meaning)
            default: word
            }
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            || "/._-:@+,=%".unicodeScalars.contains(scalar)
    }
}
