/// The host and the port of an address, `push.example:8443` of `https://push.example:8443/path`: the one rule for all
/// addresses that are read. [RFC 3986, section 3.2](https://www.rfc-editor.org/rfc/rfc3986#section-3.2)
///
/// A host is a name, an address of version 4, or one of version 6 in brackets. As in browsers, a name that ends with a
/// number is an address of version 4, so that `https://10.0.0.300` is none.
package struct Authority: Hashable, Sendable {
    /// Which hosts are right, beside those that are right everywhere.
    package struct Hosts: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Names with letters beyond ASCII, as people write them: `bücher.example`.
        package static let international = Hosts(rawValue: 1)
        /// An address of version 6 with the name of a network interface: `[fe80::1%eth0]`.
        package static let zones = Hosts(rawValue: 2)
    }

    /// In lower case; an address of version 6 without brackets.
    package let host: String
    /// `nil` if there is none.
    package let port: UInt16?

    /// What is right, for errors.
    package static let rule =
        "a host is a name such as push.example, or an address such as 192.0.2.7 or [2001:db8::7]; a port from 1 to "
        + "65535 may follow it, such as :8443"
    private static let maximumHost = 253
    private static let maximumLabel = 63
    private static let maximumZone = 15

    /// Reads a host, and a port if there is one.
    ///
    /// - Returns: `nil` if it is something else.
    package init?(_ text: some StringProtocol, _ hosts: Hosts = []) {
        var bytes = Array(text.utf8)
        var port: UInt16?
        // An address of version 6 has colons of its own.
        let bracket = bytes.lastIndex(of: UInt8(ascii: "]")) ?? 0
        if let colon = bytes.lastIndex(of: UInt8(ascii: ":")), colon >= bracket {
            let digits = bytes[(colon + 1)...]
            guard !digits.isEmpty, digits.allSatisfy(\.isDigit),
                let number = UInt16(String(decoding: digits, as: UTF8.self)), number > 0
            else { return nil }
            port = number
            bytes.removeSubrange(colon...)
        }
        if bytes.first == UInt8(ascii: "[") {
            guard bytes.last == UInt8(ascii: "]") else { return nil }
            bytes = Array(bytes.dropFirst().dropLast())
            guard Self.isVersion6(bytes, hosts) else { return nil }
        } else {
            guard Self.isNameOrVersion4(bytes, hosts) else { return nil }
        }
        // Names of network interfaces keep their case.
        let end = bytes.firstIndex(of: UInt8(ascii: "%")) ?? bytes.endIndex
        for index in 0..<end { bytes[index] = bytes[index].lowercased }
        host = String(decoding: bytes, as: UTF8.self)
        self.port = port
    }

    /// Reads the host and the port of an address such as `https://mina@push.example:8443/path`.
    ///
    /// - Returns: `nil` if there is no host, or one that is none.
    package init?(ofAddress address: String, _ hosts: Hosts = []) {
        guard let text = Self.text(ofAddress: address) else { return nil }
        self.init(text, hosts)
    }

    /// What is between `://` and the path, without the user and the password; `nil` if there is no `://`.
    package static func text(ofAddress address: String) -> Substring? {
        let bytes = address.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let begin = bytes.index(colon, offsetBy: 3)
        let authority = bytes[begin...].prefix { !"/?#\\".utf8.contains($0) }
        let user = authority.lastIndex(of: UInt8(ascii: "@"))
        return Substring(user.map { authority[authority.index(after: $0)...] } ?? authority)
    }

    /// A host as it stands in an address: one of version 6 in brackets.
    package static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

    /// Whether a host is this machine, so that nobody else sees what goes there.
    package static func isLocal(_ host: String) -> Bool {
        host == "localhost" || host == "::1"
            || host.hasPrefix("127.") && host.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
    }

    // MARK: Hosts

    private static func isNameOrVersion4(_ bytes: [UInt8], _ hosts: Hosts) -> Bool {
        var labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        // A name may end with a dot.
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        let areRight = labels.allSatisfy { label in
            (1...maximumLabel).contains(label.count)
                && label.allSatisfy { $0.isNameCharacter || $0 >= 0x80 && hosts.contains(.international) }
        }
        guard bytes.count <= maximumHost, areRight else { return false }
        // With a character that cannot be seen or turns the text around, it is another name than the one that is read.
        guard !String(decoding: bytes, as: UTF8.self).unicodeScalars.contains(where: \.isActive) else { return false }
        return labels.last?.allSatisfy(\.isDigit) == true ? isVersion4(bytes[...]) : true
    }

    private static func isVersion4(_ bytes: ArraySlice<UInt8>) -> Bool {
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                (1...3).contains(part.count) && part.allSatisfy(\.isDigit)
                    && UInt8(String(decoding: part, as: UTF8.self)) != nil
            }
    }

    /// [RFC 4291, section 2.2](https://www.rfc-editor.org/rfc/rfc4291#section-2.2)
    private static func isVersion6(_ bytes: [UInt8], _ hosts: Hosts) -> Bool {
        var address = bytes[...]
        if hosts.contains(.zones), let percent = bytes.firstIndex(of: UInt8(ascii: "%")) {
            let zone = bytes[(percent + 1)...]
            guard (1...maximumZone).contains(zone.count),
                zone.allSatisfy({ $0.isNameCharacter || $0 == UInt8(ascii: ".") })
            else { return false }
            address = bytes[..<percent]
        }
        let colon = UInt8(ascii: ":")
        let gaps = address.indices.dropLast().filter { address[$0] == colon && address[$0 + 1] == colon }
        guard gaps.count <= 1 else { return false }
        guard let gap = gaps.first else { return groups(address) == 8 }
        guard let before = gap == address.startIndex ? 0 : groups(address[..<gap], mayEndWithVersion4: false),
            let after = gap + 2 == address.endIndex ? 0 : groups(address[(gap + 2)...])
        else { return false }
        return before + after < 8
    }

    /// How many groups of 16 bits there are; `nil` if one of them is none.
    private static func groups(_ bytes: ArraySlice<UInt8>, mayEndWithVersion4: Bool = true) -> Int? {
        var parts = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        var count = 0
        if mayEndWithVersion4, let last = parts.last, last.contains(UInt8(ascii: ".")) {
            guard isVersion4(last) else { return nil }
            parts.removeLast()
            count = 2
        }
        let areRight = parts.allSatisfy { (1...4).contains($0.count) && $0.allSatisfy { $0.hexadecimalDigit != nil } }
        return areRight ? count + parts.count : nil
    }
}
