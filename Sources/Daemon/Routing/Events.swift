import DequeModule
public import NotifyText

/// The events in memory, each in one place, the windows that some of them are in, and the ids that events get.
struct Events {
    /// The smallest id that claims may name; no run has used lower ones.
    let oldestID: EventID
    /// The first id of this run.
    let firstID: EventID
    private(set) var nextID: EventID
    private var tracked = SlabDictionary<EventID, Router.TrackedEvent>()
    /// The open windows by coalescing key. Each arms the timer for its deadline.
    private(set) var windows = SlabDictionary<CoalescingKey, Window>()
    /// Undecided events and their memory cost, by the programs of their senders.
    private(set) var undecided = Owners()
    /// Undecided events of earlier runs that are not restored yet.
    private(set) var unrestored = 0
    /// Shown events that a late claim can still retract, oldest first. Those claimed since stay in the queue.
    private(set) var retractable = Deque<(id: EventID, bytes: Int)>()
    /// The memory cost of all entries.
    private(set) var retractableBytes = 0

    init(firstID: EventID, oldestID: EventID) { (self.oldestID, self.firstID, nextID) = (oldestID, firstID, firstID) }

    var count: Int { tracked.count }
    /// In no particular order.
    var all: some Sequence<Router.TrackedEvent> { tracked.values }

    func contains(_ id: EventID) -> Bool { tracked.contains(id) }

    subscript(id: EventID) -> Router.TrackedEvent? {
        _read { yield tracked[id] }
    }

    subscript(existing id: EventID) -> Router.TrackedEvent {
        _read { yield tracked[existing: id] }
    }

    /// - Throws: `.unknownEvent` if the id was not given out by this router.
    func requireKnown(_ id: EventID) throws(Refusal) {
        guard id >= oldestID && id < nextID else { throw .noEvent(id) }
    }

    mutating func takeID() -> EventID {
        defer { nextID = EventID(nextID.rawValue + 1) }
        return nextID
    }

    /// A portion of earlier events comes.
    ///
    /// - Parameters:
    ///   - last: the highest id of earlier runs.
    ///   - remaining: how many undecided events come later; `nil`: no news.
    mutating func restoring(last: EventID, remaining: Int?) {
        nextID = max(nextID, EventID(last.rawValue + 1))
        unrestored = remaining ?? unrestored
    }

    // MARK: Places

    fileprivate mutating func add(_ event: Router.TrackedEvent) {
        tracked[event.event.id] = event
        if event.isUndecided { undecided.add(bytes: event.event.memoryCost, of: .connection(event.event.sender)) }
    }

    /// Removes an event, also from its window.
    fileprivate mutating func remove(_ id: EventID) -> Router.TrackedEvent {
        var removed = tracked.remove(existing: id)
        if removed.isUndecided { uncount(removed.event) }
        if case .window(let key) = removed.place, let slot = windows.slot(of: key) {
            windows[slot: slot].claim(id)
            // Later events may have extended the window.
            removed.deadline = windows[slot: slot].deadline
        }
        return removed
    }

    /// While an event waits for the server, its lifetime may end.
    ///
    /// - Returns: whether a banner shows it again that was snoozed.
    fileprivate mutating func move(
        _ id: EventID, to place: Router.TrackedEvent.Place, timers: inout Router.Timers
    ) -> Bool {
        let slot = tracked.slot(existing: id)
        let (wasUndecided, wasSnoozed) = (tracked[slot: slot].isUndecided, tracked[slot: slot].isSnoozed)
        tracked[slot: slot].place = place
        tracked[slot: slot].expiryTimer = nil
        switch place {
        case .waiting: tracked[slot: slot].expiryTimer = timers.schedule(.event(id), at: tracked[slot: slot].expires)
        case .snoozed: tracked[slot: slot].isSnoozed = true
        case .shown, .gone: tracked[slot: slot].isSnoozed = false
        case .window, .held, .inFlight: break
        }
        if wasUndecided, !tracked[slot: slot].isUndecided { uncount(tracked[slot: slot].event) }
        return wasSnoozed && !tracked[slot: slot].isSnoozed
    }

