/// Estimates memory use in bytes: an upper bound that is quick to compute, and the same after a restart, so that events
/// accepted under a limit fit again.
public enum MemoryCost {
    /// What an undecided event costs beside its text and fields: entries in the router's tables, its window and its
    /// timers. Measured with 100,000 events: half of that.
    static let event = 512
    /// What a global id costs beside its text: an entry each in a table and a queue, both with spare capacity.
    static let globalID = 192
    /// What a `collapse` costs beside its text: the key, and its entry in a table.
    static let collapse = 192
    /// What the claim of an event that has not come costs beside its texts: entries in a table and in a queue of
    /// timers.
    static let awaited = 640
    /// What a provisional claim, a screen and a topic claim with a grace cost at most, the last two beside their
    /// topics.
    static let hold = 256
    static let screen = 768
    static let grace = 512
    /// What a remembered removal costs beside its texts.
    static let removal = 256
    /// What an answer costs that a screen owes.
    static let question = 24
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

extension Publication {
    /// What it costs in memory while its call waits.
    public var memoryCost: Int {
        max(
            size,
            MemoryCost.ofEvent(
                topic: topic, title: title, body: body, fields: fields, origin: options.origin,
                collapse: options.collapse, appearance: options.appearance))
    }
}

extension NamedClaim {
    /// What it costs in memory while its event is awaited.
    var memoryCost: Int {
        let texts = [origin.source, origin.eventID, claimant, place.device, place.via].compactMap(\.self)
        return MemoryCost.awaited + texts.reduce(0) { $0 + MemoryCost.text + $1.utf8.count }
            + identity.reduce(0) { $0 + $1.memoryCost }
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
