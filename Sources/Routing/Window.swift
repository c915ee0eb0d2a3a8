/// The debounce window of one coalescing key: the first event opens it, a further one keeps it open for its own window's
/// length again, but never beyond the limit that was set when it was opened, so that no stream starves a banner.
struct Window {
    /// When claims are no longer awaited.
    private(set) var deadline: Instant
    /// What no further event can push the deadline beyond.
    let limit: Instant
    /// The events nobody has claimed yet.
    private(set) var unclaimed = EventList()

    /// An event that asks for more than the route's maximum gets it: the maximum is there for streams, not for one event.
    init(openedBy id: EventID, length: Duration, maximum: Duration, at now: Instant) {
        deadline = now + length
        limit = max(now + maximum, deadline)
        unclaimed.insert(id)
    }

    /// A short window never takes time away from the events that are there already.
    mutating func add(_ id: EventID, length: Duration, at now: Instant) {
        deadline = max(deadline, min(now + length, limit))
        unclaimed.insert(id)
    }

    mutating func claim(_ id: EventID) {
        unclaimed.remove(id)
    }
}
