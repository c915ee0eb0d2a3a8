import NotifyText

/// The pattern of a route: a topic in which whole segments may be captures, such as `/run/{session}/mate/{mate}`.
///
/// A capture matches exactly one segment of any content. Patterns that differ only in the names of their captures match the
/// same topics; a `RouteTable` treats them as the same pattern.
public struct TopicPattern: Hashable, Sendable, CustomStringConvertible {
    enum Segment: Hashable, Sendable {
        case literal(ByteString)
        case capture(String)
    }

    /// The pattern as text.
    public let description: String
    let segments: [Segment]

    /// - Throws: `TopicError` if the text is not a topic with or without captures.
    public init(_ text: String) throws(TopicError) {
        try TopicSyntax.check(text, pattern: true)
        var segments: [Segment] = []
        var names: Set<String> = []
        var offset = 1
        for part in TopicSyntax.segments(of: text) {
            defer { offset += part.utf8.count + 1 }
            guard part.utf8.contains(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }) else {
                segments.append(.literal(part.bytes))
                continue
            }
            let name = String(part.dropFirst().dropLast())
            guard part.first == "{", part.last == "}", Self.isName(name) else {
                throw TopicError(
                    reason:
                        "'\(part)' is no capture: a capture is a whole segment such as {id}, of letters, digits and _",
                    offset: offset)
            }
            guard names.insert(name).inserted else {
                throw TopicError(reason: "the capture {\(name)} is there twice", offset: offset)
            }
            segments.append(.capture(name))
        }
        self.segments = segments
        description = text
    }

    /// The names of the captures, from the left.
    public var captureNames: [String] {
        segments.compactMap { if case .capture(let name) = $0 { name } else { nil } }
    }

    /// The segments without the names of captures (`nil`): equal for patterns that match the same topics.
    var shape: [ByteString?] {
        segments.map { if case .literal(let text) = $0 { text } else { nil } }
    }

    public static func == (left: TopicPattern, right: TopicPattern) -> Bool {
        left.description.hasBytes(of: right.description)
    }

    public func hash(into hasher: inout Hasher) {
        description.hashBytes(into: &hasher)
    }

    /// The captured segments of a topic; `nil` if the topic does not match.
    public func captures(of topic: Topic) -> [(name: String, value: String)]? {
        let parts = topic.segments
        guard parts.count == segments.count else { return nil }
        var captures: [(name: String, value: String)] = []
        for (segment, part) in zip(segments, parts) {
            switch segment {
            case .literal(let text):
                if !part.hasBytes(of: text.description) { return nil }
            case .capture(let name):
                captures.append((name, String(part)))
            }
        }
        return captures
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, text.unicodeScalars.allSatisfy(\.isASCII) else { return false }
        return !("0"..."9").contains(first)
            && text.unicodeScalars.allSatisfy {
                ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0) || $0 == "_"
            }
    }
}
