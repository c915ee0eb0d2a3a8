import AsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1
import NotifyText
import NtfyMessages

/// Makes the requests of buttons. They have nothing of ours: no secret, no cookie.
struct ButtonRequests: Sendable {
    let group: any EventLoopGroup
    let logger: Logger

    private static let timeout = TimeAmount.seconds(10)
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
    /// What the client itself says.
    private static let refusedHeaders = ["host", "content-length", "transfer-encoding", "connection", "te", "upgrade"]

    /// - Parameter event: the number of the event, for the log.
    /// - Returns: whether it was taken.
    func make(_ action: NtfyAction, of event: UInt64) async -> Bool {
        guard case .http(let url, let method, let headers, let body) = action.kind,
            let request = Self.request(url, method, headers, body)
        else {
            logger.notice("A button has a request that cannot be made", metadata: ["event": "\(event)"])
            return false
        }
        // The path and the headers may have secrets.
        var metadata: Logger.Metadata = ["event": "\(event)", "host": "\(AddressHost.host(of: url))"]
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        configuration.limitInformational()
        configuration.timeout = HTTPClient.Configuration.Timeout(connect: Self.timeout, read: Self.timeout)
        configuration.connectionPool.retryConnectionEstablishment = false
        let http = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        var isDone = false
        do {
            let response = try await ServerClient.translating {
                try await http.execute(request, deadline: .now() + Self.timeout)
            }
            isDone = (200..<300).contains(response.status.code)
            metadata["status"] = "\(response.status.code)"
            logger.log(
                level: isDone ? .info : .warning,
                isDone ? "A button's request was made" : "A button's request was refused", metadata: metadata)
        } catch {
            metadata["error"] = "\(error)"
            logger.warning("A button's request has failed", metadata: metadata)
        }
        try? await http.shutdown()
        return isDone
    }

    static func request(
        _ url: String, _ method: String, _ headers: [(name: String, value: String)], _ body: String
    ) -> HTTPClientRequest? {
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), Authority(ofAddress: url) != nil,
            methods.contains(method)
        else { return nil }
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        request.headers.add(name: "User-Agent", value: "notifyd-ntfy")
        for (name, value) in headers where !refusedHeaders.contains(name.lowercased()) {
            request.headers.add(name: name, value: value)
        }
        if !body.isEmpty { request.body = .bytes(Array(body.utf8)) }
        return request
    }
}
