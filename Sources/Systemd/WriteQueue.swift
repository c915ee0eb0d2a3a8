import DequeModule

/// The bytes that a connection has taken and the bus has not: sd-bus itself counts messages only, up to 393,216 of whatever
/// size, and says no more than how many are left. They leave in the order in which they came.
struct WriteQueue {
    /// What sd-bus keeps with every message beside its contents.
    static let overhead = 1024

    /// What is reckoned for an answer that sd-bus gives by itself.
    static let unknown = 4096

    /// The sizes of what is queued, oldest first.
    private var sizes = Deque<Int>()
    private(set) var bytes = 0

    /// A message has been handed over, and so many are queued now.
    mutating func sent(_ size: Int, queued: Int) {
        sizes.append(size + Self.overhead)
        bytes += size + Self.overhead
        settle(queued: queued)
    }

    /// So many are queued now.
    mutating func settle(queued: Int) {
        while sizes.count > queued { bytes -= sizes.removeFirst() }
        // What sd-bus answers by itself has not been counted: some kilobytes at most.
        while sizes.count < queued {
            sizes.append(Self.unknown)
            bytes += Self.unknown
        }
    }
}
