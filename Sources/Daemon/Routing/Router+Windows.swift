/// The end of windows: rule 5 of docs/design.md. All unclaimed events go into one banner.
extension Router {
    /// Ends a window at its deadline, or early when all screens that were asked have passed.
    mutating func endWindow(_ key: CoalescingKey, at now: Now) {
        guard let window = windows.remove(key) else {
            preconditionFailure("a closed window has no timer and no awaited answers")
        }
        let deadline = min(window.deadline, now.instant)
        var hasCollapse = false
        for id in window.held {
            forgetQuestions(about: id)
            events[existing: id].place = .held(key)
            events[existing: id].deadline = deadline
            hasCollapse = hasCollapse || events[existing: id].event.collapse != nil
        }
        for id in window.unclaimed {
            forgetQuestions(about: id)
            events[existing: id].deadline = deadline
            hasCollapse = hasCollapse || events[existing: id].event.collapse != nil
            queueOrDiscard(id, for: key, at: now)
        }
        // A banner that was kept for one of them is updated for all of them.
        if hasCollapse { endSuccession(in: key) }
    }

    mutating func endWindowIfAnswered(_ key: CoalescingKey, at now: Now) {
        if windows[key]?.canEndEarly == true { endWindow(key, at: now) }
    }

    /// Queues an unclaimed event for its banner, or discards it if it has expired or is muted. The publisher that shows the
    /// banner itself is told to.
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

    /// The outcome tells the publisher to show the banner. To the router the event is one whose banner has disappeared: whatever
    /// ends it has an outcome of its own, which tells the publisher to take the banner down.
    private mutating func leaveToPublisher(_ id: EventID, at now: Now) {
        let tracked = events[existing: id]
        var resolution = Resolution(.shown, count: 1, lateness: max(.zero, now.instant - tracked.deadline))
        resolution.quiet = quietBroken(by: tracked.event)
        decide(tracked, resolution)
        cameBack(id)
        events[existing: id].place = .gone(nil)
        keepRetractable(tracked.event)
    }

    /// Adds an event to what waits for the server.
    mutating func enqueue(_ id: EventID, in key: CoalescingKey) {
        events[existing: id].place = .waiting(key)
        events[existing: id].expiryTimer = lifetimeTimers.schedule(.event(id), at: events[existing: id].expires)
        banners.wait(id, in: key)
    }

    /// Removes an event from what waits for the server, and closes the banner that it would have joined if nothing else is
    /// behind it.
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
        resolution.digest = quiet.flatMap { oweDigest(of: tracked, heldBackBy: $0) }
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
