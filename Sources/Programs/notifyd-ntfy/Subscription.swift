import Logging
import Mapping
import NotifyBridge
import NotifyClient

/// The stream of a server: connected again whenever it ends, and after each connection swept for what a stream may
/// miss.
struct Subscription: Sendable {
    let client: ServerClient
    let receiver: Receiver
    let access: TopicAccess
    let board: StatusBoard
    let loop: WorkLoop
    let logger: Logger

    /// Why the server is away, as the log says.
    private let told = Locked(Told())

    private struct Told {
        var reason = ""
        var isRude = false
    }

    private var name: String { client.settings.address.name }

    /// A message is sent to those who listen before it is kept for those who ask: who connects in between hears it only
    /// later.
    private static let sweepDelay: Duration = .seconds(2)
    /// An answer that is not a stream ends within this time.
    private static let pollTimeout: Duration = .seconds(300)
    /// A connection that lives so long was a good one.
    private static let goodTime: Duration = .seconds(10)
    /// A server that was rude, and says nothing wrong for so long, is not rude any more.
    private static let politeTime: Duration = .seconds(60)

    func run() async throws {
        try await receiver.begin()
        var backoff = Backoff()
        // What only a person can mend is not tried often.
        var slow = Backoff(from: .seconds(60))
        while !Task.isCancelled {
            let begin = ContinuousClock.now
            var pause: Duration
            do {
                let hasEnded = try await listen()
                guard hasEnded else { continue }
                if ContinuousClock.now - begin > Self.goodTime { backoff.reset() }
                pause = backoff.next()
                let reason = "it has ended the stream"
                board.set(name, .inbound, .waiting, reason)
                told.withLock { $0.reason = reason }
            } catch let failure as ServerFailure {
                if ContinuousClock.now - begin > Self.goodTime, !failure.isRude {
                    backoff.reset()
                }
                pause = backoff.next()
                if failure.needsSomebody { pause = .seconds(10) + slow.next() }
                board.set(name, .inbound, failure)
                // The same is told once, and not with each attempt.
                let isTold = told.withLock { told in
                    defer { told = Told(reason: failure.description, isRude: failure.isRude) }
                    return told.reason == failure.description
                }
                logger.log(
                    level: isTold ? .debug : .notice, "The server is away",
                    metadata: ["server": "\(name)", "error": "\(failure.kind)"])
            }
            try await loop.pause(for: pause)
        }
    }

    /// - Returns: `false` if it is to be connected again at once, because topics may be read now that were refused.
    private func listen() async throws -> Bool {
        let since = await receiver.since.map { "\($0)" } ?? "none"
        let (answer, topics) = try await access.open(query: "since=\(since)")
        return try await withThrowingTaskGroup { group in
            group.addTask {
                try await self.read(answer, of: topics, since: since)
                return true
            }
            if await access.hasRefused {
                group.addTask {
                    try await access.waitUntilAllowed()
                    return false
                }
            }
            defer { group.cancelAll() }
            return try await group.next() ?? true
        }
    }

    private func read(_ answer: ServerAnswer, of topics: String, since: String) async throws {
        var sweep: Task<Void, Never>?
        defer { sweep?.cancel() }
        let begin = ContinuousClock.now
        try await passLines(of: answer) { next in
            if ContinuousClock.now - begin > Self.politeTime {
                board.setRude(name, .inbound, nil)
                reportReturn()
            }
            switch next {
            case .nothing: break
            case .opened(let clockWentBack):
                board.set(name, .inbound, .connected)
                if !told.withLock({ $0.isRude }) { reportReturn() }
                if sweep == nil {
                    sweep = loop.task { await self.sweep(topics, since: clockWentBack ? "all" : since) }
                }
            // Nothing more is read before it is there, so that a server cannot ask for more than it answers.
            case .fetch(let topic, let id): await poll(topic, "poll=1&id=\(id)")
            }
        }
    }

    private func reportReturn() {
        let wasAway = told.withLock { told in
            defer { told = Told() }
            return !told.reason.isEmpty
        }
        if wasAway { logger.notice("The server is back", metadata: ["server": "\(name)"]) }
    }

    /// Passes the lines of an answer on.
    ///
    /// - Parameter deadline: when it has to end; `nil` for a stream.
    private func passLines(
        of answer: ServerAnswer, until deadline: ContinuousClock.Instant? = nil,
        _ handle: (Receiver.Next) async -> Void = { _ in }
    ) async throws {
        var lines = answer.lines
        var malformed = MalformedLines()
        while let piece = try await lines.next() {
            malformed.add(piece.empty)
            try check(malformed)
            for line in piece.lines {
                do throws(MapError) {
                    await handle(try await receiver.receive(line))
                    malformed.addMessage()
                } catch {
                    malformed.add()
                    try check(malformed)
                }
            }
            for beginning in piece.beginnings { await receiver.droppedLine(beginning) }
            if let deadline, deadline < .now { throw ServerFailure.rude("an answer of it has no end") }
        }
    }

    private func check(_ malformed: MalformedLines) throws {
        guard malformed.areTooMany else { return }
        throw ServerFailure.rude("much of what it says is not a message; is 'url' a server of ntfy?")
    }

    /// Asks once more for what was said lately, until the server has answered.
    private func sweep(_ topics: String, since: String) async {
        guard since != "none", (try? await loop.pause(for: Self.sweepDelay)) != nil else { return }
        var backoff = Backoff()
        while !Task.isCancelled {
            if await poll(topics, "poll=1&since=\(since)") { return await receiver.endSweep() }
            await loop.sleep(for: backoff.next())
        }
    }

    /// - Returns: whether the server has answered.
    @discardableResult
    private func poll(_ topics: String, _ query: String) async -> Bool {
        do {
            try await client.waitForTurn()
            try await passLines(of: try await client.messages(of: topics, query: query), until: .now + Self.pollTimeout)
            return true
        } catch {
            logger.debug("A sweep has failed", metadata: ["server": "\(name)"])
            return false
        }
    }
}

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
            reportRefused()
            return found
        }
        // With one topic it is known which one.
        refused = topics.count == 1 ? Set(topics) : try await refusedTopics()
        asked = .now
        reportRefused()
        guard !allowed.isEmpty, let found = try await stream(query) else {
            throw ServerFailure.forbidden(Self.sentence(topics))
        }
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

    private func reportRefused() {
        let server = client.settings
        let unread = topics.filter { refused.contains($0) && server.map(ofTopic: $0) != nil }
        let deaf = topics.filter { refused.contains($0) && server.map(ofTopic: $0) == nil }
        let name = server.address.name
        status.setProblem(
            "\(name) subscribe",
            unread.isEmpty || allowed.isEmpty ? nil : "\(name): \(Self.sentence(unread)); the others are received",
            "Allow it at the server, or take \(Self.list(unread)) out of 'subscribe'.")
        status.setProblem(
            "\(name) clear",
            deaf.isEmpty
                ? nil : "\(name): \(Self.sentence(deaf)), so what is read on the phone is not heard here",
            "Allow it at the server, or write clear = false into the map with publish = \"\(deaf.first ?? "")\".")
    }

    static func sentence(_ topics: [String]) -> String { "it does not allow this user to read \(list(topics))" }

    private static func list(_ topics: [String]) -> String { topics.map { "\"\($0)\"" }.joined(separator: ", ") }
}
