import NotifyText

/// Whose a page is: scheme, host and port. [RFC 6454](https://www.rfc-editor.org/rfc/rfc6454)
package struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
    package enum Scheme: String, Sendable {
        case http, https

        fileprivate var port: UInt16 { self == .http ? 80 : 443 }
    }

    package let scheme: Scheme
    /// In ASCII and small letters: names of other letters in their form `xn--…`, IPv6 addresses in brackets.
    let host: String
    /// `nil` for that of the scheme.
    let port: UInt16?

    /// Reads an address that has nothing after the host and the port.
    ///
    /// - Throws: `AddressError`, which says what is wrong.
    package init(_ text: String) throws(AddressError) {
        let parts = try AddressParts(text)
        guard parts.path.count == 1, parts.path[0].isEmpty, parts.query == nil, parts.fragment == nil else {
            throw AddressError("an origin is scheme, host and port alone: \(parts.origin)")
        }
        self = parts.origin
    }

    /// Reads what is between `://` and the path.
    init(_ scheme: Scheme, authority: Substring) throws(AddressError) {
        guard !authority.utf8.contains(UInt8(ascii: "@")) else {
            throw AddressError("it has a user before the host; write the host alone")
        }
        var host = authority
        var port: UInt16?
        // An IPv6 address has colons of its own.
        let colon = authority.utf8.lastIndex(of: UInt8(ascii: ":"))
        let bracket = authority.utf8.lastIndex(of: UInt8(ascii: "]"))
        if let colon, bracket.map({ $0 < colon }) ?? true {
            let digits = authority[authority.utf8.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let number = UInt16(digits), number > 0
            else {
                throw AddressError("the port after ':' is a number from 1 to 65535")
            }
            host = authority[..<colon]
            port = number == scheme.port ? nil : number
        }
        self.scheme = scheme
        self.host = try Self.checked(host)
        self.port = port
    }

    private static func checked(_ host: Substring) throws(AddressError) -> String {
        let name = host.lowercasedASCII
        guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw AddressError(
                "the host has letters beyond ASCII; write it as browsers send it, such as xn--bcher-kva.example")
        }
        guard Authority(name) != nil else { throw AddressError("a host such as example.org follows ://") }
        return name
    }

    package var description: String { "\(scheme.rawValue)://\(host)" + (port.map { ":\($0)" } ?? "") }
}

extension Substring {
    /// `lowercased()` would also change letters beyond ASCII, some of them to ASCII.
    fileprivate var lowercasedASCII: String {
        String(
            decoding: utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
