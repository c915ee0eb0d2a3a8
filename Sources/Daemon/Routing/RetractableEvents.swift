import DequeModule

/// Shown events that a late claim can still retract, oldest first. Those claimed since stay in the queue.
struct RetractableEvents {
    private(set) var entries = Deque<(id: EventID, bytes: Int)>()
    /// The memory cost of all entries.
    private(set) var bytes = 0

    var count: Int { entries.count }

    func hasRoom(for count: Int, bytes added: Int, limits: Limits) -> Bool {
        self.count + count <= limits.retractableEvents && bytes + added <= limits.retractableBytes
    }

    /// Looks through all entries.
    func contains(_ id: EventID) -> Bool { entries.contains { $0.id == id } }

    mutating func append(_ event: Event) {
        entries.append((event.id, event.memoryCost))
        bytes += event.memoryCost
    }

    /// Adds an event that is older than all others.
    mutating func prepend(_ event: Event) {
        entries.prepend((event.id, event.memoryCost))
        bytes += event.memoryCost
    }

    /// Removes an event. Looks through all entries.
    mutating func remove(_ id: EventID) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        bytes -= entries.remove(at: index).bytes
    }

    mutating func popOldest() -> EventID? {
        guard let oldest = entries.popFirst() else { return nil }
        bytes -= oldest.bytes
        return oldest.id
    }
}
