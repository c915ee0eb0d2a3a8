/// Where an event belongs: an absolute path such as `/post/27` or `/run/r1/mate/영희/finished`.
///
/// A topic is valid: it starts with `/`, has 1 to 16 segments of 1 to 64 bytes, at most 255 bytes of UTF-8 in all, no
/// empty segment, no trailing `/`, no control characters, and none of the special characters of D-Bus match rules (`'`,
/// `\`) and route patterns (`{`, `}`, `*`). Topics are equal when their bytes are, as on the bus and in SQLite.
public struct Topic: Hashable, Sendable, CustomStringConvertible {
    /// The topic as text.
    public let description: String

    /// - Throws: `TopicError`, which says what was wrong and at which byte.
    public init(_ text: String) throws(TopicError) {
        try TopicSyntax.check(text, pattern: false)
        description = text
    }

    /// The parts between the slashes.
    public var segments: [Substring] { TopicSyntax.segments(of: description) }

    public static func == (left: Topic, right: Topic) -> Bool { left.description.hasBytes(of: right.description) }

    public func hash(into hasher: inout Hasher) { description.hashBytes(into: &hasher) }
}

/// Why a text is not a topic or a pattern.
public struct TopicError: Error, Equatable, CustomStringConvertible {
    /// What is wrong, as a sentence for a D-Bus error.
    public let reason: String
    /// The offset of the first wrong byte.
    public let offset: Int

    init(_ reason: String, offset: Int) { (self.reason, self.offset) = (reason, offset) }

    public var description: String { "\(reason) (at byte \(offset)); a topic looks like /post/27" }
}

/// The syntax of topics and patterns.
enum TopicSyntax {
    static let maximumBytes = 255
    static let maximumSegments = 16
    static let maximumSegmentBytes = 64

    static func check(_ text: String, pattern: Bool) throws(TopicError) {
        let bytes = text.utf8Span.span
        guard !bytes.isEmpty, bytes[0] == UInt8(ascii: "/") else {
            throw TopicError(bytes.isEmpty ? "the topic is empty" : "the topic does not start with '/'", offset: 0)
        }
        guard bytes.count <= maximumBytes else {
            throw TopicError("the topic has \(bytes.count) bytes, \(maximumBytes) are allowed", offset: maximumBytes)
        }
        var segments = 0
        var start = 1
        for offset in bytes.indices {
            let byte = bytes[offset]
            if isControl(byte, before: offset + 1 < bytes.count ? bytes[offset + 1] : 0) {
                throw TopicError("a topic may not have a control character", offset: offset)
            }
            switch byte {
            case UInt8(ascii: "{") where pattern, UInt8(ascii: "}") where pattern: break
            case UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "*"), UInt8(ascii: "{"), UInt8(ascii: "}"):
                let character = Character(Unicode.Scalar(byte))
                throw TopicError("a topic may not have the character \(character)", offset: offset)
            default: break
            }
            let isLast = offset == bytes.count - 1
            guard (byte == UInt8(ascii: "/") && offset > 0) || isLast else { continue }
            let end = byte == UInt8(ascii: "/") ? offset : offset + 1
            if end <= start {
                let reason = isLast && offset > 0 ? "the topic ends with '/'" : "a segment is empty"
                throw TopicError(bytes.count == 1 ? "'/' alone names every topic, not one" : reason, offset: offset)
            }
            if isLast && byte == UInt8(ascii: "/") {
                throw TopicError("the topic ends with '/'", offset: offset)
            }
            if end - start > maximumSegmentBytes {
                throw TopicError(
                    "a segment has \(end - start) bytes, \(maximumSegmentBytes) are allowed", offset: start)
            }
            segments += 1
            if segments > maximumSegments {
                throw TopicError("the topic has more than \(maximumSegments) segments", offset: start)
            }
            start = end + 1
        }
    }

    /// The parts between the slashes. The split is by bytes: to Swift, a slash with a combining accent is another
    /// character.
    static func segments(of text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
    }

    /// C0, DEL and C1. A C1 character is two bytes in UTF-8, of which the first is 0xC2.
    private static func isControl(_ byte: UInt8, before next: UInt8) -> Bool {
        byte < 0x20 || byte == 0x7F || (byte == 0xC2 && (0x80...0x9F).contains(next))
    }
}
