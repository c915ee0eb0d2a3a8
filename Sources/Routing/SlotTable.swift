/// Values by key, for values that are large and many.
///
/// A dictionary keeps more than twice the room its values need when it has just grown, and moves all of them to grow. Here
/// only numbers are moved; a value stays in its slot, slots are added a few at a time, and those that become free are
/// used again.
struct SlotTable<Key: Hashable, Value> {
    private static var slotsAtOnce: Int { 256 }

    private var slots: [Key: Int32] = [:]
    private var chunks: [[Value?]] = []
    private var free: [Int32] = []

    var count: Int { slots.count }
    var isEmpty: Bool { slots.isEmpty }
    /// How many values there is room for now.
    var slotCount: Int { chunks.count * Self.slotsAtOnce }

    /// The keys and the values, each in no order that means anything.
    var keys: some Collection<Key> { slots.keys }
    var values: some Sequence<Value> {
        slots.values.lazy.map { [chunks] slot in chunks[Int(slot) / Self.slotsAtOnce][Int(slot) % Self.slotsAtOnce]! }
    }

    func contains(_ key: Key) -> Bool { slots[key] != nil }

    subscript(key: Key) -> Value? {
        // Both work in place, where get and set would carry the value out and in again.
        _read {
            if let slot = slots[key] {
                yield chunks[Int(slot) / Self.slotsAtOnce][Int(slot) % Self.slotsAtOnce]
            } else {
                yield nil
            }
        }
        _modify {
            let slot = slots[key] ?? take(for: key)
            let (chunk, place) = Int(slot).quotientAndRemainder(dividingBy: Self.slotsAtOnce)
            yield &chunks[chunk][place]
            if chunks[chunk][place] == nil { give(slot, of: key) }
        }
    }

    @discardableResult
    mutating func removeValue(forKey key: Key) -> Value? {
        guard let slot = slots[key] else { return nil }
        let (chunk, place) = Int(slot).quotientAndRemainder(dividingBy: Self.slotsAtOnce)
        give(slot, of: key)
        return chunks[chunk][place].take()
    }

    private mutating func take(for key: Key) -> Int32 {
        if free.isEmpty {
            let first = Int32(slotCount)
            chunks.append(Array(repeating: nil, count: Self.slotsAtOnce))
            // The lowest is taken first.
            free.append(contentsOf: (first..<first + Int32(Self.slotsAtOnce)).reversed())
        }
        let slot = free.removeLast()
        slots[key] = slot
        return slot
    }

    private mutating func give(_ slot: Int32, of key: Key) {
        slots[key] = nil
        free.append(slot)
    }
}
