import NotifyText

/// The debounce window of one coalescing key. The first event opens it. Each further event extends it by its own window
/// length, but never beyond the limit that was set at opening, so that a stream of events cannot delay the banner for
/// ever.
struct Window {
    /// When claims are no longer awaited.
    private(set) var deadline: Instant
    /// Armed for the deadline.
    private(set) var timer: Router.Timers.TimerID?
    let opened: Instant
    /// The latest deadline that further events can cause.
    private(set) var limit: Instant
    private var members = Members()
    /// Events without a claim.
    var unclaimed: SortedIDs { members.sets.unclaimed }
    /// Events with a provisional claim.
    var held: SortedIDs { members.sets.held }

    /// A length above the maximum wins: the maximum limits streams, not a single event.
    init(length: Duration, maximum: Duration, at now: Instant) {
        opened = now
        deadline = now + length
        limit = max(now + maximum, deadline)
    }

    /// The window of an event that comes back to it, where it has been closed.
    init(restoring tracked: Router.TrackedEvent, at now: Instant) {
        opened = tracked.opened
        deadline = max(tracked.deadline, now)
        limit = max(opened + tracked.event.route.maximumWindow, deadline)
    }

    var isFullyClaimed: Bool { members.isEmpty }
    /// Whether every screen that was asked about the unclaimed events has passed.
    var canEndEarly: Bool { members.areAnswered }

    /// A short length does not shorten the window of earlier events, unless the event takes the place of the only one.
    mutating func add(_ id: EventID, length: Duration, isAwaited: Bool, at now: Instant) {
        let ownDeadline = min(now + length, limit)
        deadline = isFullyClaimed ? ownDeadline : max(deadline, ownDeadline)
        members.add(id, isAwaited: isAwaited)
    }

    /// Changes the window, and arms the timer if it is not armed for the deadline.
    ///
    /// - Parameter slot: its own.
    mutating func change(in slot: Int32, _ timers: inout Router.Timers, _ change: (inout Window) -> Void) {
        let before = timer == nil ? nil : deadline
        change(&self)
        if deadline != before { timer = timers.schedule(.window(slot), at: deadline) }
    }

    /// Puts an event back.
    mutating func restore(_ tracked: Router.TrackedEvent) {
        members.add(tracked.event.id, isAwaited: tracked.isAwaited)
        extend(until: tracked.deadline)
    }

    /// Extends the window, beyond its limit if necessary.
    mutating func extend(until moment: Instant) {
        limit = max(limit, moment)
        deadline = max(deadline, moment)
    }

    mutating func claim(_ id: EventID) { members.remove(id) }

    mutating func hold(_ id: EventID) {
        members.change { sets in
            sets.remove(id)
            sets.held.insert(id)
        }
    }

    mutating func release(_ id: EventID, isAwaited: Bool) {
        members.change { sets in
            sets.held.remove(id)
            sets.add(id, isAwaited: isAwaited)
        }
    }

    /// Every screen that was asked about the event has passed.
    mutating func stopAwaiting(_ id: EventID) { members.change { $0.awaited.remove(id) } }
}

extension Window {
    fileprivate struct Sets {
        var unclaimed = SortedIDs()
        /// The unclaimed events for which claims are still awaited.
        var awaited = SortedIDs()
        var held = SortedIDs()

        mutating func add(_ id: EventID, isAwaited: Bool) {
            unclaimed.insert(id)
            if isAwaited { awaited.insert(id) }
        }

        mutating func remove(_ id: EventID) {
            unclaimed.remove(id)
            awaited.remove(id)
            held.remove(id)
        }
    }

    /// The events of a window. Most windows have one, which is stored inline.
    fileprivate enum Members {
        case none
        case one(EventID, isHeld: Bool, isAwaited: Bool)
        indirect case several(Sets)

        init() { self = .none }

        private init(_ sets: Sets) {
            switch (sets.unclaimed.count, sets.held.count) {
            case (0, 0): self = .none
            case (1, 0): self = .one(sets.unclaimed[0], isHeld: false, isAwaited: !sets.awaited.isEmpty)
            case (0, 1): self = .one(sets.held[0], isHeld: true, isAwaited: false)
            default: self = .several(sets)
            }
        }

        var sets: Sets {
            switch self {
            case .none: return Sets()
            case .several(let sets): return sets
            case .one(let id, let isHeld, let isAwaited):
                var sets = Sets()
                if isHeld { sets.held.insert(id) } else { sets.add(id, isAwaited: isAwaited) }
                return sets
            }
        }

        var isEmpty: Bool { if case .none = self { true } else { false } }

        /// Whether there are unclaimed events, and no claims are awaited for them.
        var areAnswered: Bool {
            switch self {
            case .none: false
            case .one(_, let isHeld, let isAwaited): !isHeld && !isAwaited
            case .several(let sets): sets.awaited.isEmpty && !sets.unclaimed.isEmpty
            }
        }

        mutating func add(_ id: EventID, isAwaited: Bool) {
            if isEmpty {
                self = .one(id, isHeld: false, isAwaited: isAwaited)
            } else {
                change { $0.add(id, isAwaited: isAwaited) }
            }
        }

        mutating func remove(_ id: EventID) {
            if case .one(id, isHeld: _, isAwaited: _) = self { self = .none } else { change { $0.remove(id) } }
        }

        mutating func change(_ body: (inout Sets) -> Void) {
            var sets = self.sets
            // Keeps the sets uniquely referenced, so that they are changed in place.
            self = .none
            body(&sets)
            self = Members(sets)
        }
    }
}