    /// An event asks for a banner from now on.
    ///
    /// - Parameter expires: a new end of its lifetime.
    mutating func becomeDue(_ id: EventID, at now: Instant, until expires: Uptime? = nil) {
        tracked[existing: id].deadline = now
        if let expires { tracked[existing: id].expires = expires }
    }

    /// Sets the screens whose answers are awaited.
    mutating func setAsked(_ id: EventID, _ screens: [ScreenID]) { tracked[existing: id].asked = screens }

    private mutating func uncount(_ event: Event) {
        undecided.remove(bytes: event.memoryCost, of: .connection(event.sender))
    }

    // MARK: Windows

    /// Adds an event to the window of its key, and opens one where there is none.
    ///
    /// - Parameter isReplayed: whether an earlier run accepted it. Such an event gets its whole window, beyond the
    ///   limit.
    mutating func addToWindow(
        _ event: Event, length: Duration, isAwaited: Bool, isReplayed: Bool, at now: Instant,
        timers: inout Router.Timers
    ) -> Window {
        let key = event.key
        let slot =
            windows.slot(of: key)
            ?? windows.insert(Window(length: length, maximum: event.route.maximumWindow, at: now), for: key)
        windows[slot: slot].change(in: slot, &timers) { window in
            window.add(event.id, length: length, isAwaited: isAwaited, at: now)
            if isReplayed { window.extend(until: now + length) }
        }
        return windows[slot: slot]
    }

    /// Puts an event back that has left its window, which may have been closed.
    mutating func returnToWindow(_ id: EventID, _ key: CoalescingKey, at now: Instant, timers: inout Router.Timers) {
        let tracked = tracked[existing: id]
        let slot = windows.slot(of: key) ?? windows.insert(Window(restoring: tracked, at: now), for: key)
        windows[slot: slot].change(in: slot, &timers) { $0.restore(tracked) }
    }

    mutating func hold(_ id: EventID, in key: CoalescingKey) { windows[existing: key].hold(id) }
    mutating func release(_ id: EventID, in key: CoalescingKey) {
        windows[existing: key].release(id, isAwaited: tracked[existing: id].isAwaited)
    }
    mutating func stopAwaiting(_ id: EventID, in key: CoalescingKey) { windows[existing: key].stopAwaiting(id) }

    /// The key of the window in a slot that has armed a timer; `nil`: the timer is stale.
    func window(in slot: Int32, armedBy timer: Router.Timers.TimerID) -> CoalescingKey? {
        guard let (key, window) = windows.entry(in: slot), window.timer == timer else { return nil }
        return key
    }

    /// Closes a window. Its events keep their places until they are moved, and the deadline.
    @discardableResult
    mutating func closeWindow(_ key: CoalescingKey, at now: Instant) -> Window? {
        guard let window = windows.removeValue(forKey: key) else { return nil }
        let deadline = min(window.deadline, now)
        for id in window.held { tracked[existing: id].deadline = deadline }
        for id in window.unclaimed { tracked[existing: id].deadline = deadline }
        return window
    }

    // MARK: Undecided events

    mutating func learn(_ news: PeerNews, of name: String) { undecided.learn(news, of: name) }

    /// - Throws: `.limitExceeded` if there is no room for another event.
    func checkRoom(for event: Event, limits: Limits) throws(Refusal) {
        let usage = undecided[event.sender]
        if undecided.total.count + unrestored >= limits.undecidedEvents {
            throw .limitExceeded(
                "undecided events: there are \(limits.undecidedEvents) already; "
                    + "try again when some have been claimed or shown")
        }
        if usage.count >= limits.undecidedEventsPerProgram {
            throw .limitExceeded(
                "undecided events of one program: there are \(usage.count) of yours already; "
                    + "try again when some have been claimed or shown")
        }
        if undecided.total.bytes + event.memoryCost > limits.undecidedBytes {
            throw .limitExceeded(
                "bytes of undecided events: with this event it would be more than \(limits.undecidedBytes); "
                    + "try again when some have been claimed or shown")
        }
        if usage.bytes + event.memoryCost > limits.undecidedBytesPerProgram {
            throw .limitExceeded(
                "bytes of undecided events of one program: with this event yours would be more than "
                    + "\(limits.undecidedBytesPerProgram); try again when some have been claimed or shown")
        }
    }

