/// The last texts that were inserted, so many that what is repeated soon is told.
struct RecentSet {
    private let capacity: Int
    private var known: Set<String> = []
    private var order: [String] = []

    init(capacity: Int) { self.capacity = capacity }

    /// - Returns: whether it is new.
    mutating func insert(_ text: String) -> Bool {
        guard known.insert(text).inserted else { return false }
        order.append(text)
        // Half of them at once, so that this is rare.
        if order.count > capacity {
            for old in order.prefix(capacity / 2) { known.remove(old) }
            order.removeFirst(capacity / 2)
        }
        return true
    }
}
