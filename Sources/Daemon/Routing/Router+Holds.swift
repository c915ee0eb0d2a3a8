import NotifyText

/// Provisional claims, which must be confirmed in time. When in doubt, the banner is shown.
///
/// Several claimants may hold an event: it is claimed when the first of them confirms, and goes on when the last one
/// has failed.
extension Router {
    mutating func hold(
        _ id: EventID, for duration: Duration, by claimant: String, age: Duration?, at now: Now
    ) throws(Refusal) -> Verdict {
        guard duration > .zero, duration <= limits.maximumHold else {
            throw .limitExceeded(
                "the time to confirm must be between 1ms and \(limits.maximumHold.text), in milliseconds; it is "
                    + duration.text)
        }
        try events.requireKnown(id)
        let others = screens.holds[id]
        guard let tracked = events[id], screens.holds[id, claimant] == nil, !others.isEmpty || canBeHeld(tracked) else {
            output.statistics[.recordedClaims] += 1
            recordStep(.provisional, of: id, by: claimant, .recorded, age: age, at: now)
            return .recorded
        }
        guard others.count < limits.holdersOfEvent else {
            throw .limitExceeded(
                "claimants that hold one event: \(limits.holdersOfEvent) hold event \(id) already; "
                    + "use Claim, or wait until one has confirmed or failed")
        }
        try checkRoomToHold(by: claimant)
        recordStep(.provisional, of: id, by: claimant, .suppressed, at: now)
        if others.isEmpty { takeBack(id, from: tracked.place) }
        screens.holds.add(
            Holds.Hold(
                claimant: claimant, latency: tracked.latency(at: now.instant),
                timer: timers.schedule(.hold(id), at: now.instant + duration)), of: id)
        // The claim answers for the claimant's screens. Others are still asked, in case the claim fails.
        for screen in screens.owned(by: claimant) { answered(screen, about: id, at: now) }
        if case .window(let key) = events[existing: id].place { closeWindowIfDone(key, at: now) }
        sendBanners(at: now)
        return .suppressed
    }

    private func canBeHeld(_ tracked: TrackedEvent) -> Bool { !tracked.isSnoozed && isInTime(tracked.place) }

    private func checkRoomToHold(by claimant: String) throws(Refusal) {
        if screens.holds.count >= limits.holds {
            throw .limitExceeded(
                "provisional claims: \(limits.holds) are held already; use Claim, or wait until some are confirmed")
        }
        if screens.holds.owners[claimant].count >= limits.holdsPerProgram {
            throw .limitExceeded(
                "provisional claims of one program: \(limits.holdsPerProgram) of yours are held already; "
                    + "confirm or release some")
        }
    }

    /// Keeps an event from becoming a banner for now.
    private mutating func takeBack(_ id: EventID, from place: TrackedEvent.Place) {
        switch place {
        case .window(let key): events.hold(id, in: key)
        case .waiting(let key):
            dequeue(id, from: key)
            move(id, to: .held(key))
        case .inFlight(let key):
            banners.removeInFlight(id, from: key)
            move(id, to: .held(key))
        case .held, .shown, .gone, .snoozed:
            preconditionFailure("only an event that has not gone to the server can be held")
        }
    }

    /// Records a step that does not decide the event: of a provisional claim, or a claim of a decided event.
    ///
    /// - Parameter age: of an event that is not in memory.
    mutating func recordStep(
        _ step: ClaimForm, of id: EventID, by claimant: String, _ verdict: Verdict, age: Duration? = nil, at now: Now
    ) {
        let latency = events[id].map { $0.latency(at: now.instant) } ?? age
        output.append(.noteClaim(id, ClaimRecord(claimant: claimant, latency: latency, form: step, verdict: verdict)))
    }

    mutating func answer(_ id: EventID, _ answer: Call.Answer, by caller: String, at now: Now) throws(Refusal) {
        try events.requireKnown(id)
        switch answer {
        case .completed:
            let hold = try own(id, caller)
            recordStep(.completed, of: id, by: caller, .suppressed, at: now)
            applyClaim(id, by: caller, as: .provisional, latency: hold.latency, at: now)
        case .released:
            _ = try own(id, caller)
            cancelHold(id, by: caller, .released, at: now)
        case .passed: for screen in screens.owned(by: caller) { answered(screen, about: id, at: now) }
        }
        sendBanners(at: now)
    }

    /// The time to confirm is over.
    mutating func holdRanOut(_ id: EventID, _ timer: Timers.TimerID, at now: Now) {
        guard let hold = screens.holds[id].first(where: { $0.timer == timer }) else { return }
        cancelHold(id, by: hold.claimant, .ranOut, at: now)
    }

