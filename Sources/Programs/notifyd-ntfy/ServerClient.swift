import AsyncHTTPClient
import Mapping
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NotifyBridge
import NotifyClient
import NotifyText
import TOMLTables

/// Requests to one server. Redirects are not followed: the secret goes to this server and to no other.
final class ServerClient: Sendable {
    let settings: NtfySettings.Server
    let loop: WorkLoop
    private let http: HTTPClient
    private let limit: Locked<RequestLimit>
    private let start = ContinuousClock.now
    /// The pace at which all answers are read.
    private let reading = Locked(ReadingLimit())

    /// How long a server may take for the head of its answer.
    private static let timeout = TimeAmount.seconds(30)
    /// How long an answer that is read whole may take.
    private static let answerTimeout: Duration = .seconds(60)
    /// Bytes of an answer that is shown to people.
    private static let shownAnswer = 1024
    /// Bytes of an answer that is read whole.
    private static let maximumAnswer = 64 << 10

    init(_ settings: NtfySettings.Server, on group: any EventLoopGroup, _ loop: WorkLoop) throws {
        self.settings = settings
        self.loop = loop
        limit = Locked(RequestLimit())
        let configuration = HTTPClient.Configuration.cautious(
            connect: .seconds(15), read: .microseconds(settings.silence.microseconds), write: .seconds(60),
            trusting: try settings.authorities.map { try NIOSSLCertificate.fromPEMFile($0) })
        http = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    func shutdown() async { try? await http.shutdown() }

    // MARK: Requests

    /// Waits until the server takes another request.
    func waitForTurn() async throws {
        while let pause = limit.withLock({ $0.take(at: ContinuousClock.now - start) }) {
            try await loop.pause(for: pause)
        }
    }

    /// How long to wait before more is read.
    fileprivate func pause(afterReading piece: LineReader.Piece) -> Duration {
        reading.withLock { $0.read(lines: piece.ends, bytes: piece.bytes, at: ContinuousClock.now - start) }
    }

    /// The messages of the topics that are listened to.
    ///
    /// - Parameters:
    ///   - query: after the question mark.
    ///   - topics: separated by commas.
    func messages(of topics: String, query: String) async throws -> ServerAnswer {
        let response = try await answer(to: try request(.GET, "/\(topics)/json?\(query)"))
        let type = response.headers.first(name: "content-type")?.lowercased() ?? ""
        guard type.hasPrefix("application/x-ndjson") || type.hasPrefix("application/json") else {
            let beginning = try? await beginning(of: response)
            throw ServerFailure.noMessages(ServerReply.description(of: beginning ?? [], type: type))
        }
        let coding = response.headers.first(name: "content-encoding")?.lowercased() ?? "identity"
        guard coding == "identity" else { throw ServerFailure.rude("its answer is compressed, unasked") }
        return ServerAnswer(body: response.body, type: type, client: self)
    }

    /// Has the server make a message. When it returns, the server has said that it has.
    ///
    /// - Parameters:
    ///   - sequence: of the message that is published.
    ///   - event: the message that the server is to make.
    ///   - topic: where.
    func send(
        _ method: HTTPMethod, _ path: String, body: [UInt8]? = nil, sequence: String? = nil,
        making event: NtfyMessage.Event, in topic: String
    ) async throws {
        var request = try request(method, path)
        if let body {
            request.headers.replaceOrAdd(name: "Content-Type", value: "application/json")
            request.body = .bytes(body)
        }
        if let sequence { request.headers.replaceOrAdd(name: "X-Sequence-ID", value: sequence) }
        let response = try await answer(to: request)
        let type = response.headers.first(name: "content-type") ?? ""
        if let mistake = ServerReply.mistake(in: try await whole(response), type: type, to: event, of: topic) {
            throw ServerFailure.rude(mistake + "; is 'url' a server of ntfy, or is there a login page between?")
        }
    }

    /// The body of an answer that is short.
    private func whole(_ response: HTTPClientResponse) async throws -> [UInt8] {
        try await Self.translating {
            var bytes: [UInt8] = []
            let deadline = ContinuousClock.now + Self.answerTimeout
            for try await part in response.body {
                bytes += part.readableBytesView
                guard bytes.count <= Self.maximumAnswer, deadline > .now else {
                    throw ServerFailure.rude("an answer of it has no end")
                }
            }
            return bytes
        }
    }

    /// What comes first of a body, for people.
    private func beginning(of response: HTTPClientResponse) async throws -> [UInt8] {
        try await Self.translating {
            for try await part in response.body where part.readableBytes > 0 {
                return Array(part.readableBytesView.prefix(Self.shownAnswer))
            }
            return []
        }
    }

    private func request(_ method: HTTPMethod, _ path: String) throws -> HTTPClientRequest {
        var request = HTTPClientRequest(url: settings.address.description + path)
        request.method = method
        request.headers.add(name: "User-Agent", value: "notifyd-ntfy")
        request.headers.add(name: "Accept-Encoding", value: "identity")
        if let login = try authorization() { request.headers.add(name: "Authorization", value: login) }
        return request
    }

    /// Read for each request, so that a new secret counts without a restart.
    private func authorization() throws -> String? {
        do {
            switch settings.login {
            case nil: return nil
            case .token(let credential):
                guard let text = try credential.read().text, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                    throw ServerFailure.noSecret("\(credential) is not an access token, which begins with tk_")
                }
                return "Bearer \(text)"
            case .password(let credential, let user):
                return "Basic " + Base64.encode(Array(user.utf8) + [UInt8(ascii: ":")] + (try credential.read().bytes))
            }
        } catch let error as CredentialError {
            throw ServerFailure.noSecret(error.description)
        }
    }

