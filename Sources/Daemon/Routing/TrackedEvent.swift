import DequeModule

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
        var expires: Uptime
        fileprivate(set) var place: Place
        /// When its window was opened.
        var opened: Instant
        /// The deadline of its window, once the window has ended.
        var deadline: Instant
        /// The screens whose answers are awaited.
        var asked: [ScreenID] = []
        /// Armed while the event waits for the server, for the end of its lifetime.
        fileprivate(set) var expiryTimer: Timers.LifetimeID?
        /// Whether an earlier run accepted it.
        var isReplayed = false
        /// Whether it was accepted before the last boot. No clock says how long ago, and `accepted` has no meaning.
        var isOfEarlierBoot = false
        /// Whether it has an outcome already and was snoozed. It stays so until a banner shows it again.
        var isSnoozed = false

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
        events[tracked.event.id] = tracked
        names.add(tracked.event)
    }

    /// Removes an event from memory. It must not have a place any more.
    mutating func forget(existing id: EventID) -> TrackedEvent {
        let tracked = events.remove(existing: id)
        if tracked.isSnoozed { quietPeriods.snoozes.end(id) }
        names.remove(tracked.event)
        return tracked
    }

    /// Changes the place of an event. While it waits for the server, its lifetime may end.
    mutating func move(_ id: EventID, to place: TrackedEvent.Place) {
        var timer: Timers.LifetimeID?
        if case .waiting = place { timer = timers.schedule(.event(id), at: events[existing: id].expires) }
        events[existing: id].place = place
        events[existing: id].expiryTimer = timer
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
        case .waiting(let key): return .waiting(delay(to: key))
        case .inFlight: return .asked
        case .held, .shown, .gone, .snoozed: return nil
        }
    }

    /// When an undecided event was accepted (`nil` in an earlier boot), and when its window opened and ends or ended.
    public func window(of id: EventID) -> (accepted: Instant?, opened: Instant, deadline: Instant)? {
        guard let tracked = events[id], tracked.isUndecided else { return nil }
        let accepted = tracked.isOfEarlierBoot ? nil : tracked.accepted
        guard case .window(let key) = tracked.place, let window = windows[key] else {
            return (accepted, tracked.opened, tracked.deadline)
        }
        return (accepted, window.opened, window.deadline)
    }

    private func delay(to key: CoalescingKey) -> BannerDelay? {
        guard banners.server.isServerThere else { return banners.server.isServerFound ? .busy : .absent }
        if banners.server.isCircuitOpen { return .resting }
        if key == .summary, banners.summaryTimer != nil { return .limited }
        return banners.server.allowsCall && banners[key]?.call == nil ? nil : .busy
    }
}

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