/// The end of windows: rule 5 of docs/design.md. All unclaimed events go into one banner.
extension Router {
    /// Ends a window at its deadline, or early when all screens that were asked have passed.
    mutating func endWindow(_ key: CoalescingKey, at now: Now) {
        guard let window = events.closeWindow(key, at: now.instant) else {
            preconditionFailure("a closed window has no timer and no awaited answers")
        }
        var hasCollapse = false
        for id in window.held {
            forgetQuestions(about: id)
            move(id, to: .held(key))
            hasCollapse = hasCollapse || events[existing: id].event.collapse != nil
        }
        for id in window.unclaimed {
            forgetQuestions(about: id)
            hasCollapse = hasCollapse || events[existing: id].event.collapse != nil
            queueOrDiscard(id, for: key, at: now)
        }
        // A banner that was kept for one of them is updated for all of them.
        if hasCollapse { endSuccession(in: key) }
    }

    /// Queues an unclaimed event for its banner, or discards it if it has expired or is muted. The publisher that shows
    /// the banner itself is told to.
    mutating func queueOrDiscard(_ id: EventID, for key: CoalescingKey, at now: Now) {
        let tracked = events[existing: id]
        if tracked.expires <= now.uptime {
            discard(id, .expired)
        } else if let quiet = quietHolding(tracked.event) {
            discard(id, .muted, quiet)
        } else if tracked.event.isShownByPublisher {
            leaveToPublisher(id, at: now)
        } else {
            enqueue(id, in: key)
        }
    }

    /// The outcome tells the publisher to show the banner. To the router the event is one whose banner has disappeared:
    /// whatever ends it has an outcome of its own, which tells the publisher to take the banner down.
    private mutating func leaveToPublisher(_ id: EventID, at now: Now) {
        let tracked = events[existing: id]
        var resolution = Resolution(.shown, count: 1, lateness: max(.zero, now.instant - tracked.deadline))
        resolution.quiet = quietBroken(by: tracked.event)
        decide(tracked, resolution)
        move(id, to: .gone(nil))
        keepRetractable(tracked.event)
    }

    /// Adds an event to what waits for the server.
    mutating func enqueue(_ id: EventID, in key: CoalescingKey) {
        move(id, to: .waiting(key))
        banners.wait(id, in: key)
    }

    /// Removes an event from what waits for the server, and closes the banner that it would have joined if nothing else
    /// is behind it.
    mutating func dequeue(_ id: EventID, from key: CoalescingKey) {
        banners.stopWaiting(id, in: key)
        if let banner = banners.emptyBanner(key) { close(banner) }
        banners.removeIfUnused(key)
    }

    mutating func expire(_ id: EventID) {
        guard case .waiting(let key) = events[id]?.place else {
            preconditionFailure("only an event that waits for the server has an expiry timer")
        }
        discard(id, .expired)
        dequeue(id, from: key)
    }

    private mutating func discard(_ id: EventID, _ outcome: Outcome, _ quiet: Quiet? = nil) {
        let tracked = forget(existing: id)
        var resolution = Resolution(outcome)
        resolution.quiet = quiet
        resolution.digest = quiet.flatMap {
            quietPeriods.oweDigest(
                of: tracked.event, heldBackBy: $0, pauses: settings.banners.digestsPauses, limit: limits.digests)
        }
        decide(tracked, resolution)
    }

    /// Discards waiting events that have expired or been muted since they were queued.
    mutating func discardUnwanted(in key: CoalescingKey, at now: Now) {
        for id in banners[existing: key].waiting {
            let tracked = events[existing: id]
            let isStale = tracked.expires <= now.uptime
            let quiet = isStale ? nil : quietHolding(tracked.event)
            guard isStale || quiet != nil else { continue }
            banners.stopWaiting(id, in: key)
            discard(id, isStale ? .expired : .muted, quiet)
        }
    }
}