    private func answer(to request: HTTPClientRequest) async throws -> HTTPClientResponse {
        let response = try await Self.translating { [http] in
            try await http.execute(request, deadline: .now() + Self.timeout)
        }
        guard response.status != .ok else { return response }
        var failure = Self.failure(of: response)
        if case .missing = failure, request.method != .GET, !ServerReply.isError((try? await whole(response)) ?? []) {
            // A proxy says so while the server behind it is away.
            failure = .away("there is nothing at this address (404), and it is not ntfy that says so")
        }
        if case .limited(let pause) = failure {
            limit.withLock { $0.refused(at: ContinuousClock.now - start, pause: pause) }
        }
        throw failure
    }

    // MARK: Failures

    private static func failure(of response: HTTPClientResponse) -> ServerFailure {
        switch response.status.code {
        case 201..<300:
            .rude("it answers with \(response.status.code), which ntfy never does; is 'url' a server of ntfy?")
        case 429:
            .limited(
                response.headers.first(name: "retry-after").flatMap(Int64.init).map { .seconds(min(max($0, 0), 3600)) })
        case 401: .denied("it does not let us in; the token or the password is wrong")
        case 403: .forbidden("it does not allow this user to read or write a topic")
        case 404: .missing("there is nothing at this address (404); is 'url' a server of ntfy?")
        case 300..<400: .away("it redirects to another address, which is not followed; if it has moved, change 'url'")
        case 408, 425, 500...: .away("it answers with an error (\(response.status.code))")
        default: .rejected("the server refuses it (\(response.status.code))")
        }
    }

    /// Errors of the connection become failures.
    static func translating<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let failure as ServerFailure {
            throw failure
        } catch is CancellationError {
            throw CancellationError()
        } catch let error as HTTPClientError {
            if error == .cancelled { throw CancellationError() }
            throw ServerFailure.away(Self.sentence(error))
        } catch let error as NIOSSLExtraError where error == .failedToValidateHostname {
            throw ServerFailure.untrusted("the secure connection fails: its certificate is for another name")
        } catch is NIOSSLError {
            throw ServerFailure.untrusted(
                "the secure connection fails: its certificate has expired, or its authority is not known here")
        } catch is InformationalLimit.Exceeded {
            throw ServerFailure.rude("it answers with 1xx again and again, and never with more")
        } catch is NIOConnectionError {
            throw ServerFailure.away("it cannot be reached")
        } catch {
            throw ServerFailure.away("the connection fails")
        }
    }

    private static func sentence(_ error: HTTPClientError) -> String {
        switch error {
        case .readTimeout: "it has said nothing for too long"
        case .connectTimeout, .tlsHandshakeTimeout, .deadlineExceeded, .writeTimeout: "it does not answer in time"
        case .remoteConnectionClosed: "it has closed the connection"
        default: "the connection fails (\(error.shortDescription))"
        }
    }
}

/// Why a server has not done what it was asked for.
enum ServerFailure: Error, Equatable, CustomStringConvertible {
    /// It may do it later: it cannot be reached, or has failed itself.
    case away(String)
    /// It may do it later: its certificate is not accepted.
    case untrusted(String)
    /// What it says is not what a server of ntfy says. It may be one later.
    case rude(String)
    /// Too many requests; how long to wait, if it has said that.
    case limited(Duration?)
    /// The secret cannot be read, or is none.
    case noSecret(String)
    /// It does not let us in, until somebody changes something.
    case denied(String)
    /// This user may not do that.
    case forbidden(String)
    /// There is nothing there.
    case missing(String)
    /// Never, whoever asks.
    case rejected(String)

    /// What it says are not messages.
    ///
    /// - Parameter found: what it says instead.
    static func noMessages(_ found: String) -> ServerFailure {
        .rude("it answers with something else than messages (\(found)); is 'url' a server of ntfy?")
    }

    /// Whether only a person can mend it.
    var needsSomebody: Bool {
        switch self {
        case .away, .untrusted, .rude, .limited: false
        case .noSecret, .denied, .forbidden, .missing, .rejected: true
        }
    }

    /// Whether a connection that ends so is a bad one, however long it has lived.
    var isRude: Bool {
        if case .rude = self { true } else { false }
    }

