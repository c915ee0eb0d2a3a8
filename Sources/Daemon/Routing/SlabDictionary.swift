/// A key of a slab dictionary, with a hash that is cheap to compute.
protocol SlabKey: Equatable {
    /// A key that keeps nothing in memory, for what is empty.
    static var vacant: Self { get }
    /// Equal for equal keys. Where strangers choose keys, they must not be able to choose this.
    var slabHash: UInt32 { get }
}

extension SlabKey where Self: Hashable {
    /// The lower half of the hash value, which a random number in each process makes unforeseeable.
    var slabHash: UInt32 { UInt32(truncatingIfNeeded: hashValue) }
}

/// A dictionary whose entries live in a slab: for values that are large and many.
///
/// A `Dictionary` that has just grown takes more than twice the memory of its entries, and moves all of them to grow.
/// Here only slot numbers are moved. An entry stays in its slot; slots are allocated in chunks, and freed slots are
/// reused.
struct SlabDictionary<Key: SlabKey, Value> {
    private static var slotsAtOnce: Int { 256 }
    private static var leastBuckets: Int { 16 }

    private struct Entry {
        /// Not optional, because it is looked at most often.
        var key = Key.vacant
        var value: Value?
    }

    /// The slot of a key, and a part of its hash, so that few keys have to be looked at.
    private struct Bucket {
        /// The bits of the slot; the others are of the hash.
        private static var slotMask: UInt32 { 0xFF_FFFF }

        private let word: UInt32

        static var vacant: Bucket { Bucket(word: .max) }

        private init(word: UInt32) { self.word = word }

        init(_ slot: Int32, hash: UInt32) {
            precondition(slot < Self.slotMask, "a table has fewer than 16 million entries")
            word = hash & ~Self.slotMask | UInt32(slot)
        }

        var isVacant: Bool { word == .max }
        var slot: Int32 { Int32(word & Self.slotMask) }

        func mayHave(_ hash: UInt32) -> Bool { (word ^ hash) & ~Self.slotMask == 0 }
    }

    /// A hash table with linear probing. Its size is a power of two, and at most four in five buckets are taken.
    private var buckets = [Bucket](repeating: .vacant, count: Self.leastBuckets)
    private var chunks: [[Entry]] = []
    private var free: [Int32] = []
    /// The slots from here on have never been taken.
    private var untouched: Int32 = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    /// How many values there is room for now.
    var slotCount: Int { chunks.count * Self.slotsAtOnce }

    /// The keys and the values, each in no particular order.
    var keys: some Sequence<Key> { (0..<untouched).lazy.compactMap { entry(in: $0)?.key } }
    var values: some Sequence<Value> { (0..<untouched).lazy.compactMap { entry(in: $0)?.value } }

    func contains(_ key: Key) -> Bool { bucket(of: key) != nil }

    subscript(key: Key) -> Value? {
        // It works in place; `get` would copy the value.
        _read {
            if let slot = slot(of: key) {
                let (chunk, place) = position(of: slot)
                yield chunks[chunk][place].value
            } else {
                yield nil
            }
        }
        set {
            guard let newValue else {
                removeValue(forKey: key)
                return
            }
            if let slot = slot(of: key) { self[slot: slot] = newValue } else { insert(newValue, for: key) }
        }
    }

    /// The value of a key that is in the table; any other key traps.
    subscript(existing key: Key) -> Value {
        _read { yield self[slot: slot(existing: key)] }
        _modify { yield &self[slot: slot(existing: key)] }
    }

    /// The value in a slot that has one.
    subscript(slot slot: Int32) -> Value {
        _read {
            let (chunk, place) = position(of: slot)
            // The caller knows that the slot is not empty.
            yield chunks[chunk][place].value!
        }
        _modify {
            let (chunk, place) = position(of: slot)
            // As above.
            yield &chunks[chunk][place].value!
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
        let slot = buckets[bucket].slot
        let (chunk, place) = position(of: slot)
        vacate(bucket)
        let value = chunks[chunk][place].value.take()
        chunks[chunk][place].key = .vacant
        free.append(slot)
        count -= 1
        // Releases the memory of a large table that has become empty.
        if isEmpty, chunks.count > 1 { self = SlabDictionary() }
        return value
    }

    /// Adds the value of a key that is not in the table.
    ///
    /// - Returns: its slot.
    @discardableResult
    mutating func insert(_ value: Value, for key: Key) -> Int32 {
        if 5 * (count + 1) > 4 * buckets.count { grow() }
        if free.isEmpty {
            let first = Int32(slotCount)
            chunks.append(Array(repeating: Entry(), count: Self.slotsAtOnce))
            // The lowest slot is taken first.
            free.append(contentsOf: (first..<first + Int32(Self.slotsAtOnce)).reversed())
        }
        let slot = free.removeLast()
        untouched = max(untouched, slot + 1)
        let (chunk, place) = position(of: slot)
        put(slot, key.slabHash)
        chunks[chunk][place] = Entry(key: key, value: value)
        count += 1
        return slot
    }

    // MARK: Slots and buckets

    private func position(of slot: Int32) -> (chunk: Int, place: Int) {
        let (chunk, place) = Int(slot).quotientAndRemainder(dividingBy: Self.slotsAtOnce)
        return (chunk, place)
    }

    /// What stands in a slot now; `nil`: nothing.
    func entry(in slot: Int32) -> (key: Key, value: Value)? {
        let (chunk, place) = position(of: slot)
        guard chunk < chunks.count, let value = chunks[chunk][place].value else { return nil }
        return (chunks[chunk][place].key, value)
    }

    /// Where the value of a key stands, as long as it is in the table; `nil`: there is none.
    func slot(of key: Key) -> Int32? { bucket(of: key).map { buckets[$0].slot } }

    /// The same for a key that is in the table.
    func slot(existing key: Key) -> Int32 {
        guard let bucket = bucket(of: key) else {
            preconditionFailure("a key is used only while its value is in the table")
        }
        return buckets[bucket].slot
    }

    private func key(in slot: Int32) -> Key {
        let (chunk, place) = position(of: slot)
        return chunks[chunk][place].key
    }

    private var mask: Int { buckets.count - 1 }

    private func bucket(of key: Key) -> Int? {
        let hash = key.slabHash
        var bucket = Int(hash) & mask
        while !buckets[bucket].isVacant {
            if buckets[bucket].mayHave(hash), self.key(in: buckets[bucket].slot) == key { return bucket }
            bucket = (bucket + 1) & mask
        }
        return nil
    }

    /// Puts a slot into the first vacant bucket for the hash of its key.
    private mutating func put(_ slot: Int32, _ hash: UInt32) {
        var bucket = Int(hash) & mask
        while !buckets[bucket].isVacant { bucket = (bucket + 1) & mask }
        buckets[bucket] = Bucket(slot, hash: hash)
    }

    /// Empties a bucket. The slots behind it move, so that the search for their keys still finds them.
    private mutating func vacate(_ bucket: Int) {
        var hole = bucket
        buckets[hole] = .vacant
        var next = (hole + 1) & mask
        while !buckets[next].isVacant {
            let distance = (next - Int(key(in: buckets[next].slot).slabHash)) & mask
            if distance >= (next - hole) & mask {
                buckets.swapAt(hole, next)
                hole = next
            }
            next = (next + 1) & mask
        }
    }

    private mutating func grow() {
        let slots = buckets.filter { !$0.isVacant }.map(\.slot)
        buckets = Array(repeating: .vacant, count: 2 * buckets.count)
        for slot in slots { put(slot, key(in: slot).slabHash) }
    }
}
