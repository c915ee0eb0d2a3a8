import NotifyText

/// Where a server of ntfy is, such as `https://ntfy.sh`.
public struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    public let isEncrypted: Bool
    /// In lower case; an address of version 6 without brackets.
    public let host: String
    public let port: UInt16
    /// Where ntfy is on its host, such as `/ntfy`; empty: at its root.
    public let path: String

    /// - Returns: `nil` if it is no such address, or has a user or a query.
    public init?(_ text: String) {
        isEncrypted = text.hasPrefix("https://")
        guard isEncrypted || text.hasPrefix("http://") else { return nil }
        let rest = text.dropFirst(isEncrypted ? 8 : 7)
        let authority = rest.prefix { $0 != "/" }
        var path = rest.dropFirst(authority.count)
        while path.last == "/" { path.removeLast() }
        guard path.isEmpty || Self.isPath(path) else { return nil }
        self.path = String(path)
        guard let server = Authority(authority) else { return nil }
        host = server.host
        port = server.port ?? (isEncrypted ? 443 : 80)
    }

    private static func isPath(_ path: Substring) -> Bool {
        path.utf8.count <= 64
            && path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
                !part.isEmpty && part != "." && part != ".."
                    && part.utf8.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"):
                            true
                        default: "-._~".utf8.contains(byte)
                        }
                    }
            }
    }

    /// Host, port unless it is the usual one, and path: its name in global names and for people.
    public var name: String {
        let usual: UInt16 = isEncrypted ? 443 : 80
        return (host.contains(":") ? "[\(host)]" : host) + (port == usual ? "" : ":\(port)") + path
    }

    public var description: String { (isEncrypted ? "https://" : "http://") + name }

    /// Whether it is on this machine, so that nobody else sees what goes there.
    public var isLocal: Bool {
        host == "localhost" || host == "::1"
            || host.hasPrefix("127.") && host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    }

    /// Half of the global name of all events of a topic there; the same on every device.
    public func source(ofTopic topic: String) -> String { "\(Self.sourcePrefix)\(name)/\(topic)" }

    /// The topic whose events have a source; `nil` if they are of another server.
    public func topic(ofSource source: String) -> String? {
        let prefix = "\(Self.sourcePrefix)\(name)/"
        guard source.utf8.starts(with: prefix.utf8) else { return nil }
        let topic = String(decoding: source.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        return NtfyMessage.isName(topic) ? topic : nil
    }

    /// The sources of all servers begin with this.
    public static let sourcePrefix = "ntfy:"
}
