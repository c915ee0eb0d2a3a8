/// Estimates memory use in bytes: an upper bound that is quick to compute, and the same after a restart, so that events
/// accepted under a limit fit again.
public enum MemoryCost {
    /// What an undecided event costs beside its text and fields: entries in the router's tables, its window and its timers.
    /// Measured with 100,000 events: half of that.
    static let event = 512
    /// What a global id costs beside its text: an entry each in a table and a queue, both with spare capacity.
    static let globalID = 192
    /// What a `collapse` costs beside its text: the key, and its entry in a table.
    static let collapse = 192
    /// The overhead of a string on the heap.
    static let text = 32

    /// The cost of an event with these contents.
    public static func ofEvent(
        topic: Topic, title: String, body: String, fields: [Field], origin: Origin, collapse: String? = nil,
        appearance: [Field] = []
    ) -> Int {
        (collapse.map { Self.collapse + $0.utf8.count } ?? 0) + event + topic.description.utf8.count + title.utf8.count
            + body.utf8.count + origin.textBytes
            + fields.reduce(0) { $0 + $1.memoryCost } + appearance.reduce(0) { $0 + $1.memoryCost }
    }
}

extension Origin {
    var textBytes: Int { (source?.utf8.count ?? 0) + (eventID?.utf8.count ?? 0) + (via?.utf8.count ?? 0) }
}

extension Field {
    fileprivate var memoryCost: Int {
        MemoryLayout<Field>.stride + MemoryCost.text + name.utf8.count + value.memoryCost
    }
}

extension Value {
    /// The cost on the heap; the container counts the stride of the value itself.
    fileprivate var memoryCost: Int {
        switch self {
        case .string(let text), .objectPath(let text), .signature(let text): MemoryCost.text + text.utf8.count
        case .array(_, let elements):
            2 * MemoryCost.text + elements.reduce(0) { $0 + MemoryLayout<Value>.stride + $1.memoryCost }
        case .dictionary(_, _, let pairs):
            2 * MemoryCost.text
                + pairs.reduce(0) { $0 + MemoryLayout<Pair>.stride + $1.key.memoryCost + $1.value.memoryCost }
        case .variant(let value): MemoryCost.text + MemoryLayout<Value>.stride + value.memoryCost
        default: 0
        }
    }
}