    // MARK: Shown events

    func hasRoom(for count: Int, bytes added: Int, limits: Limits) -> Bool {
        retractable.count + count <= limits.retractableEvents && retractableBytes + added <= limits.retractableBytes
    }

    /// Whether a late claim can still retract it. Looks through all entries.
    func canRetract(_ id: EventID) -> Bool { retractable.contains { $0.id == id } }

    /// - Parameter isOldest: whether the event is older than all others, and not newer.
    mutating func keepRetractable(_ event: Event, isOldest: Bool = false) {
        let entry = (event.id, event.memoryCost)
        if isOldest { retractable.prepend(entry) } else { retractable.append(entry) }
        retractableBytes += event.memoryCost
    }

    /// A late claim does not retract the event any more. Looks through all entries.
    mutating func dropRetractable(_ id: EventID) {
        guard let index = retractable.firstIndex(where: { $0.id == id }) else { return }
        retractableBytes -= retractable.remove(at: index).bytes
    }

    /// Takes those out whose banners have disappeared, oldest first.
    fileprivate mutating func takeGone() -> [EventID] {
        let entries = retractable.filter { tracked.contains($0.id) }
        retractable = Deque(entries.filter { if case .gone? = tracked[$0.id]?.place { false } else { true } })
        retractableBytes = retractable.reduce(0) { $0 + $1.bytes }
        return entries.map(\.id).filter { if case .gone? = tracked[$0]?.place { true } else { false } }
    }

    /// The oldest one beyond the limits; each is returned once.
    mutating func takeOldest(beyond limits: Limits) -> EventID? {
        guard !hasRoom(for: 0, bytes: 0, limits: limits), let oldest = retractable.popFirst() else { return nil }
        retractableBytes -= oldest.bytes
        return oldest.id
    }
}

/// An event in memory, and its place. Only `move` changes that.
extension Router {
    struct TrackedEvent {
        enum Place {
            case window(CoalescingKey)
            case waiting(CoalescingKey)
            /// Claimed provisionally, and its window is over.
            case held(CoalescingKey)
            case inFlight(CoalescingKey)
            case shown(CoalescingKey, BannerID)
            /// Its banner has disappeared without being dismissed.
            case gone(BannerID?)
            /// Its banner comes back later.
            case snoozed
        }

        let event: Event
        let accepted: Instant
        fileprivate(set) var expires: Uptime
        fileprivate(set) var place: Place
        /// When its window was opened.
        let opened: Instant
        /// The deadline of its window, once the window has ended.
        fileprivate(set) var deadline: Instant
        /// The screens whose answers are awaited.
        fileprivate(set) var asked: [ScreenID] = []
        /// Armed while the event waits for the server, for the end of its lifetime.
        fileprivate(set) var expiryTimer: Timers.LifetimeID?
        /// Whether an earlier run accepted it.
        let isReplayed: Bool
        /// Whether it was accepted before the last boot. No clock says how long ago, and `accepted` has no meaning.
        let isOfEarlierBoot: Bool
        /// Whether it has an outcome already and was snoozed. It stays so until a banner shows it again.
        fileprivate(set) var isSnoozed: Bool

        /// - Parameters:
        ///   - deadline: `nil` for an event that is decided: the times of its window are recorded already.
        ///   - age: how long ago it was accepted; `nil` for an event of an earlier boot.
        init(
            _ event: Event, in place: Place, age: Duration?, expires: Uptime? = nil, opened: Instant? = nil,
            deadline: Instant? = nil, asked: [ScreenID] = [], isReplayed: Bool = false, at now: Now
        ) {
            accepted = now.instant.before(by: age)
            (self.event, self.place, self.asked, self.isReplayed) = (event, place, asked, isReplayed)
            (self.opened, self.deadline) = (opened ?? accepted, deadline ?? accepted)
            self.expires = expires ?? now.uptime
            isOfEarlierBoot = age == nil
            isSnoozed = if case .snoozed = place { true } else { false }
        }

