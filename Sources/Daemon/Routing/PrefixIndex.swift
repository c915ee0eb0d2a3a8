import NotifyText

/// Finds the ids whose prefixes cover a topic. The cost depends on the depth of the topic, at most 17 look-ups, and not
/// on the number of ids.
struct PrefixIndex<ID: Hashable & Comparable> {
    /// A substring, so that a look-up copies nothing.
    private struct Key: Hashable {
        let text: Substring

        static func == (left: Key, right: Key) -> Bool { left.text.hasBytes(of: right.text) }

        func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
    }

    private var lists: [Key: [ID]] = [:]

    var isEmpty: Bool { lists.isEmpty }

    /// Ids grow, so an insertion is nearly always an append.
    mutating func insert(_ id: ID, at prefix: TopicPrefix) {
        let key = Key(text: prefix.text[...])
        var list = lists[key, default: []]
        let index = list.last.map { $0 < id } ?? true ? list.count : list.firstIndex { $0 > id } ?? list.count
        list.insert(id, at: index)
        lists[key] = list
    }

    mutating func remove(_ id: ID, at prefix: TopicPrefix) {
        let key = Key(text: prefix.text[...])
        guard let index = lists[key]?.firstIndex(of: id) else { return }
        lists[key]?.remove(at: index)
        if lists[key]?.isEmpty == true { lists[key] = nil }
    }

    /// The smallest id whose prefix covers the topic.
    func first(covering topic: Topic) -> ID? {
        var first: ID?
        visit(topic) { list in
            if let candidate = list.first, first.map({ candidate < $0 }) ?? true { first = candidate }
        }
        return first
    }

    /// All ids whose prefixes cover the topic, sorted.
    func all(covering topic: Topic) -> [ID] {
        var all: [ID] = []
        visit(topic) { all += $0 }
        return all.sorted()
    }

    private func visit(_ topic: Topic, _ body: ([ID]) -> Void) {
        guard !lists.isEmpty else { return }
        let text = topic.description
        if let list = lists[Key(text: "")] { body(list) }
        var index = text.startIndex
        while index < text.endIndex {
            index = text.utf8[text.utf8.index(after: index)...].firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
            if let list = lists[Key(text: text[..<index])] { body(list) }
        }
    }
}
