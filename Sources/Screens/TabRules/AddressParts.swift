import NotifyText

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

extension UInt8 {
    fileprivate var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
