import Logging
import NotifyBridge
import NotifyClient
import NtfyMessages
import NtfySettings

/// The stream of a server: connected again whenever it ends, and after each connection swept for what a stream may miss.
struct Subscription: Sendable {
    let client: ServerClient
    let intake: Intake
    let access: TopicAccess
    let board: StatusBoard
    let loop: WorkLoop
    let logger: Logger

    private var name: String { client.settings.address.name }

    /// A message is sent to those who listen before it is kept for those who ask: who connects in between hears it only later.
    private static let sweepDelay: Duration = .seconds(2)
    /// An answer that is no stream ends within this time.
    private static let pollPatience: Duration = .seconds(300)
    /// A connection that lives so long was a good one.
    private static let goodTime: Duration = .seconds(10)
    /// A server that was rude, and says nothing wrong for so long, is not rude any more.
    private static let politeTime: Duration = .seconds(60)

    func run() async throws {
        try await intake.begin()
        var backoff = Backoff()
        // What only a person can mend is not tried often.
        var slow = Backoff(from: .seconds(60))
        var told = ""
        while !Task.isCancelled {
            let begin = ContinuousClock.now
            var pause: Duration
            do {
                let hasEnded = try await listen()
                told = ""
                guard hasEnded else { continue }
                if ContinuousClock.now - begin > Self.goodTime { backoff.reset() }
                pause = backoff.next()
                board.set(name, .inbound, .waiting, "it has ended the stream")
            } catch let failure as ServerFailure {
                if ContinuousClock.now - begin > Self.goodTime, !failure.isRude {
                    backoff.reset()
                    told = ""
                }
                pause = backoff.next()
                if failure.needsSomebody { pause = .seconds(10) + slow.next() }
                board.set(name, .inbound, failure.needsSomebody ? .failed : .waiting, failure.description)
                if failure.isRude { board.setRude(name, failure.description) }
                // The same is told once, and not with each attempt.
                logger.log(
                    level: told == failure.description ? .debug : .notice, "The server is away",
                    metadata: ["server": "\(name)", "error": "\(failure.kind)"])
                told = failure.description
            }
            try await loop.pause(for: pause)
        }
    }

    /// - Returns: `false` if it is to be connected again at once, because topics may be read now that were refused.
    private func listen() async throws -> Bool {
        let since = await intake.since.map { "\($0)" } ?? "none"
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
        try await take(answer) { next in
            if ContinuousClock.now - begin > Self.politeTime { board.setRude(name, nil) }
            switch next {
            case .nothing: break
            case .opened(let clockWentBack):
                board.set(name, .inbound, .connected)
                if sweep == nil {
                    sweep = loop.task { await self.sweep(topics, since: clockWentBack ? "all" : since) }
                }
            // Nothing more is read before it is there, so that a server cannot ask for more than it answers.
            case .fetch(let topic, let id): await poll(topic, "poll=1&id=\(id)")
            }
        }
    }

    /// Passes the lines of an answer on.
    ///
    /// - Parameter deadline: when it has to end; `nil` for a stream.
    private func take(
        _ answer: ServerAnswer, until deadline: ContinuousClock.Instant? = nil,
        _ handle: (Intake.Next) async -> Void = { _ in }
    ) async throws {
        var lines = answer.lines
        var dropped = 0
        var strange = StrangeLines()
        while let piece = try await lines.next() {
            strange.add(piece.empty)
            try check(strange)
            for line in piece.lines {
                do {
                    await handle(try await intake.take(line))
                    strange.addMessage()
                } catch is NtfyError {
                    strange.add()
                    try check(strange)
                }
            }
            while dropped < lines.dropped {
                dropped += 1
                await intake.droppedLine()
            }
            if let deadline, deadline < .now { throw ServerFailure.rude("an answer of it has no end") }
        }
    }

    private func check(_ strange: StrangeLines) throws {
        guard strange.areTooMany else { return }
        throw ServerFailure.rude("much of what it says is no message; is 'url' a server of ntfy?")
    }

    /// Asks once more for what was said lately, until the server has answered.
    private func sweep(_ topics: String, since: String) async {
        guard since != "none", (try? await loop.pause(for: Self.sweepDelay)) != nil else { return }
        var backoff = Backoff()
        while !Task.isCancelled {
            if await poll(topics, "poll=1&since=\(since)") { return await intake.swept() }
            await loop.sleep(for: backoff.next())
        }
    }

    /// - Returns: whether the server has answered.
    @discardableResult
    private func poll(_ topics: String, _ query: String) async -> Bool {
        do {
            try await client.waitForTurn()
            try await take(try await client.messages(of: topics, query: query), until: .now + Self.pollPatience)
            return true
        } catch {
            logger.debug("A sweep has failed", metadata: ["server": "\(name)"])
            return false
        }
    }
}
