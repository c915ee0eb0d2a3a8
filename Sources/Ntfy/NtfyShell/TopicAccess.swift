import NotifyBridge
import NotifyClient
import NtfyMessages
import NtfySettings

/// Which topics of a server may be read. One that may not spoils a stream of all of them, so that each is asked for
/// alone then, and the others are listened to.
actor TopicAccess {
    private let client: ServerClient
    private let status: BridgeStatus
    private var refused: Set<String> = []
    /// When the topics were asked for one by one.
    private var asked: ContinuousClock.Instant?

    /// What was refused is asked for again after this time.
    private static let memory: Duration = .seconds(1800)

    init(_ client: ServerClient, _ status: BridgeStatus) {
        self.client = client
        self.status = status
    }

    private var topics: [String] { client.settings.topics }
    private var allowed: [String] { topics.filter { !refused.contains($0) } }

    var hasRefused: Bool { !refused.isEmpty }

    /// Opens a stream of all topics that may be read.
    ///
    /// - Returns: the answer, and its topics, separated by commas.
    func open(query: String) async throws -> (answer: ServerAnswer, topics: String) {
        if let asked, ContinuousClock.now - asked > Self.memory { refused = [] }
        if !refused.isEmpty, let found = try await stream(query) { return found }
        refused = []
        if let found = try await stream(query) {
            tell()
            return found
        }
        // With one topic it is known which one.
        refused = topics.count == 1 ? Set(topics) : try await refusedTopics()
        asked = .now
        tell()
        guard !allowed.isEmpty else { throw ServerFailure.forbidden(Self.sentence(topics)) }
        guard let found = try await stream(query) else { throw ServerFailure.forbidden(Self.sentence(topics)) }
        return found
    }

    /// - Returns: `nil` if one of the topics is refused.
    private func stream(_ query: String) async throws -> (answer: ServerAnswer, topics: String)? {
        let topics = allowed.joined(separator: ",")
        try await client.waitForTurn()
        do {
            return (try await client.messages(of: topics, query: query), topics)
        } catch ServerFailure.forbidden {
            return nil
        }
    }

    private func refusedTopics() async throws -> Set<String> {
        var found: Set<String> = []
        for topic in topics where try await !isAllowed(topic) { found.insert(topic) }
        return found
    }

    private func isAllowed(_ topic: String) async throws -> Bool {
        try await client.waitForTurn()
        do {
            _ = try await client.messages(of: topic, query: "poll=1&since=none")
            return true
        } catch ServerFailure.forbidden {
            return false
        }
    }

    /// Returns when the server allows one of the topics that it has refused.
    func waitUntilAllowed() async throws {
        while true {
            try await client.loop.pause(for: Self.memory)
            for topic in refused {
                // What else is wrong is seen by the stream.
                if (try? await isAllowed(topic)) == true {
                    refused = []
                    return
                }
            }
        }
    }

    // MARK: For people

    private func tell() {
        let server = client.settings
        let unread = topics.filter { refused.contains($0) && server.map(ofTopic: $0) != nil }
        let deaf = topics.filter { refused.contains($0) && server.map(ofTopic: $0) == nil }
        status.setProblem(
            "\(server.address.name) subscribe",
            unread.isEmpty || allowed.isEmpty
                ? nil
                : BridgeStatus.Problem(
                    "\(server.address.name): \(Self.sentence(unread)); the others are received",
                    "Allow it at the server, or take \(Self.list(unread)) out of 'subscribe'."))
        status.setProblem(
            "\(server.address.name) clear",
            deaf.isEmpty
                ? nil
                : BridgeStatus.Problem(
                    "\(server.address.name): \(Self.sentence(deaf)), so what is read on the phone is not heard here",
                    "Allow it at the server, or write clear = false into the map with publish = \"\(deaf[0])\"."))
    }

    static func sentence(_ topics: [String]) -> String { "it does not allow this user to read \(list(topics))" }

    private static func list(_ topics: [String]) -> String { topics.map { "\"\($0)\"" }.joined(separator: ", ") }
}
