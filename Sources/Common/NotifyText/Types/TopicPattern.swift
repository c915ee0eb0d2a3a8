/// The pattern of a route: a topic in which whole segments may be captures, such as `/run/{session}/mate/{mate}`.
///
/// A capture matches exactly one segment of any content. A pattern of a route may end in `/**`: `/alarm/**` matches
/// `/alarm` and everything below it. Patterns that differ only in the names of their captures match the same topics; a
/// `RouteTable` treats them as the same pattern.
public struct TopicPattern: Hashable, Sendable, CustomStringConvertible {
    enum Segment: Hashable, Sendable {
        case literal(ByteString)
        case capture(String)
    }

    /// The pattern as text.
    public let description: String
    /// The segments that it names, without `**`.
    let segments: [Segment]
    /// Whether it also matches everything below.
    public let includesBelow: Bool

    /// - Parameters:
    ///   - text: such as `/post/{id}`.
    ///   - allowsBelow: whether it may end in `/**`.
    /// - Throws: `TopicError` if the text is not a topic with or without captures.
    public init(_ text: String, allowsBelow: Bool = false) throws(TopicError) {
        includesBelow = allowsBelow && text.utf8.suffix(Self.below.utf8.count).elementsEqual(Self.below.utf8)
        let top = includesBelow ? String(Substring(text.utf8.dropLast(Self.below.utf8.count))) : text
        // "/**" alone matches every topic.
        if !top.isEmpty || !includesBelow {
            do throws(TopicError) {
                try TopicSyntax.check(top, pattern: true)
            } catch {
                guard allowsBelow, text.utf8.dropFirst(error.offset).first == UInt8(ascii: "*") else { throw error }
                let start = text.utf8.prefix(error.offset).lastIndex(of: UInt8(ascii: "/")) ?? text.startIndex
                throw TopicError(
                    "'*' does not stand for a segment" + Self.advice(at: Substring(text.utf8[..<start])),
                    offset: error.offset)
            }
        }
        var segments: [Segment] = []
        var names: Set<String> = []
        var offset = 1
        for part in TopicSyntax.segments(of: top) {
            defer { offset += part.utf8.count + 1 }
            guard part.utf8.contains(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }) else {
                segments.append(.literal(part.bytes))
                continue
            }
            let name = String(part.dropFirst().dropLast())
            guard part.first == "{", part.last == "}", name.isCaptureName else {
                throw TopicError(
                    "'\(part)' is not a capture: a capture is a whole segment such as {id}, "
                        + "of letters, digits and _"
                        + (allowsBelow ? Self.advice(at: Substring(text.utf8.prefix(offset - 1))) : ""),
                    offset: offset)
            }
            guard names.insert(name).inserted else {
                throw TopicError("the capture {\(name)} is there twice", offset: offset)
            }
            segments.append(.capture(name))
        }
        self.segments = segments
        description = text
    }

    private static let below = "/**"

    /// What matches one segment, and what more than one.
    ///
    /// - Parameter start: the pattern before a segment that cannot be read.
    private static func advice(at start: Substring) -> String {
        "; \(start)/{name} is one segment below \(start.isEmpty ? "/" : start), and \(start)/** "
            + "everything at or below it"
    }

    /// The names of the captures, from the left.
    public var captureNames: [String] {
        segments.compactMap { if case .capture(let name) = $0 { name } else { nil } }
    }

    /// The segments without the names of captures (`nil`): equal for patterns that match the same topics.
    package var shape: [ByteString?] {
        segments.map { if case .literal(let text) = $0 { text } else { nil } }
    }

    public static func == (left: TopicPattern, right: TopicPattern) -> Bool {
        left.description.hasBytes(of: right.description)
    }

    public func hash(into hasher: inout Hasher) { description.hashBytes(into: &hasher) }

    /// The captured segments of a topic; `nil` if the topic does not match.
    public func captures(of topic: Topic) -> [(name: String, value: String)]? {
        let parts = topic.segments
        guard parts.count == segments.count || includesBelow && parts.count > segments.count else { return nil }
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
}

extension TopicPattern {
    /// The topic with its captures replaced.
    ///
    /// - Throws: `TopicError` if what replaces one is not a segment of a topic, or one that only means another place:
    ///   `.` and `..`.
    package func filled(with captures: [String: String]) throws(TopicError) -> Topic {
        var text = ""
        for segment in segments {
            guard case .capture(let name) = segment else {
                if case .literal(let literal) = segment { text += "/" + literal.description }
                continue
            }
            func check(_ isRight: Bool, _ reason: @autoclosure () -> String) throws(TopicError) {
                if !isRight { throw TopicError("{\(name)} \(reason())", offset: text.utf8.count) }
            }
            let value = captures[name] ?? ""
            try check(!value.isEmpty, "is empty, and no topic has an empty segment")
            // A sender that writes these wants to go somewhere else.
            try check(![".", ".."].contains(value), "is \(value), which no sender may make a segment of a topic")
            // A topic that no message can carry is known to nobody else.
            let isSegment = value.fitsIntoMessage && !value.utf8.contains(UInt8(ascii: "/"))
            try check(isSegment, "has a character that no segment of a topic has")
            text += "/" + value
        }
        return try Topic(text)
    }
}
