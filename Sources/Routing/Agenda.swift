import HeapModule

/// What is due when: one moment for each matter, the earliest first.
///
/// Moments that were moved or struck off stay in the heap until they come up or until they outnumber those that count,
/// so that every operation is logarithmic and memory follows what is really there.
struct Agenda<Moment: Comparable, Matter: Hashable> {
    private struct Entry: Comparable {
        let moment: Moment
        /// Orders matters that are due at the same moment by when they were put down.
        let serial: UInt64
        let matter: Matter

        static func < (left: Entry, right: Entry) -> Bool {
            left.moment == right.moment ? left.serial < right.serial : left.moment < right.moment
        }

        static func == (left: Entry, right: Entry) -> Bool {
            left.serial == right.serial
        }
    }

    private var heap = Heap<Entry>()
    private var current: [Matter: UInt64] = [:]
    private var lastSerial: UInt64 = 0

    var isEmpty: Bool { current.isEmpty }
    var count: Int { current.count }

    /// Puts a matter down for a moment, in place of the one it had.
    mutating func put(_ matter: Matter, at moment: Moment) {
        lastSerial += 1
        current[matter] = lastSerial
        heap.insert(Entry(moment: moment, serial: lastSerial, matter: matter))
        if heap.count > 2 * current.count + 64 {
            heap = Heap(heap.unordered.filter { current[$0.matter] == $0.serial })
        }
    }

    func contains(_ matter: Matter) -> Bool {
        current[matter] != nil
    }

    mutating func strike(_ matter: Matter) {
        current[matter] = nil
    }

    /// When the next matter is due.
    mutating func earliest() -> Moment? {
        while let entry = heap.min {
            if current[entry.matter] == entry.serial { return entry.moment }
            heap.removeMin()
        }
        return nil
    }

    /// Takes the next matter off whose moment has come.
    mutating func takeDue(at now: Moment) -> Matter? {
        guard let moment = earliest(), moment <= now else { return nil }
        let entry = heap.removeMin()
        current[entry.matter] = nil
        return entry.matter
    }
}
