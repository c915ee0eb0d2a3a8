import DequeModule

/// Remembers which event a pair of source and event-id became, so that a repeat gets the same answer and is not sent again.
struct RepeatMemory {
    private let capacity: Int
    private let byteCapacity: Int
    private let memory: Duration
    private var events: [Origin: EventID] = [:]
    private var order = Deque<(origin: Origin, forgottenAt: Uptime)>()
    /// What is remembered takes so many bytes.
    private(set) var bytes = 0

    init(capacity: Int, byteCapacity: Int = .max, memory: Duration) {
        self.capacity = capacity
        self.byteCapacity = byteCapacity
        self.memory = memory
    }

    var count: Int { events.count }

    /// The event this origin named before, if it is still remembered.
    mutating func first(_ origin: Origin, at now: Uptime) -> EventID? {
        guard origin.namesAnEvent else { return nil }
        while let oldest = order.first, oldest.forgottenAt <= now { forgetOldest() }
        return events[origin]
    }

    /// - Parameter duration: how long, where that is less than usual.
    mutating func remember(_ origin: Origin, as id: EventID, at now: Uptime, for duration: Duration? = nil) {
        guard origin.namesAnEvent else { return }
        bytes += Footprint.name + origin.textBytes
        while !order.isEmpty, order.count >= capacity || bytes > byteCapacity { forgetOldest() }
        events[origin] = id
        order.append((origin, now + (duration ?? memory)))
    }

    /// Forgets events that have never been.
    mutating func forget(_ ids: [EventID]) {
        let gone = Set(ids)
        order.removeAll { entry in
            guard let id = events[entry.origin], gone.contains(id) else { return false }
            events[entry.origin] = nil
            bytes -= Footprint.name + entry.origin.textBytes
            return true
        }
    }

    private mutating func forgetOldest() {
        let oldest = order.removeFirst()
        events[oldest.origin] = nil
        bytes -= Footprint.name + oldest.origin.textBytes
    }
}