        /// The window that it is in.
        var window: CoalescingKey? {
            if case .window(let key) = place { key } else { nil }
        }

        /// The server's number of the banner that shows it or has shown it.
        var number: BannerID? {
            switch place {
            case .shown(_, let number): number
            case .gone(let number): number
            case .window, .waiting, .held, .inFlight, .snoozed: nil
            }
        }

        /// The banner that it is behind, or may be the successor of.
        var banner: CoalescingKey? {
            switch place {
            case .window(let key): event.collapse == nil ? nil : key
            case .waiting(let key), .inFlight(let key), .shown(let key, _): key
            case .held, .gone, .snoozed: nil
            }
        }

        /// The time from publishing to a moment; `nil` for an event of an earlier boot.
        func latency(at moment: Instant) -> Duration? { isOfEarlierBoot ? nil : moment - accepted }

        /// Whether the event has no outcome yet.
        var isUndecided: Bool {
            switch place {
            case .window, .waiting, .held, .inFlight: !isSnoozed
            case .shown, .gone, .snoozed: false
            }
        }

        /// Whether claims are awaited.
        var isAwaited: Bool { Self.isAwaited(event, asked: asked, isReplayed: isReplayed) }

        /// After a restart the screens that would be asked are not back yet.
        static func isAwaited(_ event: Event, asked: [ScreenID], isReplayed: Bool) -> Bool {
            event.route.wait == .anyone || !asked.isEmpty || isReplayed && event.route.wait == .screens
        }
    }

    /// Takes in an event that has a place.
    mutating func keep(_ tracked: TrackedEvent) {
        events.add(tracked)
        names.add(tracked.event)
    }

    /// Removes an event from memory. It must not have a place any more.
    mutating func forget(existing id: EventID) -> TrackedEvent {
        let tracked = events.remove(id)
        if tracked.isSnoozed { quietPeriods.snoozes.end(id) }
        names.remove(tracked.event)
        return tracked
    }

    /// Forgets the shown events whose banners have disappeared. A late claim finds them in the journal.
    public mutating func forgetGone() {
        // The button that has closed a banner may be reported only now.
        guard banners.closedCount == 0 else { return }
        for id in events.takeGone() { _ = forget(existing: id) }
    }

    /// Changes the place of an event. The snooze ends of one that a banner shows again.
    mutating func move(_ id: EventID, to place: TrackedEvent.Place) {
        if events.move(id, to: place, timers: &timers) { quietPeriods.snoozes.end(id) }
    }
}

/// Where an undecided event is.
public enum Progress: Hashable, Sendable {
    /// Claims are awaited.
    case window
    /// A connection, named by its unique name, has claimed it provisionally.
    case held(by: String)
    /// Its window has ended and its banner waits to be sent; `nil`: nothing delays it.
    case waiting(BannerDelay?)
    /// The notification server has been asked for its banner.
    case asked
}

extension Router {
    /// Where an undecided event is; `nil` for any other event and for one that is not restored yet.
    public func progress(of id: EventID) -> Progress? {
        guard let tracked = events[id], tracked.isUndecided else { return nil }
        if let hold = screens.holds[id].first { return .held(by: hold.claimant) }
        switch tracked.place {
        case .window: return .window
        case .waiting(let key): return .waiting(banners.delay(of: key))
        case .inFlight: return .asked
        case .held, .shown, .gone, .snoozed: return nil
        }
    }

    /// When an undecided event was accepted (`nil` in an earlier boot), and when its window opened and ends or ended.
    public func window(of id: EventID) -> (accepted: Instant?, opened: Instant, deadline: Instant)? {
        guard let tracked = events[id], tracked.isUndecided else { return nil }
        let accepted = tracked.isOfEarlierBoot ? nil : tracked.accepted
        guard case .window(let key) = tracked.place, let window = events.windows[key] else {
            return (accepted, tracked.opened, tracked.deadline)
        }
        return (accepted, window.opened, window.deadline)
    }
}
