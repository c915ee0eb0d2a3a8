import DequeModule

/// Recognises duplicates: maps a global id, the pair of source and event-id, to the event that it was first accepted as.
struct Deduplicator {
    private let capacity: Int
    private let byteCapacity: Int
    private let retention: Duration
    private var events: [Origin: EventID] = [:]
    private var order = Deque<(origin: Origin, expires: Uptime)>()
    /// The memory cost of all entries.
    private(set) var bytes = 0

    init(capacity: Int, byteCapacity: Int = .max, retention: Duration) {
        self.capacity = capacity
        self.byteCapacity = byteCapacity
        self.retention = retention
    }

    var count: Int { events.count }

    /// The event that was accepted under this global id; `nil` where there is none or its entry has expired.
    mutating func original(of origin: Origin, at now: Uptime) -> EventID? {
        guard origin.isGlobalID else { return nil }
        removeExpired(at: now)
        return events[origin]
    }

    /// Whether the event that was accepted under this global id is surely known.
    func knows(_ origin: Origin, at now: Uptime) -> Bool {
        guard let oldest = order.first, oldest.expires > now else { return false }
        return events[origin] != nil
    }

    /// The event that was surely accepted under this global id.
    func known(_ origin: Origin, at now: Uptime) -> EventID? { knows(origin, at: now) ? events[origin] : nil }

    /// - Parameter left: what is left of the retention time, for an event of an earlier run.
    mutating func record(_ origin: Origin, as id: EventID, at now: Uptime, left: Duration? = nil) {
        guard origin.isGlobalID else { return }
        removeExpired(at: now)
        bytes += MemoryCost.globalID + origin.textBytes
        while !order.isEmpty, order.count >= capacity || bytes > byteCapacity { removeOldest() }
        events[origin] = id
        order.append((origin, now + (left ?? retention)))
    }

    /// Removes the entries of events that could not be stored.
    mutating func remove(_ ids: [EventID]) {
        let unstored = Set(ids)
        order.removeAll { entry in
            guard let id = events[entry.origin], unstored.contains(id) else { return false }
            events[entry.origin] = nil
            bytes -= MemoryCost.globalID + entry.origin.textBytes
            return true
        }
    }

    private mutating func removeExpired(at now: Uptime) {
        while let oldest = order.first, oldest.expires <= now { removeOldest() }
    }

    private mutating func removeOldest() {
        let oldest = order.removeFirst()
        events[oldest.origin] = nil
        bytes -= MemoryCost.globalID + oldest.origin.textBytes
    }
}
