/// The end of windows: rule 5. What nobody claimed goes to the banner of the key, all of it into one.
extension Router {
    /// Ends a window, at its deadline or early because everybody who was asked has passed.
    mutating func endWindow(_ key: CoalescingKey, at now: Now) {
        guard let window = windows.removeValue(forKey: key) else {
            preconditionFailure("a window's end does not come up when the window has closed early")
        }
        let deadline = min(window.deadline, now.instant)
        for id in window.held {
            forgetQuestions(about: id)
            events[id]!.place = .held(key)
            events[id]!.deadline = deadline
        }
        for id in window.unclaimed {
            forgetQuestions(about: id)
            events[id]!.deadline = deadline
            showOrSettle(id, for: key, at: now)
        }
    }

    /// An event whose window is over unclaimed becomes a banner, unless it is too late for one or none is wanted.
    mutating func showOrSettle(_ id: EventID, for key: CoalescingKey, at now: Now) {
        let open = events[id]!
        if open.expires <= now.uptime {
            settleUnshown(id, .expired)
        } else if let quiet = quiet(over: open.event.topic) {
            settleUnshown(id, .muted, quiet)
        } else {
            wait(id, for: key)
        }
    }

    /// Lets an event wait for the server, in the banner of a key.
    mutating func wait(_ id: EventID, for key: CoalescingKey) {
        if banners[key] == nil {
            lastSerial += 1
            banners[key] = Banner(serial: lastSerial)
        }
        banners[key]!.waiting.insert(id)
        events[id]!.place = .waiting(key)
        events[id]!.expiry = lifetimes.put(.event(id), at: events[id]!.expires)
        enqueue(key)
    }

    /// Takes an event out of what waits for the server. A banner that it would have joined, and that has nothing else behind
    /// it, is closed.
    mutating func stopWaiting(_ id: EventID, in key: CoalescingKey) {
        banners[key]!.waiting.remove(id)
        if let banner = bannerWithNothingBehind(key) { close(banner) }
        dropIfEmpty(key)
    }

    mutating func expireWaiting(_ id: EventID) {
        guard case .waiting(let key) = events[id]?.place else {
            preconditionFailure("only an event that waits for the server is on the agenda of lifetimes")
        }
        settleUnshown(id, .expired)
        stopWaiting(id, in: key)
    }

    private mutating func settleUnshown(_ id: EventID, _ outcome: Outcome, _ quiet: Quiet? = nil) {
        var resolution = Resolution(outcome)
        resolution.quiet = quiet
        decide(events.removeValue(forKey: id)!, resolution)
    }

    /// What waits for the server is looked at once more before it goes there: a banner may have become unwanted or stale
    /// meanwhile.
    mutating func settleUnwanted(in key: CoalescingKey, at now: Now) {
        for id in banners[key]!.waiting {
            let open = events[id]!
            let isStale = open.expires <= now.uptime
            let quiet = isStale ? nil : quiet(over: open.event.topic)
            guard isStale || quiet != nil else { continue }
            banners[key]!.waiting.remove(id)
            settleUnshown(id, isStale ? .expired : .muted, quiet)
        }
    }
}
