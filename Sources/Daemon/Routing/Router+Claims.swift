import NotifyText

/// Claims of single events: rules 3, 4 and 6 of docs/design.md. A claim is in time until a call with the event has left
/// for the server; then it retracts.
extension Router {
    /// - Parameters:
    ///   - action: the button by which it is claimed.
    ///   - age: of an event that is not in memory.
    mutating func claim(
        _ id: EventID, by claimant: String, pressing action: String?, age: Duration?, at now: Now
    ) throws(Refusal) -> Verdict {
        try events.requireKnown(id)
        guard remembers(id) else {
            output.statistics[.recordedClaims] += 1
            recordStep(.claim, of: id, by: claimant, .recorded, age: age, at: now)
            return .recorded
        }
        let verdict = applyClaim(id, by: claimant, as: .claim, pressing: action, at: now)
        sendBanners(at: now)
        return verdict
    }

    /// Claims several events together: no window ends before all are claimed.
    mutating func applyClaims(_ ids: [EventID], by claimant: String, as form: ClaimForm, at now: Now) {
        var shrunk: [CoalescingKey] = []
        for id in ids {
            guard let key = resolveClaim(id, by: claimant, as: form, at: now).window else { continue }
            // The key of a window keeps an event in memory.
            if events.windows[key]?.isFullyClaimed == true {
                events.closeWindow(key, at: now.instant)
            } else {
                shrunk.append(key)
            }
        }
        for key in shrunk { closeWindowIfDone(key, at: now) }
    }

    /// Claims an event, and closes its window if it is over.
    ///
    /// - Parameters:
    ///   - latency: from publishing to the claim; `nil`: until now.
    ///   - kind: what was done with the event, which decides its outcome.
    ///   - action: the button that was pressed.
    ///   - place: where, if somebody passes it on.
    @discardableResult
    mutating func applyClaim(
        _ id: EventID, by claimant: String, as form: ClaimForm, latency: Duration? = nil,
        kind: NamedClaim.Kind = .claimed, pressing action: String? = nil, from place: ClaimPlace = ClaimPlace(),
        at now: Now
    ) -> Verdict {
        let (verdict, window) = resolveClaim(
            id, by: claimant, as: form, latency: latency, kind: kind, pressing: action, from: place, at: now)
        if let window { closeWindowIfDone(window, at: now) }
        return verdict
    }

    /// Removes a claimed event from its place, and gives it its outcome.
    ///
    /// - Returns: also the key of the window that it was in, if any.
    private mutating func resolveClaim(
        _ id: EventID, by claimant: String, as form: ClaimForm, latency: Duration? = nil,
        kind: NamedClaim.Kind = .claimed, pressing action: String? = nil, from place: ClaimPlace = ClaimPlace(),
        at now: Now
    ) -> (verdict: Verdict, window: CoalescingKey?) {
        let tracked = removeFromPlace(id)
        var resolution = Resolution(
            .retracted, claimant: claimant, latency: latency ?? tracked.latency(at: now.instant))
        resolution.form = form
        resolution.place = place
        resolution.action = action
        resolution.banner = tracked.number
        var verdict = Verdict.recorded
        if isInTime(tracked.place) {
            resolution.outcome = .claimed
            verdict = .suppressed
        } else if tracked.event.isShownByPublisher {
            verdict = .retracted
        } else if let key = tracked.banner, banners[existing: key].count == 0 {
            // Where a call is in flight, the banner is closed when the server has answered.
            verdict = .retracted
        }
        if verdict == .recorded { output.statistics[.recordedClaims] += 1 }
        resolution.verdict = verdict
        switch (kind, tracked.place) {
        case (.dismissed, .shown), (.dismissed, .gone): resolution.outcome = .dismissed
        case (.withdrawn, _):
            resolution.outcome = .withdrawn
            banners.markOutdated(tracked)
        case (.claimed, _), (.dismissed, _), (.read, _): break
        }
        decide(tracked, resolution)
        closeBannerIfEmpty(without: tracked)
        return (verdict, tracked.window)
    }

    /// Whether a claim is in time: no call with the event has left for the server since its banner became due.
    func isInTime(_ place: TrackedEvent.Place) -> Bool {
        switch place {
        case .window, .held, .waiting, .snoozed: true
        case .inFlight(let key): !banners[existing: key].isCallSent
        case .shown, .gone: false
        }
    }

    /// Closes a window without unclaimed events, and ends one without awaited answers.
    mutating func closeWindowIfDone(_ key: CoalescingKey, at now: Now) {
        // Another event of the same claim may have closed it.
        guard let window = events.windows[key] else { return }
        if window.isFullyClaimed {
            events.closeWindow(key, at: now.instant)
        } else if window.canEndEarly {
            endWindow(key, at: now)
        }
    }

    // MARK: Read marks

    /// Events in memory count as claimed; those in the journal are marked there.
    ///
    /// - Parameter last: events with higher ids stay as they are; 0 means all.
    /// - Returns: how many events in memory were claimed.
    @discardableResult
    mutating func claimAll(
        atOrBelow topic: TopicPrefix, upTo last: EventID = EventID(0), by claimant: String, as form: ClaimForm,
        at now: Now
    ) -> Int {
        let found = events.all.lazy.filter { topic.covers($0.event.topic) }.map(\.event.id)
            .filter { last == EventID(0) || $0 <= last }.sorted()
        applyClaims(found, by: claimant, as: form, at: now)
        let end = last == EventID(0) ? lastID : min(last, lastID)
        output.append(.read(.topic(topic, upTo: end), by: claimant, as: form))
        return found.count
    }
}

/// Claims of whole topics: events in memory, and during the grace those that arrive.
extension Router {
    mutating func claimTopic(
        _ topic: TopicPrefix, grace: Duration, by claimant: String, at now: Now
    ) throws(Refusal) -> Int {
        guard grace <= limits.maximumGrace else {
            throw .limitExceeded(
                "the grace must be at most \(limits.maximumGrace.text), in milliseconds; it is \(grace.text)")
        }
        guard grace == .zero || screens.graces.count < limits.graces else {
            throw .limitExceeded("topic claims with a grace: \(limits.graces) are running; try again in a moment")
        }
        guard grace == .zero || screens.graces.owners[claimant].count < limits.gracesPerProgram else {
            throw .limitExceeded(
                "topic claims with a grace of one program: \(limits.gracesPerProgram) of yours are running; "
                    + "try again in a moment")
        }
        let count = claimAll(atOrBelow: topic, by: claimant, as: .topic, at: now)
        if grace > .zero {
            let id = screens.graces.begin(topic, by: claimant)
            _ = timers.schedule(.grace(id), at: now.instant + grace)
        }
        return count
    }
}

/// `Withdraw`: a publisher takes an event back.
extension Router {
    /// A decided event keeps its outcome, unless it is shown or was shown.
    mutating func withdraw(_ id: EventID, by publisher: String, at now: Now) throws(Refusal) {
        try events.requireKnown(id)
        guard remembers(id) else { return }
        let tracked = removeFromPlace(id)
        banners.markOutdated(tracked)
        decide(tracked, Resolution(.withdrawn, claimant: publisher, banner: tracked.number))
        closeBannerIfEmpty(without: tracked)
        if let window = tracked.window { closeWindowIfDone(window, at: now) }
        sendBanners(at: now)
    }
}
