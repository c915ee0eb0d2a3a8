import AsyncHTTPClient
import Glibc
import Logging
import Mapping
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NotifyBridge
import NotifyClient
import NotifyText

/// Fetches the pictures of messages, for their banners: small ones, of known kinds, and from this network's
/// neighbourhood only if the server itself is there. They are files in the user's run-time folder, of which the oldest
/// are removed.
struct Pictures: Sendable {
    let folder: PictureFolder
    let group: any EventLoopGroup
    let loop: WorkLoop
    let logger: Logger

    static let maximumBytes = 256 << 10
    /// The event waits for each address of its picture; not longer than this.
    static let overallTimeout: Duration = .seconds(4)
    private static let timeout = TimeAmount.seconds(3)

    init(on group: any EventLoopGroup, _ loop: WorkLoop, logger: Logger) throws(PictureFolder.Failure) {
        folder = try PictureFolder("notifyd-ntfy")
        self.group = group
        self.loop = loop
        self.logger = logger
    }

    /// - Returns: the path of a file with the attachment, if it is a picture, or the icon of a message.
    func fetch(for message: NtfyMessage, from server: NtfySettings.Server) async -> String? {
        for url in Self.addresses(of: message) {
            switch await within(Self.overallTimeout, { await fetch(url, server) }) ?? .refused("it takes too long") {
            case .refused(let reason):
                // The path may have secrets.
                logger.info(
                    "A picture is not taken", metadata: ["host": "\(AddressHost.host(of: url))", "error": "\(reason)"])
            case .taken(let bytes, let kind):
                do throws(PictureFolder.Failure) {
                    return try folder.keep(bytes, kind: kind.rawValue)
                } catch {
                    logger.warning("A picture cannot be kept", metadata: ["error": "\(error)"])
                }
            }
        }
        return nil
    }

    static func addresses(of message: NtfyMessage) -> [String] {
        var addresses: [String] = []
        if let file = message.attachment {
            let kinds = [".png", ".jpg", ".jpeg", ".gif", ".webp"]
            if file.type?.hasPrefix("image/") ?? kinds.contains(where: { file.name.lowercased().hasSuffix($0) }) {
                addresses.append(file.url)
            }
        }
        return addresses + (message.icon.map { [$0] } ?? [])
    }

    /// What becomes of a picture.
    private enum Fetched: Sendable {
        case taken([UInt8], PictureHeader.Kind)
        /// For the log.
        case refused(String)
    }

    private func fetch(_ url: String, _ server: NtfySettings.Server) async -> Fetched {
        guard url.utf8.count <= 2048 else { return .refused("its address is longer than 2048 bytes") }
        guard let target = Self.origin(of: url) else { return .refused("its address is not one of http or https") }
        let isServer = target.host == server.address.host && target.port == server.address.port
        var configuration = HTTPClient.Configuration.cautious(
            connect: Self.timeout, read: Self.timeout, trusting: isServer ? server.trustedAuthorities : nil)
        configuration.connectionPool.retryConnectionEstablishment = true
        if !isServer {
            // Connected to the address that was looked at, and to no other that the name has a moment later.
            guard let address = await Self.publicAddress(of: target.host) else {
                return .refused("its host is unknown, or not on the public network")
            }
            if address != target.host { configuration.dnsOverride[target.host] = address }
        }
        let http = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        let fetched = await Self.fetch(url, with: http)
        try? await http.shutdown()
        return fetched
    }

    private static func fetch(_ url: String, with http: HTTPClient) async -> Fetched {
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "User-Agent", value: "notifyd-ntfy")
        request.headers.add(name: "Accept", value: "image/png, image/jpeg, image/gif, image/webp")
        do {
            let response = try await ServerClient.translating {
                try await http.execute(request, deadline: .now() + timeout)
            }
            guard response.status == .ok else { return .refused("it is answered with \(response.status.code)") }
            let type = response.headers.first(name: "content-type") ?? ""
            guard type.lowercased().hasPrefix("image/") else {
                return .refused("its Content-Type is not an image (\(type.visible().beginning(ofBytes: 100)))")
            }
            var bytes: [UInt8] = []
            try await ServerClient.translating {
                for try await part in response.body {
                    bytes += part.readableBytesView
                    if bytes.count > maximumBytes { break }
                }
            }
            guard bytes.count <= maximumBytes else { return .refused("it is larger than \(maximumBytes >> 10) KiB") }
            guard let header = PictureHeader(bytes) else { return .refused("it is not a PNG, JPEG, GIF or WebP") }
            guard header.isDrawable else {
                let isLarge = max(header.width, header.height) > PictureHeader.maximumSide
                let frames = isLarge ? "" : ", and \(header.pixels) pixels with all its frames"
                return .refused("it is \(header.width) × \(header.height) pixels large\(frames)")
            }
            return .taken(bytes, header.kind)
        } catch {
            return .refused("\(error)")
        }
    }

    /// Scheme, host and port of an address.
    private static func origin(of url: String) -> ServerAddress? {
        guard let colon = url.firstIndex(of: ":") else { return nil }
        let rest = url[colon...].dropFirst(3)
        return ServerAddress(url[..<colon].lowercased() + "://" + rest.prefix { !"/?#".contains($0) })
    }

    // MARK: Names

    /// The first address of a host; `nil` if it has none, or one that is not public.
    private static func publicAddress(of host: String) async -> String? {
        try? await NIOThreadPool.singleton.runIfActive {
            var hints = addrinfo()
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var list: UnsafeMutablePointer<addrinfo>?
            guard getaddrinfo(host, nil, &hints, &list) == 0 else { return nil }
            defer { freeaddrinfo(list) }
            var first: String?
            var entry = list
            while let info = entry {
                guard let (text, bytes) = address(info.pointee.ai_addr), PublicAddress.isPublic(bytes) else {
                    return nil
                }
                first = first ?? text
                entry = info.pointee.ai_next
            }
            return first
        }
    }

    private static func address(_ pointer: UnsafeMutablePointer<sockaddr>?) -> (text: String, bytes: [UInt8])? {
        guard let pointer else { return nil }
        let family = Int32(pointer.pointee.sa_family)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let bytes: [UInt8]
        switch family {
        case AF_INET:
            bytes = pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin_addr) { Array($0) }
            }
        case AF_INET6:
            bytes = pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin6_addr) { Array($0) }
            }
        default: return nil
        }
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return nil }
        return (String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self), bytes)
    }

    /// - Returns: `nil` if it takes longer; it is cancelled then.
    private func within<Result: Sendable>(
        _ time: Duration, _ body: @escaping @Sendable () async -> Result?
    ) async -> Result? {
        await withTaskGroup(of: Result?.self) { group in
            group.addTask { await body() }
            group.addTask {
                await loop.sleep(for: time)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
