/// The debounce window of one coalescing key: the first event opens it, a further one keeps it open for its own window's
/// length again, but never beyond the limit that was set when it was opened, so that no stream starves a banner.
struct Window {
    /// When claims are no longer awaited.
    private(set) var deadline: Instant
    /// Stands for the deadline.
    var ticket: Router.WindowClock.Ticket?
    let opened: Instant
    /// What no further event can push the deadline beyond.
    private(set) var limit: Instant
    /// The events nobody has claimed yet.
    private(set) var unclaimed = EventList()
    /// Those of the unclaimed events that somebody may still claim.
    private(set) var awaited = EventList()
    /// The events that are claimed provisionally.
    private(set) var held = EventList()

    /// An event that asks for more than the route's maximum gets it: the maximum is there for streams, not for one event.
    init(length: Duration, maximum: Duration, at now: Instant) {
        opened = now
        deadline = now + length
        limit = max(now + maximum, deadline)
    }

    /// Every event is claimed: there is nothing left to wait for, nor to show.
    var isDone: Bool { unclaimed.isEmpty && held.isEmpty }
    /// Some events are unclaimed, and everybody who was asked about them has passed.
    var isOverEarly: Bool { awaited.isEmpty && !unclaimed.isEmpty }

    /// A short window never takes time away from the events that are there already.
    mutating func add(_ id: EventID, length: Duration, isAwaited: Bool, at now: Instant) {
        deadline = max(deadline, min(now + length, limit))
        unclaimed.insert(id)
        if isAwaited { awaited.insert(id) }
    }

    /// Keeps the window open beyond its limit.
    mutating func keepOpen(until moment: Instant) {
        limit = max(limit, moment)
        deadline = max(deadline, moment)
    }

    mutating func claim(_ id: EventID) {
        unclaimed.remove(id)
        awaited.remove(id)
        held.remove(id)
    }

    mutating func hold(_ id: EventID) {
        claim(id)
        held.insert(id)
    }

    mutating func release(_ id: EventID, isAwaited: Bool) {
        held.remove(id)
        unclaimed.insert(id)
        if isAwaited { awaited.insert(id) }
    }

    /// Everybody who was asked about the event has passed.
    mutating func stopAwaiting(_ id: EventID) {
        awaited.remove(id)
    }
}
