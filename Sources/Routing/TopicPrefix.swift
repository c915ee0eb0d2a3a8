import NotifyText

/// What a screen, a topic claim or a mute covers: everything at or below a topic, or, as `/`, every topic there is.
public struct TopicPrefix: Hashable, Sendable, CustomStringConvertible {
    /// The topic, or empty for all of them.
    let text: String

    /// Everything.
    public static let all = TopicPrefix(text: "")

    private init(text: String) {
        self.text = text
    }

    /// A topic and everything below it.
    public init(_ topic: Topic) {
        text = topic.description
    }

    /// - Throws: `TopicError` where the text is neither a topic nor `/`.
    public init(_ text: String) throws(TopicError) {
        self = text == "/" ? .all : TopicPrefix(try Topic(text))
    }

    public var description: String { text.isEmpty ? "/" : text }

    public static func == (left: TopicPrefix, right: TopicPrefix) -> Bool {
        left.text.bytes == right.text.bytes
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(text.bytes)
    }

    /// Whether a topic is at or below this one.
    public func covers(_ topic: Topic) -> Bool {
        covers(text: topic.description)
    }

    /// Whether everything that `other` covers is covered by this one too.
    public func covers(_ other: TopicPrefix) -> Bool {
        covers(text: other.text)
    }

    /// What is one segment shorter; `nil` for everything.
    var parent: TopicPrefix? {
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

/// Finds what was put down for a topic or anything above it. The cost follows the depth of the topic, at most 17 look-ups,
/// and not the number of things that are there.
struct PrefixIndex<ID: Hashable & Comparable> {
    private var lists: [ByteString: [ID]] = [:]

    var isEmpty: Bool { lists.isEmpty }

    /// Ids grow, so that adding is nearly always appending.
    mutating func insert(_ id: ID, at prefix: TopicPrefix) {
        var list = lists[prefix.text.bytes, default: []]
        let index = list.last.map { $0 < id } ?? true ? list.count : list.firstIndex { $0 > id } ?? list.count
        list.insert(id, at: index)
        lists[prefix.text.bytes] = list
    }

    mutating func remove(_ id: ID, at prefix: TopicPrefix) {
        guard let index = lists[prefix.text.bytes]?.firstIndex(of: id) else { return }
        lists[prefix.text.bytes]!.remove(at: index)
        if lists[prefix.text.bytes]!.isEmpty { lists[prefix.text.bytes] = nil }
    }

    /// The smallest id that covers the topic.
    func first(covering topic: Topic) -> ID? {
        var first: ID?
        visit(topic) { list in
            if let candidate = list.first, first.map({ candidate < $0 }) ?? true { first = candidate }
        }
        return first
    }

    /// Every id that covers the topic, in their order.
    func all(covering topic: Topic) -> [ID] {
        var all: [ID] = []
        visit(topic) { all += $0 }
        return all.sorted()
    }

    private func visit(_ topic: Topic, _ body: ([ID]) -> Void) {
        guard !lists.isEmpty else { return }
        let text = topic.description
        if let list = lists["".bytes] { body(list) }
        var index = text.startIndex
        while index < text.endIndex {
            index = text.utf8[text.utf8.index(after: index)...].firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
            if let list = lists[text[..<index].bytes] { body(list) }
        }
    }
}
