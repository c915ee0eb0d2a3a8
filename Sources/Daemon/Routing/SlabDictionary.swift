/// A dictionary whose values live in a slab: for values that are large and many.
///
/// A `Dictionary` that has just grown takes more than twice the memory of its values, and moves all of them to grow. Here only
/// slot numbers are moved. A value stays in its slot; slots are allocated in chunks, and freed slots are reused.
struct SlabDictionary<Key: Hashable, Value> {
    private static var slotsAtOnce: Int { 256 }

    private var slots: [Key: Int32] = [:]
    private var chunks: [[Value?]] = []
    private var free: [Int32] = []

    var count: Int { slots.count }
    var isEmpty: Bool { slots.isEmpty }
    /// How many values there is room for now.
    var slotCount: Int { chunks.count * Self.slotsAtOnce }

    /// The keys and the values, each in no particular order.
    var keys: some Collection<Key> { slots.keys }
    var values: some Sequence<Value> {
        // A slot that a key has is never empty.
        slots.values.lazy.map { [chunks] slot in chunks[Int(slot) / Self.slotsAtOnce][Int(slot) % Self.slotsAtOnce]! }
    }

    func contains(_ key: Key) -> Bool { slots[key] != nil }

    subscript(key: Key) -> Value? {
        // Both work in place; `get` and `set` would copy the value.
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
            if chunks[chunk][place] == nil {
                give(slot, of: key)
                releaseIfEmpty()
            }
        }
    }

    /// The value of a key that is in the table; any other key traps.
    subscript(existing key: Key) -> Value {
        _read {
            let (chunk, place) = position(of: key)
            // A slot that a key has is never empty.
            yield chunks[chunk][place]!
        }
        _modify {
            let (chunk, place) = position(of: key)
            // As above.
            yield &chunks[chunk][place]!
        }
    }

    private func position(of key: Key) -> (quotient: Int, remainder: Int) {
        guard let slot = slots[key] else { preconditionFailure("a key is used only while its value is in the table") }
        return Int(slot).quotientAndRemainder(dividingBy: Self.slotsAtOnce)
    }

    /// Removes the value of a key that is in the table.
    mutating func remove(existing key: Key) -> Value {
        guard let value = removeValue(forKey: key) else {
            preconditionFailure("a key is used only while its value is in the table")
        }
        return value
    }

    @discardableResult
    mutating func removeValue(forKey key: Key) -> Value? {
        guard let slot = slots[key] else { return nil }
        let (chunk, place) = Int(slot).quotientAndRemainder(dividingBy: Self.slotsAtOnce)
        let value = chunks[chunk][place].take()
        give(slot, of: key)
        releaseIfEmpty()
        return value
    }

    private mutating func take(for key: Key) -> Int32 {
        if free.isEmpty {
            let first = Int32(slotCount)
            chunks.append(Array(repeating: nil, count: Self.slotsAtOnce))
            // The lowest slot is taken first.
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

    /// Releases the memory of a large table that has become empty. Call it after the value has left its slot.
    private mutating func releaseIfEmpty() {
        if slots.isEmpty, chunks.count > 1 { self = SlabDictionary() }
    }
}
