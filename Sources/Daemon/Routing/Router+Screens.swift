/// Screens: opening, changing, closing and asking them.
extension Router {
    mutating func openScreen(
        _ topic: TopicPrefix, _ options: ScreenOptions, by owner: String, at now: Now
    ) throws(Refusal) -> ScreenID {
        if screens.count >= limits.screens {
            throw .limitExceeded("screens: \(limits.screens) are open already; close one")
        }
        if screens.owned(by: owner).count >= limits.screensPerConnection {
            throw .limitExceeded(
                "screens of one connection: \(limits.screensPerConnection) of yours are open; close one")
        }
        if owners[owner].screens >= limits.screensPerProgram {
            throw .limitExceeded("screens of one program: \(limits.screensPerProgram) of yours are open; close one")
        }
        let id = screens.open(topic, owner: owner, in: &owners)
        change(id, options, wasClaiming: false, at: now)
        return id
    }

    mutating func updateScreen(
        _ id: ScreenID, _ options: ScreenOptions, by caller: String, at now: Now
    ) throws(Refusal) {
        let screen = try own(id, caller)
        change(id, options, wasClaiming: screens.isActive(screen) && screen.mode == .auto, at: now)
    }

    mutating func closeScreen(_ id: ScreenID, by caller: String, at now: Now) throws(Refusal) {
        _ = try own(id, caller)
        closeScreen(id, at: now)
        sendBanners(at: now)
    }

    /// Closes a screen. It counts as having passed on all events that it was asked about.
    mutating func closeScreen(_ id: ScreenID, at now: Now) {
        guard let screen = screens.close(id, in: &owners) else { return }
        pass(on: screen, at: now)
    }

    /// Closes all screens of a connection. Each event is checked once, with the last of the screens that were asked about it;
    /// the order is the same as one by one.
    mutating func closeScreens(of owner: String, at now: Now) {
        let closed = screens.owned(by: owner).compactMap { screens.close($0, in: &owners) }
        let ids = Set(closed.map(\.id))
        // One pass: searching each event's questions for every screen is quadratic.
        var last: [EventID: ScreenID] = [:]
        for screen in closed {
            for event in screen.asked { last[event] = screen.id }
        }
        for screen in closed {
            for event in screen.asked where last[event] == screen.id && events[event] != nil {
                events[existing: event].asked.removeAll(where: ids.contains)
                stopAwaitingIfAnswered(event, at: now)
            }
        }
    }

    private mutating func change(_ id: ScreenID, _ options: ScreenOptions, wasClaiming: Bool, at now: Now) {
        screens.update(id) { screen in
            screen.mode = options.mode ?? screen.mode
            screen.state = options.state ?? screen.state
            screen.clear = options.clear ?? screen.clear
            if let lease = options.lease { screen.lease = lease == .zero ? nil : lease }
        }
        guard let screen = screens[id] else { return }
        let leaseTimer = screen.lease.map { timers.schedule(.lease(id), at: now.instant + $0) }
        screens.update(id) { $0.leaseTimer = leaseTimer }
        let isClaiming = screens.isActive(screen) && screen.mode == .auto
        // Claims come before passes, which may end windows.
        if isClaiming, screen.clear, !wasClaiming || options.clear == true {
            applyClaims(claimable(atOrBelow: screen.topic), by: screen.owner, as: .screen, at: now)
            effects.append(.markRead(screen.topic, upTo: lastID, by: screen.owner, as: .screen))
        }
        if let screen = screens[id], !screens.isActive(screen) || screen.mode == .auto {
            pass(on: screen, at: now)
        }
        sendBanners(at: now)
    }

    /// Screens are not active while the session is locked or idle.
    mutating func attentionChanged(isWatched: Bool, at now: Now) {
        for screen in screens.apply(isWatched: isWatched) { pass(on: screen, at: now) }
        sendBanners(at: now)
    }

    // MARK: Asking

    /// Asks all asking screens about an event.
    ///
    /// - Returns: the screens that were asked.
    mutating func ask(about event: Event) -> [ScreenID] {
        // Only events of an earlier run come here above the limit: no screen is asked, and the banner is shown.
        guard screens.questions < limits.questions else { return [] }
        let asked = screens.asked(about: event.topic)
        for id in asked { screens.addQuestion(id, about: event.id) }
        return asked
    }

    mutating func pass(_ id: EventID, by caller: String, at now: Now) throws(Refusal) {
        try requireKnown(id)
        for screen in screens.owned(by: caller) { answered(screen, about: id, at: now) }
        sendBanners(at: now)
    }

    mutating func pass(on screen: Screen, at now: Now) {
        for event in screen.asked { answered(screen.id, about: event, at: now) }
    }

    mutating func answered(_ screen: ScreenID, about id: EventID, at now: Now) {
        screens.removeQuestion(screen, about: id)
        guard let index = events[id]?.asked.firstIndex(of: screen) else { return }
        events[existing: id].asked.remove(at: index)
        stopAwaitingIfAnswered(id, at: now)
    }

    /// Ends the event's window if no more answers are awaited.
    private mutating func stopAwaitingIfAnswered(_ id: EventID, at now: Now) {
        guard case .window(let key) = events[existing: id].place, !events[existing: id].isAwaited else { return }
        windows.stopAwaiting(id, in: key)
        endWindowIfAnswered(key, at: now)
    }

    /// Withdraws the questions about an event.
    mutating func forgetQuestions(about id: EventID) {
        guard let asked = events[id]?.asked, !asked.isEmpty else { return }
        for screen in asked { screens.removeQuestion(screen, about: id) }
        events[existing: id].asked = []
    }

    private func own(_ id: ScreenID, _ caller: String) throws(Refusal) -> Screen {
        guard let screen = screens[id] else {
            throw .unknownScreen(
                "there is no screen \(id); numbers come from OpenScreen, and a screen ends with its lease")
        }
        guard screen.owner == caller else {
            throw .accessDenied(
                "screen \(id) belongs to \(screen.owner); only the connection that opened it may change it")
        }
        return screen
    }
}
