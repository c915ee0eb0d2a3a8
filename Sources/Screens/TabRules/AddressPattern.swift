import NotifyText
import Routing

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
                throw AddressError("'\(parameter)' is no parameter; it is like page=2 or id={id}")
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
        if text.hasPrefix("{"), text.hasSuffix("}"), isName(text.dropFirst().dropLast()) {
            return .capture(String(text.dropFirst().dropLast()))
        }
        guard !text.utf8.contains(where: { "{}*".utf8.contains($0) }) else {
            throw AddressError(
                "'\(text)' is no segment: a capture is a whole one such as {id}, of letters, digits and _, and ** stands at the end"
            )
        }
        guard let literal = text.percentDecoded(isQuery: isQuery) else {
            throw AddressError("'\(text)' has a % without two hexadecimal digits after it; a % itself is written %25")
        }
        return .literal(literal)
    }

    private static func isName(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return text.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
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
