/// What is to happen, in the order of virtual time; at the same time, in the order in which it was scheduled.
struct Schedule {
    private struct Entry {
        let time: Int64
        let serial: Int
        let action: () -> Void
    }

    private(set) var now: Int64 = 0
    private var serial = 0
    private var heap: [Entry] = []

    private static func precedes(_ left: Entry, _ right: Entry) -> Bool {
        left.time == right.time ? left.serial < right.serial : left.time < right.time
    }

    /// - Parameter delay: in microseconds.
    mutating func after(_ delay: Int64, _ action: @escaping () -> Void) {
        serial += 1
        heap.append(Entry(time: now + max(0, delay), serial: serial, action: action))
        var child = heap.count - 1
        while child > 0, Self.precedes(heap[child], heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// The next action; `nil` if there is none until then, and it is then.
    mutating func next(until end: Int64) -> (() -> Void)? {
        guard let first = heap.first, first.time <= end else {
            now = max(now, end)
            return nil
        }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            var parent = 0
            while true {
                var least = parent
                for child in [2 * parent + 1, 2 * parent + 2]
                where child < heap.count && Self.precedes(heap[child], heap[least]) { least = child }
                if least == parent { break }
                heap.swapAt(parent, least)
                parent = least
            }
        }
        now = first.time
        return first.action
    }
}
