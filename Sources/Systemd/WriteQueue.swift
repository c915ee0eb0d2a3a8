/// The bytes that a connection has taken and the bus has not: sd-bus itself counts messages only, up to 393,216 of whatever
/// size, and says no more than how many are left. They leave in the order in which they came.
struct WriteQueue {
    /// What sd-bus keeps with every message beside its contents.
    private static let overhead = 1024

    /// The sizes of what is queued, oldest first.
    private var sizes: [Int] = []
    /// Where the oldest stands in `sizes`.
    private var first = 0
    private(set) var bytes = 0

    /// A message has been handed over, and so many are queued now.
    mutating func sent(_ size: Int, queued: Int) {
        append(size)
        settle(queued: queued)
    }

    /// So many are queued now.
    mutating func settle(queued: Int) {
        while sizes.count - first > queued {
            bytes -= sizes[first]
            first += 1
        }
        // What sd-bus answers by itself has not been counted: it is small.
        while sizes.count - first < queued { append(0) }
        guard first == sizes.count || first > 4096 else { return }
        sizes.removeFirst(first)
        first = 0
    }

    private mutating func append(_ size: Int) {
        sizes.append(size + Self.overhead)
        bytes += size + Self.overhead
    }
}
