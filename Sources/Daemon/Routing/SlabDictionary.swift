/// A dictionary whose entries live in a slab: for values that are large and many.
///
/// A `Dictionary` that has just grown takes more than twice the memory of its entries, and moves all of them to grow. Here only
/// slot numbers are moved. An entry stays in its slot; slots are allocated in chunks, and freed slots are reused.
struct SlabDictionary<Key: Hashable, Value> {
    private static var slotsAtOnce: Int { 256 }
    private static var leastBuckets: Int { 16 }

    private struct Entry {
        let key: Key
        var value: Value
    }

    /// A hash table with linear probing: the slot of each key, or `vacant`. Their number is a power of two, and at most four in
    /// five are taken.
    private var buckets = [Int32](repeating: Self.vacant, count: Self.leastBuckets)
    private static var vacant: Int32 { -1 }
    private var chunks: [[Entry?]] = []
    private var free: [Int32] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    /// How many values there is room for now.
    var slotCount: Int { chunks.count * Self.slotsAtOnce }

    /// The keys and the values, each in no particular order.
    var keys: some Sequence<Key> { chunks.lazy.joined().compactMap { $0?.key } }
    var values: some Sequence<Value> { chunks.lazy.joined().compactMap { $0?.value } }

    func contains(_ key: Key) -> Bool { bucket(of: key) != nil }

    subscript(key: Key) -> Value? {
        // It works in place; `get` would copy the value.
        _read {
            if let bucket = bucket(of: key) {
                let (chunk, place) = position(of: buckets[bucket])
                // A slot that a bucket has is never empty.
                yield chunks[chunk][place]!.value
            } else {
                yield nil
            }
        }
        set {
            if let newValue {
                if let bucket = bucket(of: key) {
                    let (chunk, place) = position(of: buckets[bucket])
                    chunks[chunk][place]!.value = newValue
                } else {
                    insert(Entry(key: key, value: newValue))
                }
            } else {
                removeValue(forKey: key)
            }
        }
    }

    /// The value of a key that is in the table; any other key traps.
    subscript(existing key: Key) -> Value {
        _read {
            let (chunk, place) = position(of: slot(existing: key))
            // A slot that a bucket has is never empty.
            yield chunks[chunk][place]!.value
        }
        _modify {
            let (chunk, place) = position(of: slot(existing: key))
            // As above.
            yield &chunks[chunk][place]!.value
        }
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
        guard let bucket = bucket(of: key) else { return nil }
        let slot = buckets[bucket]
        let (chunk, place) = position(of: slot)
        vacate(bucket)
        let entry = chunks[chunk][place].take()
        free.append(slot)
        count -= 1
        // Releases the memory of a large table that has become empty.
        if isEmpty, chunks.count > 1 { self = SlabDictionary() }
        return entry?.value
    }

    private mutating func insert(_ entry: Entry) {
        if 5 * (count + 1) > 4 * buckets.count { grow() }
        if free.isEmpty {
            let first = Int32(slotCount)
            chunks.append(Array(repeating: nil, count: Self.slotsAtOnce))
            // The lowest slot is taken first.
            free.append(contentsOf: (first..<first + Int32(Self.slotsAtOnce)).reversed())
        }
        let slot = free.removeLast()
        let (chunk, place) = position(of: slot)
        chunks[chunk][place] = entry
        put(slot, of: entry.key)
        count += 1
    }

    // MARK: Slots and buckets

    private func position(of slot: Int32) -> (chunk: Int, place: Int) {
        let (chunk, place) = Int(slot).quotientAndRemainder(dividingBy: Self.slotsAtOnce)
        return (chunk, place)
    }

    /// What stands in a slot now; `nil`: nothing.
    func entry(in slot: Int32) -> (key: Key, value: Value)? {
        let (chunk, place) = position(of: slot)
        guard chunk < chunks.count, let entry = chunks[chunk][place] else { return nil }
        return (entry.key, entry.value)
    }

    private func key(of slot: Int32) -> Key {
        let (chunk, place) = position(of: slot)
        // A slot that a bucket has is never empty.
        return chunks[chunk][place]!.key
    }

    /// Where the value of a key stands, as long as it is in the table.
    func slot(existing key: Key) -> Int32 {
        guard let bucket = bucket(of: key) else {
            preconditionFailure("a key is used only while its value is in the table")
        }
        return buckets[bucket]
    }

    /// The bucket where the search for a key begins.
    private func home(of key: Key) -> Int { key.hashValue & (buckets.count - 1) }

    private func bucket(of key: Key) -> Int? {
        var bucket = home(of: key)
        while buckets[bucket] != Self.vacant {
            if self.key(of: buckets[bucket]) == key { return bucket }
            bucket = (bucket + 1) & (buckets.count - 1)
        }
        return nil
    }

    /// Puts a slot into the first vacant bucket for its key.
    private mutating func put(_ slot: Int32, of key: Key) {
        var bucket = home(of: key)
        while buckets[bucket] != Self.vacant { bucket = (bucket + 1) & (buckets.count - 1) }
        buckets[bucket] = slot
    }

    /// Empties a bucket. The slots behind it move, so that the search for their keys still finds them.
    private mutating func vacate(_ bucket: Int) {
        var hole = bucket
        buckets[hole] = Self.vacant
        var next = (hole + 1) & (buckets.count - 1)
        while buckets[next] != Self.vacant {
            let distance = (next - home(of: key(of: buckets[next]))) & (buckets.count - 1)
            if distance >= (next - hole) & (buckets.count - 1) {
                buckets.swapAt(hole, next)
                hole = next
            }
            next = (next + 1) & (buckets.count - 1)
        }
    }

    private mutating func grow() {
        let slots = buckets.filter { $0 != Self.vacant }
        buckets = Array(repeating: Self.vacant, count: 2 * buckets.count)
        for slot in slots { put(slot, of: key(of: slot)) }
    }
}
