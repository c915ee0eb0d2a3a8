import NotifyText

/// The pattern of a rule: an address in which whole segments may be captures, such as `https://example.org/posts/{id}`.
///
/// Query and fragment of an address are not looked at, unless the pattern has them. Of a query, the parameters that the
/// pattern names are needed, each once; others may be there.
package struct AddressPattern: Sendable, CustomStringConvertible {
    private enum Part: Sendable {
        case literal(String)
        case capture(String)
    }

    /// The longest one in bytes.
    private static let maximumBytes = 512

    /// As it was written.
    package let description: String
    private let origin: WebOrigin
    private let path: [Part]
    /// Whether it ends with `/**`, and so takes all addresses below too.
    private let takesAllBelow: Bool
    private let parameters: [(name: String, value: Part)]
    private let fragment: [Part]?

    /// - Throws: `AddressError`, which says what is wrong.
    package init(_ text: String) throws(AddressError) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw AddressError("it has at most \(Self.maximumBytes) bytes")
        }
        description = text
        let parts = try AddressParts(text)
        origin = parts.origin
        var segments = parts.path
        takesAllBelow = segments.last == "**"
        if takesAllBelow { segments.removeLast() }
        var path: [Part] = []
        for segment in segments {
            guard segment != ".", segment != ".." else {
                throw AddressError("browsers resolve '.' and '..'; write the path without them")
            }
            path.append(try Self.part(segment))
        }
        self.path = path
        var parameters: [(name: String, value: Part)] = []
        for parameter in parts.query?.parts(between: UInt8(ascii: "&")) ?? [] {
            let (name, value) = parameter.cut(at: UInt8(ascii: "="))
            guard let value, let name = name.percentDecoded(isQuery: true), !name.isEmpty else {
                throw AddressError("'\(parameter)' is not a parameter, such as page=2 or id={id}")
            }
            parameters.append((name, try Self.part(value, isQuery: true)))
        }
        self.parameters = parameters
        var fragment: [Part]?
        for segment in parts.fragment?.parts(between: UInt8(ascii: "/")) ?? [] {
            fragment = (fragment ?? []) + [try Self.part(segment)]
        }
        self.fragment = fragment
        let names = captureNames
        guard Set(names).count == names.count else { throw AddressError("a capture is there twice") }
    }

    private static func part(_ text: Substring, isQuery: Bool = false) throws(AddressError) -> Part {
        if text.hasPrefix("{"), text.hasSuffix("}"), text.dropFirst().dropLast().isCaptureName {
            return .capture(String(text.dropFirst().dropLast()))
        }
        guard !text.utf8.contains(where: { "{}*".utf8.contains($0) }) else {
            throw AddressError(
                "'\(text)' is not a segment: a capture is a whole one such as {id}, of letters, digits and _, "
                    + "and ** stands at the end"
            )
        }
        guard let literal = text.percentDecoded(isQuery: isQuery) else {
            throw AddressError("'\(text)' has a % without two hexadecimal digits after it; a % itself is written %25")
        }
        return .literal(literal)
    }

    /// The names of the captures.
    package var captureNames: [String] {
        (path + parameters.map(\.value) + (fragment ?? [])).compactMap {
            if case .capture(let name) = $0 { name } else { nil }
        }
    }

    /// The captured segments of an address; `nil` if it does not match.
    package func captures(of address: PageAddress) -> [String: String]? {
        guard address.origin == origin else { return nil }
        var captures: [String: String] = [:]
        let isPath = takesAllBelow ? address.path.count >= path.count : address.path.count == path.count
        guard isPath, Self.match(path, address.path, &captures) else { return nil }
        for (name, part) in parameters {
            let values = address.parameters.filter { $0.name.hasBytes(of: name) }
            guard values.count == 1, Self.match([part], [values[0].value], &captures) else { return nil }
        }
        if let fragment {
            guard let segments = address.fragment, segments.count == fragment.count,
                Self.match(fragment, segments, &captures)
            else { return nil }
        }
        return captures
    }

    private static func match(_ parts: [Part], _ texts: [String], _ captures: inout [String: String]) -> Bool {
        for (part, text) in zip(parts, texts) {
            switch part {
            case .literal(let literal): if !literal.hasBytes(of: text) { return false }
            case .capture(let name): captures[name] = text
            }
        }
        return true
    }
}

/// An address of the web in its parts, not decoded yet: `https://example.org/posts/27?page=2#top`.
/// [RFC 3986](https://www.rfc-editor.org/rfc/rfc3986), as browsers write it.
struct AddressParts {
    /// The longest address that is looked at; browsers allow megabytes.
    static let maximumBytes = 8 * 1024

    let origin: WebOrigin
    /// What is between the slashes of the path; at least one part, which may be empty.
    let path: [Substring]
    /// After the question mark.
    let query: Substring?
    /// After the hash.
    let fragment: Substring?

