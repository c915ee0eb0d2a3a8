import AsyncHTTPClient
import Credentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NotifyClient
import NotifyText
import NtfyMessages
import NtfySettings
import Routing

/// Requests to one server. Redirects are not followed: the secret goes to this server and to no other.
final class ServerClient: Sendable {
    let settings: NtfySettings.Server
    let loop: WorkLoop
    private let http: HTTPClient
    private let limit: Locked<RequestLimit>
    private let start = ContinuousClock.now
    private let pace = ServerPace()

    /// How long a server may take for the head of its answer.
    private static let patience = TimeAmount.seconds(30)
    /// How long an answer that is read whole may take.
    private static let answerPatience: Duration = .seconds(60)
    /// Bytes of an answer that is shown to people.
    private static let shownAnswer = 1024
    /// Bytes of an answer that is read whole.
    private static let maximumAnswer = 64 << 10

    init(_ settings: NtfySettings.Server, on group: any EventLoopGroup, _ loop: WorkLoop) throws {
        self.settings = settings
        self.loop = loop
        limit = Locked(RequestLimit(at: .zero))
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // Nothing is decompressed, so that a small answer cannot become a large one.
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        configuration.limitInformational()
        configuration.timeout = HTTPClient.Configuration.Timeout(
            connect: .seconds(15), read: .microseconds(settings.silence.microseconds), write: .seconds(60))
        configuration.connectionPool.retryConnectionEstablishment = false
        if let authorities = settings.authorities {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authorities))
            configuration.tlsConfiguration = tls
        }
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
            let found = ServerReply.description(of: beginning ?? [], type: type)
            throw ServerFailure.rude(
                "it answers with something else than messages (\(found)); is 'url' a server of ntfy?")
        }
        let coding = response.headers.first(name: "content-encoding")?.lowercased() ?? "identity"
        guard coding == "identity" else { throw ServerFailure.rude("its answer is compressed, unasked") }
        return ServerAnswer(response.body, type: type, at: pace, loop)
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
            let deadline = ContinuousClock.now + Self.answerPatience
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
                    throw ServerFailure.denied("\(credential) is no access token, which begins with tk_")
                }
                return "Bearer \(text)"
            case .password(let credential, let user):
                return "Basic " + Base64.encode(Array(user.utf8) + [UInt8(ascii: ":")] + (try credential.read().bytes))
            }
        } catch let error as CredentialError {
            throw ServerFailure.denied(error.description)
        }
    }

    private func answer(to request: HTTPClientRequest) async throws -> HTTPClientResponse {
        let response = try await Self.translating { [http] in
            try await http.execute(request, deadline: .now() + Self.patience)
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
            throw ServerFailure.away("the secure connection fails: its certificate is for another name")
        } catch is NIOSSLError {
            throw ServerFailure.away(
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
