import AsyncHTTPClient
import Logging
import Mapping
import NIOCore
import NIOHTTP1
import NotifyBridge
import NotifyClient
import NotifyText

/// Does what the buttons of messages are for. What a button does is read from the fields of its event, so that it works
/// after a restart too.
actor Buttons {
    private let servers: [NtfySettings.Server]
    private let services: BridgeServices
    private let opener: Opener
    private let group: any EventLoopGroup
    /// Presses that are being handled at once.
    private var running = 0
    private static let maximumRunning = 8

    init(_ servers: [NtfySettings.Server], _ services: BridgeServices, on group: any EventLoopGroup) {
        self.servers = servers
        self.services = services
        opener = Opener(bus: services.address, logger: services.logger)
        self.group = group
    }

    /// Listens until the task is cancelled.
    func run() async throws {
        let (presses, continuation) = AsyncStream.makeStream(of: Action.self, bufferingPolicy: .bufferingNewest(16))
        let observation = services.daemon.observe([.action]) { notice in
            if case .action(let action) = notice { continuation.yield(action) }
        }
        for await press in presses where running < Self.maximumRunning {
            running += 1
            services.loop.task { await self.handle(press) }
        }
        withExtendedLifetime(observation) {}
    }

    private func handle(_ press: Action) async {
        defer { running -= 1 }
        guard let (fields, map) = await event(of: press), await isDone(press, fields, map) else { return }
        // The banner is resident: what has done nothing leaves it where it is.
        _ = await services.daemon.perform(.claim(press.id))
    }

    /// Does what a button is for.
    ///
    /// - Returns: whether it is done.
    private func isDone(_ press: Action, _ fields: Fields, _ map: SubscribeMap) async -> Bool {
        let addresses = [
            "default": NtfyEvent.clickField, NtfyEvent.openKey: NtfyEvent.clickField,
            NtfyEvent.attachmentKey: NtfyEvent.attachmentField,
        ]
        if let field = addresses[press.action] {
            guard let address = fields[field]?.string else { return false }
            return await opener.open(address)
        }
        let actions = NtfyAction.list(from: fields[NtfyEvent.actionsField]?.string ?? "")
        guard let index = NtfyEvent.actionIndex(ofKey: press.action), index < actions.count, let action = actions[index]
        else { return false }
        switch action.kind {
        case .view(let url): return await opener.open(url)
        case .copy(let value): return await opener.copy(value)
        case .http where map.makesRequests: return await makeRequest(action, of: press.id.rawValue)
        case .http, .broadcast, .unknown: return false
        }
    }

    /// The fields of an event that a server of the configuration has brought, and its map.
    private func event(of press: Action) async -> (fields: Fields, map: SubscribeMap)? {
        let explained = await services.daemon.perform(DaemonCall("Explain", [.uint64(press.id.rawValue)]))
        guard let source = explained.record?["source"]?.string,
            let map = servers.lazy.compactMap({ server in
                server.address.topic(ofSource: source).flatMap { server.map(ofTopic: $0) }
            }).first
        else { return nil }
        let call = DaemonCall("History", [.string(press.topic), .uint64(press.id.rawValue - 1), .uint32(1)])
        guard let event = await services.daemon.perform(call).events?.first?.event, event.id == press.id else {
            return nil
        }
        return (event.fields, map)
    }
}

/// The requests of buttons. They have nothing of ours: no secret, no cookie.
extension Buttons {
    private static let timeout = TimeAmount.seconds(10)
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
    /// What the client itself says.
    private static let refusedHeaders = ["host", "content-length", "transfer-encoding", "connection", "te", "upgrade"]

    /// - Parameter event: the number of the event, for the log.
    /// - Returns: whether it was taken.
    private func makeRequest(_ action: NtfyAction, of event: UInt64) async -> Bool {
        let logger = services.logger
        guard case .http(let url, let method, let headers, let body) = action.kind,
            let request = Self.request(url, method, headers, body)
        else {
            logger.notice("A button has a request that cannot be made", metadata: ["event": "\(event)"])
            return false
        }
        // The path and the headers may have secrets.
        var metadata: Logger.Metadata = ["event": "\(event)", "host": "\(AddressHost.host(of: url))"]
        let configuration = HTTPClient.Configuration.cautious(connect: Self.timeout, read: Self.timeout)
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

    private static func request(
        _ url: String, _ method: String, _ headers: [NtfyAction.Header], _ body: String
    ) -> HTTPClientRequest? {
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), Authority(ofAddress: url) != nil,
            methods.contains(method)
        else { return nil }
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        request.headers.add(name: "User-Agent", value: "notifyd-ntfy")
        for header in headers where !refusedHeaders.contains(header.name.lowercased()) {
            request.headers.add(name: header.name, value: header.value)
        }
        if !body.isEmpty { request.body = .bytes(Array(body.utf8)) }
        return request
    }
}