    /// For the log, without the names of topics: who knows the name of one can often read it.
    var kind: String {
        if case .forbidden = self { "it does not allow this user to read or write a topic" } else { description }
    }

    /// For people, without a secret and without anything of events.
    var description: String {
        switch self {
        case .away(let reason), .untrusted(let reason), .rude(let reason), .noSecret(let reason), .denied(let reason),
            .forbidden(let reason), .missing(let reason), .rejected(let reason):
            reason
        case .limited: "the server takes no more requests for now"
        }
    }

    private static let file = "~/.config/notifyd/ntfy.toml"

    /// What to do about it; `nil` for the usual advice.
    var advice: String? {
        switch self {
        case .noSecret: BridgeStatus.correction(of: NtfyBridge.name)
        case .denied:
            "Correct the secret where 'token' or 'password' in \(Self.file) says it is; it is read before each "
                + "request, but a credential of the unit only when that starts: systemctl --user restart notifyd-ntfy"
        case .forbidden: "Allow it at the server, or give a 'token' of somebody who may in \(Self.file)."
        case .untrusted:
            "If an authority of your own has signed it, name its file in \(Self.file): authorities = \"/path/ca.pem\". "
                + "If it has expired, or is for another name, the server needs a new one."
        case .away, .rude, .limited, .missing, .rejected: nil
        }
    }
}

/// The messages of an answer, which are read later.
struct ServerAnswer: Sendable {
    fileprivate let body: HTTPClientResponse.Body
    /// Its `Content-Type`.
    fileprivate let type: String
    fileprivate let client: ServerClient

    /// For one reader.
    var lines: ServerLines { ServerLines(self) }
}

/// The lines of an answer, piece by piece. An answer whose first line is none of ntfy is that of somebody else. They
/// are read as they are taken, and at the pace of ``ReadingLimit`` at most: what the server says meanwhile stays in the
/// network.
struct ServerLines {
    private let answer: ServerAnswer
    private var iterator: HTTPClientResponse.Body.AsyncIterator
    private var reader = LineReader()
    private var pause = Duration.zero
    private var lastLine = ContinuousClock.now
    private var isOver = false
    /// Whether a line of ntfy has come.
    private var isKnown = false

    /// A line takes at most so long.
    private static let timeout: Duration = .seconds(300)

    fileprivate init(_ answer: ServerAnswer) {
        self.answer = answer
        iterator = answer.body.makeAsyncIterator()
    }

    /// - Returns: the next piece, also one without a line; `nil` at the end.
    mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> LineReader.Piece? {
        guard !isOver else { return nil }
        // Other servers have their turn, also where there is no pause.
        try await answer.client.loop.pause(for: pause)
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
        pause = answer.client.pause(afterReading: piece)
        if reader.isEndless { throw ServerFailure.rude("one of its lines has no end; is 'url' a server of ntfy?") }
        if let first = piece.lines.first {
            try check(first)
            lastLine = .now
        }
        guard ContinuousClock.now - lastLine < Self.timeout else {
            throw ServerFailure.away("it has said nothing whole for too long")
        }
        return piece
    }

    private mutating func check(_ line: [UInt8]) throws {
        guard !isKnown else { return }
        guard ServerReply.isLine(line) else {
            throw ServerFailure.noMessages(ServerReply.description(of: line, type: answer.type))
        }
        isKnown = true
    }
}

/// Ends a connection that says more informational answers (1xx) than a request can need. The HTTP client passes over
/// any number of them, until its time for the answer is over.
final class InformationalLimit: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    /// Too many informational answers have come.
    struct Exceeded: Error {}

    /// A server says one at most; a proxy on the way may say some.
    private static let maximum = 16

    private var count = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        guard (100..<200).contains(head.status.code) else {
            count = 0
            return context.fireChannelRead(data)
        }
        count += 1
        if count <= Self.maximum { return context.fireChannelRead(data) }
        // Those that were read together with it are passed over.
        guard count == Self.maximum + 1 else { return }
        context.fireErrorCaught(Exceeded())
        context.close(promise: nil)
    }
}

extension HTTPClient.Configuration {
    /// For servers that may do anything: nothing is followed and nothing decompressed, so that a small answer cannot
    /// become a large one.
    ///
    /// - Parameter authorities: whom to trust; `nil`: those of the system.
    static func cautious(
        connect: TimeAmount, read: TimeAmount, write: TimeAmount? = nil,
        trusting authorities: [NIOSSLCertificate]? = nil
    ) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        configuration.timeout = Timeout(connect: connect, read: read)
        configuration.timeout.write = write
        configuration.connectionPool.retryConnectionEstablishment = false
        if let authorities {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .certificates(authorities)
            configuration.tlsConfiguration = tls
        }
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.eventLoop.submit {
                let pipeline = channel.pipeline.syncOperations
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                try pipeline.addHandler(InformationalLimit(), position: .after(decoder))
            }
        }
        return configuration
    }
}
