import AsyncHTTPClient
import Logging
import NIOCore
import NotifyBridge
import NtfyMessages
import NtfySettings

/// The stream of a server: connected again whenever it ends, and after each connection swept for what a stream may miss.
struct Subscription: Sendable {
    let client: ServerClient
    let intake: Intake
    let board: StatusBoard
    let logger: Logger

    private var name: String { client.settings.address.name }
    private var topics: String { client.settings.topics.joined(separator: ",") }

    /// A message is sent to those who listen before it is kept for those who ask: who connects in between hears it only later.
    private static let sweepDelay: Duration = .seconds(2)
    /// A line takes at most so long.
    private static let linePatience: Duration = .seconds(300)
    /// A connection that lives so long was a good one.
    private static let goodTime: Duration = .seconds(10)
    /// Lines of a connection that are no messages, before it is given up.
    private static let maximumStrange = 20

    func run() async throws {
        try await intake.begin()
        var backoff = Backoff()
        // What only a person can mend is not tried often.
        var slow = Backoff(from: .seconds(60))
        while !Task.isCancelled {
            let begin = ContinuousClock.now
            var pause: Duration
            do {
                try await listen()
                if ContinuousClock.now - begin > Self.goodTime { backoff.reset() }
                pause = backoff.next()
                board.set(name, .inbound, .waiting, "it has ended the stream")
            } catch let failure as ServerFailure {
                if ContinuousClock.now - begin > Self.goodTime { backoff.reset() }
                pause = backoff.next()
                if failure.needsSomebody { pause = .seconds(10) + slow.next() }
                board.set(name, .inbound, failure.needsSomebody ? .failed : .waiting, failure.description)
                logger.notice("The server is away", metadata: ["server": "\(name)", "error": "\(failure)"])
            }
            try await Task.sleep(for: pause)
        }
    }

    private func listen() async throws {
        try await client.waitForTurn()
        let since = await intake.since.map { "\($0)" } ?? "none"
        let body = try await client.messages(of: topics, query: "since=\(since)")
        var sweep: Task<Void, Never>?
        defer { sweep?.cancel() }
        try await read(body) { next in
            switch next {
            case .nothing: break
            case .opened(let clockWentBack):
                board.set(name, .inbound, .connected)
                if sweep == nil { sweep = Task { await self.sweep(since: clockWentBack ? "all" : since) } }
            case .fetch(let topic, let id):
                Task { await self.poll(topic, "poll=1&id=\(id)") }
            }
        }
    }

    /// Passes the lines of an answer on.
    private func read(_ body: HTTPClientResponse.Body, _ handle: (Intake.Next) -> Void = { _ in }) async throws {
        var reader = LineReader()
        var dropped = 0
        var strange = 0
        var lastLine = ContinuousClock.now
        var iterator = body.makeAsyncIterator()
        while let buffer = try await ServerClient.translating({ try await iterator.next() }) {
            for line in reader.append(buffer.readableBytesView) {
                lastLine = .now
                do {
                    handle(try await intake.take(line))
                } catch is NtfyError {
                    strange += 1
                }
            }
            while dropped < reader.dropped {
                dropped += 1
                await intake.droppedLine()
            }
            if strange + dropped > Self.maximumStrange {
                throw ServerFailure.away("most of what it says is no message; is 'url' a server of ntfy?")
            }
            guard ContinuousClock.now - lastLine < Self.linePatience else {
                throw ServerFailure.away("it has said nothing whole for too long")
            }
        }
        if let line = reader.finish() { handle((try? await intake.take(line)) ?? .nothing) }
    }

    /// Asks once more for what was said lately, until the server has answered.
    private func sweep(since: String) async {
        guard since != "none", (try? await Task.sleep(for: Self.sweepDelay)) != nil else { return }
        var backoff = Backoff()
        while !Task.isCancelled {
            if await poll(topics, "poll=1&since=\(since)") { return await intake.swept() }
            try? await Task.sleep(for: backoff.next())
        }
    }

    /// - Returns: whether the server has answered.
    @discardableResult
    private func poll(_ topics: String, _ query: String) async -> Bool {
        do {
            try await client.waitForTurn()
            try await read(try await client.messages(of: topics, query: query))
            return true
        } catch {
            logger.debug("A sweep has failed", metadata: ["server": "\(name)", "error": "\(error)"])
            return false
        }
    }
}