    /// The claim ran out of time, was released, or its claimant left: the event goes on as without the claim.
    mutating func cancelHold(_ id: EventID, by claimant: String, _ step: ClaimForm, at now: Now) {
        guard screens.holds.remove(id, by: claimant) != nil else {
            preconditionFailure("only a claim that holds can be cancelled")
        }
        recordStep(step, of: id, by: claimant, .recorded, at: now)
        guard screens.holds[id].isEmpty else { return }
        switch events[existing: id].place {
        case .window(let key):
            events.release(id, in: key)
            closeWindowIfDone(key, at: now)
        case .held(let key):
            events.becomeDue(id, at: now.instant)
            queueOrDiscard(id, for: key, at: now)
        case .waiting, .inFlight, .shown, .gone, .snoozed: preconditionFailure("a held event does not go to the server")
        }
    }

    private func own(_ id: EventID, _ caller: String) throws(Refusal) -> Holds.Hold {
        guard let hold = screens.holds[id, caller] else {
            throw .notClaimant(
                "you do not hold event \(id); ClaimProvisionally holds it, until it is confirmed or its time is over")
        }
        return hold
    }
}

/// Provisional claims that wait for their confirmation. Several claimants may hold one event.
struct Holds {
    struct Hold {
        let claimant: String
        let latency: Duration?
        /// Armed for the end of the time to confirm.
        let timer: Router.Timers.TimerID
    }

    /// In the order of the claims; never empty.
    private var holds: [EventID: [Hold]] = [:]
    private var byClaimant: [String: SortedIDs] = [:]
    private(set) var owners = Owners()

    /// Claims that hold.
    var count: Int { owners.total.count }

    /// The claims that hold an event.
    subscript(id: EventID) -> [Hold] { holds[id] ?? [] }

    subscript(id: EventID, claimant: String) -> Hold? { self[id].first { $0.claimant == claimant } }

    mutating func learn(_ news: PeerNews, of name: String) { owners.learn(news, of: name) }

    func events(heldBy claimant: String) -> SortedIDs { byClaimant[claimant] ?? SortedIDs() }

    mutating func add(_ hold: Hold, of id: EventID) {
        owners.add(of: .connection(hold.claimant))
        holds[id, default: []].append(hold)
        byClaimant[hold.claimant, default: SortedIDs()].insert(id)
    }

    /// Removes all claims that hold an event.
    mutating func remove(_ id: EventID) {
        for hold in holds.removeValue(forKey: id) ?? [] { remove(id, of: hold.claimant) }
    }

    /// Removes one of them.
    mutating func remove(_ id: EventID, by claimant: String) -> Hold? {
        guard let index = self[id].firstIndex(where: { $0.claimant == claimant }) else { return nil }
        let hold = holds[id]?.remove(at: index)
        if holds[id]?.isEmpty == true { holds[id] = nil }
        remove(id, of: claimant)
        return hold
    }

    private mutating func remove(_ id: EventID, of claimant: String) {
        owners.remove(of: .connection(claimant))
        byClaimant[claimant]?.remove(id)
        if byClaimant[claimant]?.isEmpty == true { byClaimant[claimant] = nil }
    }
}

/// Topic claims with a grace: they claim matching events on arrival until the grace ends.
struct Graces {
    /// Orders graces by when they began.
    struct ID: Hashable, Comparable {
        fileprivate let rawValue: UInt64

        static func < (left: ID, right: ID) -> Bool { left.rawValue < right.rawValue }
    }

    private var graces: [ID: (topic: TopicPrefix, claimant: String)] = [:]
    private(set) var index = PrefixIndex<ID>()
    private(set) var owners = Owners()
    private var lastID: UInt64 = 0

    var count: Int { graces.count }

    func contains(_ id: ID) -> Bool { graces[id] != nil }

    mutating func learn(_ news: PeerNews, of name: String) { owners.learn(news, of: name) }

    /// Who claims an event with this topic: the claimant of the oldest grace.
    func claimant(of topic: Topic) -> String? { index.first(covering: topic).flatMap { graces[$0]?.claimant } }

    mutating func begin(_ topic: TopicPrefix, by claimant: String) -> ID {
        lastID += 1
        let id = ID(rawValue: lastID)
        graces[id] = (topic, claimant)
        index.insert(id, at: topic)
        owners.add(of: .connection(claimant))
        return id
    }

    mutating func end(_ id: ID) {
        guard let (topic, claimant) = graces.removeValue(forKey: id) else { return }
        index.remove(id, at: topic)
        owners.remove(of: .connection(claimant))
    }
}
