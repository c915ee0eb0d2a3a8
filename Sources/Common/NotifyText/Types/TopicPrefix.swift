/// All topics at or below a topic, or all topics (`/`): what a screen, a topic claim or a mute covers.
public struct TopicPrefix: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The topic; empty for all topics.
    package let text: String

    /// All topics.
    public static let all = TopicPrefix(text: "")

    private init(text: String) { self.text = text }

    /// All topics at or below a topic.
    public init(_ topic: Topic) { text = topic.description }

    /// - Throws: `TopicError` if the text is neither a topic nor `/`.
    public init(_ text: String) throws(TopicError) { self = text == "/" ? .all : TopicPrefix(try Topic(text)) }

    public var description: String { text.isEmpty ? "/" : text }

    public static func == (left: TopicPrefix, right: TopicPrefix) -> Bool { left.text.hasBytes(of: right.text) }

    /// The order of their bytes.
    public static func < (left: TopicPrefix, right: TopicPrefix) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }

    /// Whether a topic is at or below this one.
    public func covers(_ topic: Topic) -> Bool { covers(text: topic.description) }

    /// Whether this prefix covers all topics that `other` covers.
    public func covers(_ other: TopicPrefix) -> Bool { covers(text: other.text) }

    /// The prefix without the last segment; `nil` for all topics.
    package var parent: TopicPrefix? {
        guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return TopicPrefix(text: String(text[..<slash]))
    }

    private func covers(text other: String) -> Bool {
        let mine = text.utf8
        let others = other.utf8
        guard others.starts(with: mine) else { return false }
        return mine.isEmpty || mine.count == others.count
            || others[others.index(others.startIndex, offsetBy: mine.count)] == UInt8(ascii: "/")
    }
}
