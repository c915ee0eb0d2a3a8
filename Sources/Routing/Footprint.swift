/// What keeping something costs in bytes of memory: an upper bound that is quick to reckon, the same before and after a
/// restart, so that what was accepted under a limit fits again.
public enum Footprint {
    /// What an open event costs beside what its publisher wrote: its entries in the router's tables, its window and its place
    /// in the agenda. 100,000 of them were measured with half of that.
    static let event = 512
    /// What a remembered name costs beside its text: an entry in a table and one in a queue, both with room to grow.
    static let name = 192
    /// The room a text takes on the heap beside its bytes.
    static let text = 32

    /// What it costs to keep an event that says this.
    public static func ofEvent(
        topic: Topic, title: String, body: String, fields: [Field], origin: Origin
    ) -> Int {
        event + topic.description.utf8.count + title.utf8.count + body.utf8.count + origin.textBytes
            + fields.reduce(0) { $0 + $1.footprint }
    }
}

extension Origin {
    /// The bytes of both parts.
    var textBytes: Int { (source?.utf8.count ?? 0) + (eventID?.utf8.count ?? 0) }
}

extension Field {
    fileprivate var footprint: Int { MemoryLayout<Field>.stride + Footprint.text + name.utf8.count + value.footprint }
}

extension Value {
    /// What it takes on the heap; where it lies itself is its container's.
    fileprivate var footprint: Int {
        switch self {
        case .string(let text), .objectPath(let text), .signature(let text): Footprint.text + text.utf8.count
        case .array(_, let elements):
            2 * Footprint.text + elements.reduce(0) { $0 + MemoryLayout<Value>.stride + $1.footprint }
        case .dictionary(_, _, let pairs):
            2 * Footprint.text
                + pairs.reduce(0) { $0 + MemoryLayout<Pair>.stride + $1.key.footprint + $1.value.footprint }
        case .variant(let value): Footprint.text + MemoryLayout<Value>.stride + value.footprint
        default: 0
        }
    }
}
