import DequeModule

/// Counts the bytes that sd-bus has queued for the bus. sd-bus itself reports only the number of messages, of which it
/// queues up to 393,216 of any size. They leave in order.
struct WriteQueue {
    /// Bytes that sd-bus needs per message beside its contents.
    static let overhead = 1024

    /// Assumed size of a reply that sd-bus makes itself.
    static let unknown = 4096

    /// The sizes of what is queued, oldest first.
    private var sizes = Deque<Int>()
    private(set) var bytes = 0

    /// Adds a message that was sent, with the number of messages queued now.
    mutating func sent(_ size: Int, queued: Int) {
        sizes.append(size + Self.overhead)
        bytes += size + Self.overhead
        settle(queued: queued)
    }

    /// Updates the number of queued messages.
    mutating func settle(queued: Int) {
        while sizes.count > queued { bytes -= sizes.removeFirst() }
        // Replies of sd-bus itself were not added: a few kilobytes each.
        while sizes.count < queued {
            sizes.append(Self.unknown)
            bytes += Self.unknown
        }
    }
}
