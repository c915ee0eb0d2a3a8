/// Provisional claims, which must be confirmed in time. When in doubt, the banner is shown.
extension Router {
    mutating func hold(_ id: EventID, for duration: Duration, by claimant: String, at now: Now) {
        guard duration > .zero, duration <= limits.maximumHold else {
            return refuse(
                .limitExceeded(
                    "the time to confirm is \(duration.text); it is 1ms to \(limits.maximumHold.text), in milliseconds")
            )
        }
        guard isKnown(id) else { return refuseUnknown(id) }
        guard let tracked = events[id], holds[id] == nil, tracked.canBeHeld else {
            statistics.recordedClaims += 1
            effects.append(.reply(.verdict(.recorded)))
            return note(.provisional, of: id, by: claimant, .recorded, at: now)
        }
        effects.append(.reply(.verdict(.suppressed)))
        note(.provisional, of: id, by: claimant, .suppressed, at: now)
        switch tracked.place {
        case .window(let key):
            windows.hold(id, in: key)
        case .waiting(let key):
            events[existing: id].expiryTimer = nil
            dequeue(id, from: key)
            events[existing: id].place = .held(key)
        case .held, .inFlight, .shown, .gone:
            preconditionFailure("only an event that has not gone to the server can be held")
        }
        holds.add(
            Holds.Hold(
                claimant: claimant, latency: tracked.latency(at: now.instant),
                timer: timers.schedule(.hold(id), at: now.instant + duration)), of: id)
        // The claim answers for the claimant's screens. Others are still asked, in case the claim fails.
        for screen in screens.owned(by: claimant) { answered(screen, about: id, at: now) }
        if case .window(let key) = events[existing: id].place { endWindowIfAnswered(key, at: now) }
        sendBanners(at: now)
    }

    /// Records a step that does not decide the event: of a provisional claim, or a claim of a decided event.
    mutating func note(
        _ step: ClaimForm, of id: EventID, by claimant: String, _ verdict: Verdict, at now: Now
    ) {
        let latency = events[id].flatMap { $0.latency(at: now.instant) }
        effects.append(
            .noteClaim(id, ClaimRecord(claimant: claimant, latency: latency, form: step, verdict: verdict)))
    }

    mutating func complete(_ id: EventID, by claimant: String, at now: Now) {
        guard let hold = own(id, claimant) else { return }
        effects.append(.reply(.done))
        note(.completed, of: id, by: claimant, .suppressed, at: now)
        applyClaim(id, by: hold.claimant, as: .provisional, latency: hold.latency, at: now)
        sendBanners(at: now)
    }

    mutating func release(_ id: EventID, by claimant: String, at now: Now) {
        guard own(id, claimant) != nil else { return }
        effects.append(.reply(.done))
        cancelHold(id, .released, at: now)
        sendBanners(at: now)
    }

    /// The claim ran out of time, was released, or its claimant left: the event goes on as without the claim.
    mutating func cancelHold(_ id: EventID, _ step: ClaimForm, at now: Now) {
        guard let hold = holds.remove(id) else { preconditionFailure("only a held event's hold can be cancelled") }
        note(step, of: id, by: hold.claimant, .recorded, at: now)
        switch events[existing: id].place {
        case .window(let key):
            windows.release(id, in: key, isAwaited: events[existing: id].isAwaited)
            endWindowIfAnswered(key, at: now)
        case .held(let key):
            events[existing: id].deadline = now.instant
            queueOrDiscard(id, for: key, at: now)
        case .waiting, .inFlight, .shown, .gone:
            preconditionFailure("a held event does not go to the server")
        }
    }

    private mutating func own(_ id: EventID, _ caller: String) -> Holds.Hold? {
        guard isKnown(id) else {
            refuseUnknown(id)
            return nil
        }
        guard let hold = holds[id], hold.claimant == caller else {
            refuse(
                .notClaimant(
                    "you do not hold event \(id); ClaimProvisionally holds it, until it is confirmed or its time is over"
                ))
            return nil
        }
        return hold
    }
}
