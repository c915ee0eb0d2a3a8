/// The debounce window of one coalescing key. The first event opens it. Each further event extends it by its own window length,
/// but never beyond the limit that was set at opening, so that a stream of events cannot delay the banner for ever.
struct Window {
    /// When claims are no longer awaited.
    private(set) var deadline: Instant
    /// Armed for the deadline.
    fileprivate(set) var timer: Router.Timers.TimerID?
    let opened: Instant
    /// The latest deadline that further events can cause.
    private(set) var limit: Instant
    /// Events without a claim.
    private(set) var unclaimed = SortedIDs()
    /// The unclaimed events for which claims are still awaited.
    private(set) var awaited = SortedIDs()
    /// Events with a provisional claim.
    private(set) var held = SortedIDs()

    /// A length above the maximum wins: the maximum limits streams, not a single event.
    init(length: Duration, maximum: Duration, at now: Instant) {
        opened = now
        deadline = now + length
        limit = max(now + maximum, deadline)
    }

    /// The window of an event that comes back to it, where it has been closed.
    fileprivate init(restoring tracked: Router.TrackedEvent, at now: Instant) {
        opened = tracked.opened
        deadline = max(tracked.deadline, now)
        limit = max(opened + tracked.event.route.maximumWindow, deadline)
    }

    var isFullyClaimed: Bool { unclaimed.isEmpty && held.isEmpty }
    /// Whether every screen that was asked about the unclaimed events has passed.
    var canEndEarly: Bool { awaited.isEmpty && !unclaimed.isEmpty }

    /// A short length does not shorten the window of earlier events, unless the event takes the place of the only one.
    mutating func add(_ id: EventID, length: Duration, isAwaited: Bool, at now: Instant) {
        let ownDeadline = min(now + length, limit)
        deadline = isFullyClaimed ? ownDeadline : max(deadline, ownDeadline)
        unclaimed.insert(id)
        if isAwaited { awaited.insert(id) }
    }

    /// Adds an event, and arms the timer again if the deadline has moved.
    fileprivate mutating func add(
        _ event: Event, length: Duration, isAwaited: Bool, isReplayed: Bool, at now: Instant,
        timers: inout Router.Timers
    ) -> Window {
        let before = timer == nil ? nil : deadline
        add(event.id, length: length, isAwaited: isAwaited, at: now)
        if isReplayed { extend(until: now + length) }
        if deadline != before { timer = timers.schedule(.window(event.key), at: deadline) }
        return self
    }

    /// Puts an event back, and arms the timer if it is not armed for the deadline.
    fileprivate mutating func restore(
        _ tracked: Router.TrackedEvent, _ key: CoalescingKey, isAwaited: Bool, timers: inout Router.Timers
    ) {
        let before = timer == nil ? nil : deadline
        unclaimed.insert(tracked.event.id)
        if isAwaited { awaited.insert(tracked.event.id) }
        extend(until: tracked.deadline)
        if deadline != before { timer = timers.schedule(.window(key), at: deadline) }
    }

    /// Extends the window, beyond its limit if necessary.
    mutating func extend(until moment: Instant) {
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

    /// Every screen that was asked about the event has passed.
    mutating func stopAwaiting(_ id: EventID) {
        awaited.remove(id)
    }
}

/// The open windows by coalescing key. Each arms the timer for its deadline.
struct Windows {
    private var windows = SlabDictionary<CoalescingKey, Window>()

    var count: Int { windows.count }
    var all: some Sequence<Window> { windows.values }

    subscript(key: CoalescingKey) -> Window? {
        _read { yield windows[key] }
    }

    /// Adds an event to the window of its key, and opens one where there is none.
    ///
    /// - Parameter isReplayed: whether an earlier run accepted it. Such an event gets its whole window, beyond the limit.
    mutating func add(
        _ event: Event, length: Duration, isAwaited: Bool, isReplayed: Bool, at now: Instant,
        timers: inout Router.Timers
    ) -> Window {
        let key = event.key
        if !windows.contains(key) {
            windows[key] = Window(length: length, maximum: event.route.maximumWindow, at: now)
        }
        return windows[existing: key].add(
            event, length: length, isAwaited: isAwaited, isReplayed: isReplayed, at: now, timers: &timers)
    }

    /// Puts an event back that has left its window.
    mutating func restore(
        _ tracked: Router.TrackedEvent, _ key: CoalescingKey, isAwaited: Bool, at now: Instant,
        timers: inout Router.Timers
    ) {
        if !windows.contains(key) { windows[key] = Window(restoring: tracked, at: now) }
        windows[existing: key].restore(tracked, key, isAwaited: isAwaited, timers: &timers)
    }

    /// - Returns: the window's deadline.
    @discardableResult
    mutating func claim(_ id: EventID, in key: CoalescingKey) -> Instant {
        windows[existing: key].claim(id)
        return windows[existing: key].deadline
    }

    mutating func hold(_ id: EventID, in key: CoalescingKey) { windows[existing: key].hold(id) }
    mutating func release(_ id: EventID, in key: CoalescingKey, isAwaited: Bool) {
        windows[existing: key].release(id, isAwaited: isAwaited)
    }
    mutating func stopAwaiting(_ id: EventID, in key: CoalescingKey) { windows[existing: key].stopAwaiting(id) }

    @discardableResult
    mutating func remove(_ key: CoalescingKey) -> Window? { windows.removeValue(forKey: key) }
}
