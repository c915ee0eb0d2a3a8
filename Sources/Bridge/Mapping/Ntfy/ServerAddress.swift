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
                    && part.utf8.allSatisfy { $0.isNameCharacter || ".~".utf8.contains($0) }
            }
    }

    /// Host, port unless it is the usual one, and path: its name in global names and for people.
    public var name: String {
        let usual: UInt16 = isEncrypted ? 443 : 80
        return Authority.bracketed(host) + (port == usual ? "" : ":\(port)") + path
    }

    public var description: String { (isEncrypted ? "https://" : "http://") + name }

    /// Whether it is on this machine, so that nobody else sees what goes there.
    public var isLocal: Bool { Authority.isLocal(host) }

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

/// The host of an address, for people: without the user, the password and the path, which may be secrets.
public enum AddressHost {
    private static let maximumBytes = 100

    /// - Returns: the host and the port; nothing if there is none.
    public static func host(of address: String) -> String {
        String(Authority.text(ofAddress: address) ?? "").visible().beginning(ofBytes: maximumBytes)
    }
}

/// Whether a button may open an address. Others, such as `file:`, would let a stranger reach into this machine.
public enum OpenableAddress {
    static let schemes = ["https", "http", "mailto", "tel", "sms", "geo", "xmpp", "matrix", "ntfy"]
    private static let maximumBytes = 4096

    public static func isOpenable(_ address: String) -> Bool { openable(address) != nil }

    /// An address as it is opened: blanks, which people write in `geo:0,0?q=Main Street 5`, are encoded.
    ///
    /// - Returns: `nil` if it is not opened.
    public static func openable(_ address: String) -> String? {
        let address = address.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "%20")
        guard let colon = address.firstIndex(of: ":"), address.utf8.count <= maximumBytes,
            !address.unicodeScalars.contains(where: \.isActive)
        else { return nil }
        let scheme = address[..<colon].lowercased()
        guard ["https", "http"].contains(scheme) else { return schemes.contains(scheme) ? address : nil }
        return Authority(ofAddress: address, .international) == nil ? nil : address
    }
}

/// Whether an address of a machine is one of the public network, so that whoever names it does not reach into this
/// machine or its neighbourhood.
public enum PublicAddress {
    /// - Parameter bytes: 4 or 16, in network order.
    public static func isPublic(_ bytes: [UInt8]) -> Bool {
        switch bytes.count {
        case 4: isPublicV4(bytes)
        case 16: isPublicV6(bytes)
        default: false
        }
    }

    /// The blocks of RFC 6890 and multicast.
    private static func isPublicV4(_ bytes: [UInt8]) -> Bool {
        switch (bytes[0], bytes[1]) {
        case (0, _), (10, _), (127, _), (224..., _): false
        case (100, 64...127), (169, 254), (172, 16...31), (192, 168), (198, 18...19): false
        case (192, 0): bytes[2] != 0 && bytes[2] != 2
        case (198, 51): bytes[2] != 100
        case (203, 0): bytes[2] != 113
        default: true
        }
    }

    /// Only what is given out as global unicast, and what holds an address of version 4 only if that one is public.
    private static func isPublicV6(_ bytes: [UInt8]) -> Bool {
        // 64:ff9b::/96 and ::ffff:0:0/96 hold one.
        if bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
            || bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        {
            return isPublicV4(Array(bytes[12...]))
        }
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        // 6to4 and Teredo tunnel, 2001:db8::/32 is for documents.
        if bytes[0] == 0x20, bytes[1] == 0x02 { return isPublicV4(Array(bytes[2..<6])) }
        return
            !(bytes[0] == 0x20 && bytes[1] == 1
            && (bytes[2] == 0 && bytes[3] == 0 || bytes[2] == 0x0D && bytes[3] == 0xB8))
    }
}
