/// `ClaimNamed`: claims by global name, on behalf of somebody elsewhere.
///
/// An event that has not come yet is awaited. When it comes, it is claimed before there is any banner.
extension Router {
    /// - Parameter id: the event of this name; `nil` if none is known but those that the router remembers.
    mutating func claimNamed(
        _ claim: NamedClaim, event id: EventID?, at now: Now, _ reader: some EventReader
    ) throws(Refusal) -> Verdict {
        guard let id = id ?? deduplicator.original(of: claim.origin, at: now.uptime) else {
            try awaitEvent(of: claim, at: now)
            return .awaited
        }
        var age: Duration?
        do throws(Refusal) {
            age = try loadToDecide(id, by: claim.claimant, from: claim.place, at: now, reader)
        } catch .unknownEvent {
            // The name of an event that was removed or forgotten is known, but there is nothing to claim.
        }
        try requireKnown(id)
        guard remembers(id) else {
            statistics.recordedClaims += 1
            note(.named, of: id, by: claim.claimant, .recorded, age: age, at: now)
            return .recorded
        }
        let verdict = applyClaim(id, by: claim.claimant, as: .named, kind: claim.kind, from: claim.place, at: now)
        sendBanners(at: now)
        return verdict
    }

    // MARK: Events that have not come

    /// The first claim of a name decides; one that only marks as read gives way to any other. The longer time counts.
    private mutating func awaitEvent(of claim: NamedClaim, at now: Now) throws(Refusal) {
        let time = min(max(claim.left ?? .zero, limits.minimumAwait), limits.maximumAwait)
        let expires = now.uptime + time
        if let earlier = awaited[claim.name] {
            let decides = earlier.claim.kind == .read && claim.kind != .read
            guard decides || expires > earlier.expires else { return }
            var merged = AwaitedClaim(decides ? claim : earlier.claim, until: max(expires, earlier.expires))
            // It still counts for who made the first one.
            merged.claim.program = earlier.claim.program
            let timer = lifetimeTimers.schedule(.awaited(claim.name), at: merged.expires)
            awaited.update(merged, timer, in: &owners)
            return effects.append(.keepAwaited(merged))
        }
        try checkRoom(for: claim)
        var kept = AwaitedClaim(claim, until: expires)
        kept.claim.program = owners.program(of: claim.claimant)
        insertAwaited(kept, of: .connection(claim.claimant))
        effects.append(.keepAwaited(kept))
    }

    /// A full table refuses nobody: the program that fills it loses claims.
    private mutating func insertAwaited(_ kept: AwaitedClaim, of owner: Owner) {
        for lost in awaited.makeRoom(for: kept.claim.memoryCost, limits: limits, in: &owners) {
            effects.append(.dropAwaited(lost.claim.origin))
        }
        let timer = lifetimeTimers.schedule(.awaited(kept.claim.name), at: kept.expires)
        awaited.insert(kept, timer, of: owner, in: &owners)
    }

    private func checkRoom(for claim: NamedClaim) throws(Refusal) {
        let usage = owners[claim.claimant].awaited
        let advice = "whose events have not come; wait until some have come or their time is over"
        if usage.count >= limits.awaitedPerProgram {
            throw .limitExceeded(
                "awaited events of one program: \(usage.count) names of yours are claimed already \(advice)")
        }
        if usage.bytes + claim.memoryCost > limits.awaitedBytesPerProgram {
            throw .limitExceeded(
                "bytes of awaited events of one program: with this name yours would be more than "
                    + "\(limits.awaitedBytesPerProgram); \(usage.count) are claimed already \(advice)")
        }
    }

    /// What the connection has counts for its program from now on. What it claimed before is not written again for
    /// that.
    mutating func identify(_ name: String, as program: String?, hasLeft: Bool) {
        let share = owners.identify(name, as: program, hasLeft: hasLeft)
        guard share.awaited.count > 0, let program else { return }
        awaited.note(program, of: name)
    }

    /// The claim of an event that comes now.
    func awaitedClaim(of id: EventID, _ origin: Origin) -> NamedClaim? {
        awaited.isEmpty ? nil : awaited[EventName(id, origin)]?.claim
    }

    /// Announces an event that was claimed before it came. There is no banner for it, whatever was done with it elsewhere.
    mutating func announce(
        _ event: Event, claimedBefore claim: NamedClaim, expires: Uptime, age: Duration? = .zero,
        isReplayed: Bool = false
    ) {
        announce(
            event, claimed: (claim.claimant, .named), as: claim.kind == .withdrawn ? .withdrawn : .claimed,
            from: claim.place, expires: expires, age: age, isReplayed: isReplayed)
    }

    /// The event of an awaited claim has come, and is announced. It may still turn out that it cannot be stored.
    mutating func endAwait(of claim: NamedClaim, for id: EventID) {
        awaited.take(claim.name, for: id, in: &owners)
        effects.append(.dropAwaited(claim.origin))
    }

    mutating func restore(_ restored: Restoration.Remembered<NamedClaim>, at now: Now) {
        let claim = restored.subject
        guard awaited[claim.name] == nil else { return }
        guard restored.left > .zero else { return effects.append(.dropAwaited(claim.origin)) }
        let expires = now.uptime + restored.left
        insertAwaited(AwaitedClaim(claim, until: expires), of: .program(claim.program))
    }

    /// Its time is over, or it must not have an effect.
    mutating func dropAwaited(_ name: EventName) {
        guard let dropped = awaited.remove(name, in: &owners) else { return }
        effects.append(.dropAwaited(dropped.claim.origin))
    }

    /// Whether a table holds more than a quarter of what one program may have. From then on the shell has to know the
    /// program of a connection before it handles its calls, so that limits hold for programs with many connections.
    /// It changes nothing; it is `mutating` as `remembersInPlace` is.
    public var isCrowded: Bool {
        mutating get {
            undecided.total.count > limits.undecidedEventsPerProgram / 4
                || undecided.total.bytes > limits.undecidedBytesPerProgram / 4
                || awaited.count > limits.awaitedPerProgram / 4 || awaited.bytes > limits.awaitedBytesPerProgram / 4
                || holds.count > limits.holdsPerProgram / 4 || graces.count > limits.gracesPerProgram / 4
                || screens.count > limits.screensPerProgram / 4
        }
    }

    mutating func forgetAwaited() { awaited.removeAll(in: &owners) }

    /// Events that could not be stored are awaited again.
    mutating func awaitAgain(_ unstored: Set<EventID>) {
        for name in awaited.putBack(unstored, in: &owners) {
            guard let kept = awaited[name] else { continue }
            awaited.update(kept, lifetimeTimers.schedule(.awaited(name), at: kept.expires), in: &owners)
        }
    }
}