    init(_ text: String) throws(AddressError) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw AddressError("an address has at most \(Self.maximumBytes) bytes")
        }
        // Browsers remove or replace them, so an address that has them is none that they show.
        guard text.unicodeScalars.allSatisfy({ $0 != " " && $0 != "\\" && !$0.isActive }) else {
            throw AddressError("an address has no spaces, backslashes and control characters")
        }
        let scheme: WebOrigin.Scheme
        let rest: Substring
        if text.hasPrefix("https://") {
            (scheme, rest) = (.https, text.dropFirst(8))
        } else if text.hasPrefix("http://") {
            (scheme, rest) = (.http, text.dropFirst(7))
        } else {
            throw AddressError("an address begins with https:// or http://")
        }
        // Split by bytes: to Swift, a slash with a combining accent is another character.
        let (beforeFragment, fragment) = rest.cut(at: UInt8(ascii: "#"))
        let (beforeQuery, query) = beforeFragment.cut(at: UInt8(ascii: "?"))
        let (authority, path) = beforeQuery.cut(at: UInt8(ascii: "/"))
        origin = try WebOrigin(scheme, authority: authority)
        self.path = (path ?? "").parts(between: UInt8(ascii: "/"))
        self.query = query
        self.fragment = fragment
    }
}

extension Substring {
    /// What is before the first of these bytes, and what is after it; `nil` if there is none.
    func cut(at byte: UInt8) -> (before: Substring, after: Substring?) {
        guard let index = utf8.firstIndex(of: byte) else { return (self, nil) }
        return (self[..<index], self[utf8.index(after: index)...])
    }

    func parts(between byte: UInt8) -> [Substring] {
        utf8.split(separator: byte, omittingEmptySubsequences: false).map { Substring($0) }
    }

    /// The text with each `%41` decoded, once; `nil` if that gives no text.
    ///
    /// - Parameter isQuery: whether `+` stands for a space, as in queries.
    func percentDecoded(isQuery: Bool = false) -> String? {
        guard utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else { return String(self) }
        var bytes: [UInt8] = []
        var rest = utf8.makeIterator()
        while let byte = rest.next() {
            if byte == UInt8(ascii: "+"), isQuery {
                bytes.append(UInt8(ascii: " "))
            } else if byte != UInt8(ascii: "%") {
                bytes.append(byte)
            } else {
                guard let high = rest.next()?.hexadecimalDigit, let low = rest.next()?.hexadecimalDigit else {
                    return nil
                }
                bytes.append(high << 4 | low)
            }
        }
        return Encoding.firstFault(in: bytes) == nil ? String(decoding: bytes, as: UTF8.self) : nil
    }
}

/// The address of a page, decoded: what a pattern is compared with. Strangers choose it.
package struct PageAddress: Sendable {
    package let origin: WebOrigin
    /// The segments of the path.
    let path: [String]
    /// The parameters of the query.
    let parameters: [(name: String, value: String)]
    /// The segments of the fragment.
    let fragment: [String]?

    /// `nil` if it is not an address of a page on the web, or one that no browser shows, such as one with `..`.
    package init?(_ text: String) {
        guard let parts = try? AddressParts(text) else { return nil }
        origin = parts.origin
        // Each segment is decoded by itself, so that an encoded slash divides nothing.
        guard let path = Self.decoded(parts.path), !path.contains(where: { $0 == "." || $0 == ".." }) else {
            return nil
        }
        self.path = path
        parameters = Self.parameters(of: parts.query ?? "")
        // A fragment that cannot be decoded is one that no pattern fits.
        fragment = parts.fragment.flatMap { Self.decoded($0.parts(between: UInt8(ascii: "/"))) }
    }

    private static func decoded(_ segments: [Substring]) -> [String]? {
        var result: [String] = []
        for segment in segments {
            guard let text = segment.percentDecoded() else { return nil }
            result.append(text)
        }
        return result
    }

    /// Parameters that cannot be decoded are left out.
    static func parameters(of query: Substring) -> [(name: String, value: String)] {
        query.parts(between: UInt8(ascii: "&")).compactMap { pair in
            let (name, value) = pair.cut(at: UInt8(ascii: "="))
            guard let name = name.percentDecoded(isQuery: true),
                let value = (value ?? "").percentDecoded(isQuery: true)
            else { return nil }
            return (name, value)
        }
    }
}

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
            guard digits.utf8.allSatisfy(\.isDigit), let number = UInt16(digits), number > 0 else {
                throw AddressError("the port after ':' must be a number from 1 to 65535")
            }
            host = authority[..<colon]
            port = number == scheme.port ? nil : number
        }
        self.scheme = scheme
        self.host = try Self.checked(host)
        self.port = port
    }

    private static func checked(_ host: Substring) throws(AddressError) -> String {
        // `lowercased()` would also change letters beyond ASCII, some of them to ASCII.
        let name = String(decoding: host.utf8.map(\.lowercased), as: UTF8.self)
        guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw AddressError(
                "the host has letters beyond ASCII; write it as browsers send it, such as xn--bcher-kva.example")
        }
        guard Authority(name) != nil else { throw AddressError("a host such as example.org follows ://") }
        return name
    }

    package var description: String { "\(scheme.rawValue)://\(host)" + (port.map { ":\($0)" } ?? "") }
}

/// Why a text is not an address, or no pattern of addresses.
package struct AddressError: Error, Equatable, CustomStringConvertible {
    /// What is wrong, and what would be right.
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
