import AsyncHTTPClient
import NIOCore
import NotifyClient
import NtfyMessages

/// The messages of an answer, which are read later.
struct ServerAnswer: Sendable {
    fileprivate let body: HTTPClientResponse.Body
    fileprivate let pace: ServerPace
    fileprivate let loop: WorkLoop
    /// Its `Content-Type`.
    fileprivate let type: String

    init(_ body: HTTPClientResponse.Body, type: String, at pace: ServerPace, _ loop: WorkLoop) {
        self.body = body
        self.type = type
        self.pace = pace
        self.loop = loop
    }

    /// For one reader.
    var lines: ServerLines { ServerLines(self) }
}

/// The lines of an answer, piece by piece. An answer whose first line is none of ntfy is that of somebody else. They
/// are read as they are taken, and at the pace of ``ReadingLimit`` at most: what the server says meanwhile stays in the
/// network.
struct ServerLines {
    private var iterator: HTTPClientResponse.Body.AsyncIterator
    private let pace: ServerPace
    private let loop: WorkLoop
    private let type: String
    private var reader = LineReader()
    private var pause = Duration.zero
    private var lastLine = ContinuousClock.now
    private var isOver = false
    /// Whether a line of ntfy has come.
    private var isKnown = false

    /// A line takes at most so long.
    private static let patience: Duration = .seconds(300)

    fileprivate init(_ answer: ServerAnswer) {
        iterator = answer.body.makeAsyncIterator()
        pace = answer.pace
        loop = answer.loop
        type = answer.type
    }

    /// - Returns: the next piece, also one without a line; `nil` at the end.
    mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> LineReader.Piece? {
        guard !isOver else { return nil }
        // Other servers have their turn, also where there is no pause.
        try await loop.pause(for: pause)
        if let piece = try split() { return piece }
        guard let buffer = try await ServerClient.translating({ try await iterator.next(isolation: isolation) }) else {
            isOver = true
            guard let rest = reader.finish() else { return nil }
            try check(rest)
            return LineReader.Piece(lines: [rest])
        }
        reader.append(Array(buffer.readableBytesView))
        return try split() ?? LineReader.Piece()
    }

    /// Splits some of what was read, and counts it before anybody looks at it.
    private mutating func split() throws -> LineReader.Piece? {
        guard let piece = reader.next() else { return nil }
        pause = pace.read(lines: piece.ends, bytes: piece.bytes)
        if reader.isEndless { throw ServerFailure.rude("one of its lines has no end; is 'url' a server of ntfy?") }
        if let first = piece.lines.first {
            try check(first)
            lastLine = .now
        }
        guard ContinuousClock.now - lastLine < Self.patience else {
            throw ServerFailure.away("it has said nothing whole for too long")
        }
        return piece
    }

    private mutating func check(_ line: [UInt8]) throws {
        guard !isKnown else { return }
        guard ServerReply.isLine(line) else {
            let found = ServerReply.description(of: line, type: type)
            throw ServerFailure.rude(
                "it answers with something else than messages (\(found)); is 'url' a server of ntfy?")
        }
        isKnown = true
    }
}

/// The pace at which all answers of a server are read.
final class ServerPace: Sendable {
    private let limit = Locked(ReadingLimit())
    private let start = ContinuousClock.now

    func read(lines: Int, bytes: Int) -> Duration {
        limit.withLock { $0.read(lines: lines, bytes: bytes, at: ContinuousClock.now - start) }
    }
}
