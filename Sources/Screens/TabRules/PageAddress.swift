import NotifyText

/// The address of a page, decoded: what a pattern is compared with. Strangers choose it.
package struct PageAddress: Equatable, Sendable {
    package let origin: WebOrigin
    /// The segments of the path.
    let path: [String]
    /// The parameters of the query.
    let parameters: [(name: String, value: String)]
    /// The segments of the fragment.
    let fragment: [String]?

    /// `nil` if it is no address of a page on the web, or one that no browser shows, such as one with `..`.
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

    package static func == (left: PageAddress, right: PageAddress) -> Bool {
        left.origin == right.origin && left.path.map(\.bytes) == right.path.map(\.bytes)
            && left.parameters.elementsEqual(right.parameters) {
                $0.name.hasBytes(of: $1.name) && $0.value.hasBytes(of: $1.value)
            } && left.fragment?.map(\.bytes) == right.fragment?.map(\.bytes)
    }
}
