import NotifyText

/// What events are called: their global ids, what they are claimed as before they come, what they take the place of,
/// and which is the current value of its topic.
struct Names {
    /// This device, which names what has no global name of its own.
    var device = "" {
        didSet { ownSource = GlobalName.source(of: device) }
    }
    /// The source in the names that it gives.
    private var ownSource = ""
    var deduplicator: Deduplicator
    var awaited = AwaitedClaims()
    private(set) var values = LiveValues()
    /// The newest event in memory with each `collapse`.
    private(set) var collapsing: [CollapseKey: EventID] = [:]
    /// Events that were replaced since the last `stored`, in case their successors cannot be stored.
    private(set) var replacements: [Router.Replacement] = []
    private let limits: Limits

    init(limits: Limits) {
        self.limits = limits
        deduplicator = Deduplicator(
            capacity: limits.globalIDs, byteCapacity: limits.globalIDBytes, retention: limits.deduplicationTime)
    }

    // MARK: Global names

    /// Whether a name is one that this device gives to events without a name of their own.
    func isOwn(_ origin: Origin) -> Bool { !device.isEmpty && origin.source?.hasBytes(of: ownSource) == true }

    /// The id in the name of an event that this device published without source and event-id.
    func ownID(_ origin: Origin) -> EventID? {
        guard isOwn(origin), let text = origin.eventID, let number = UInt64(text), text.bytes == "\(number)".bytes
        else { return nil }
        return EventID(number)
    }

    // MARK: Events that replace each other

    /// An event comes into memory.
    mutating func add(_ event: Event) {
        if let key = event.collapse { collapsing[key] = max(collapsing[key] ?? EventID(0), event.id) }
    }

    /// An event leaves memory.
    mutating func remove(_ event: Event) {
        if let key = event.collapse, collapsing[key] == event.id { collapsing[key] = nil }
    }

    /// An event has its place back: its successor is gone.
    mutating func putBack(_ event: Event) {
        if let key = event.collapse { collapsing[key] = event.id }
    }

    mutating func replaced(_ replacement: Router.Replacement) { replacements.append(replacement) }

    /// What was replaced since the last `stored`; each is returned once.
    mutating func takeReplacements() -> [Router.Replacement] {
        defer { replacements = [] }
        return replacements
    }

    // MARK: Values

    mutating func setValue(
        _ version: ValueVersion, of topic: Topic, bytes: Int, until expires: Uptime, timers: inout Router.Timers
    ) {
        values.set(version, of: topic, bytes: bytes, timer: timers.schedule(.value(topic), at: expires))
    }

    /// The version of a value or a removal that is published now. Without `if-newer` it is above that of the topic's
    /// last one, so that it does not lose elsewhere because of a slow clock.
    ///
    /// - Returns: the version, and whether the topic has a newer value or removal, which stays.
    func version(
        of publication: Publication, as id: EventID, at now: Uptime
    ) -> (version: ValueVersion, isOutdated: Bool) {
        let options = publication.options
        let last = values.last(of: publication.topic, at: now)
        var published = options.published ?? publication.received
        if !options.ifNewer, let last, last.published >= published {
            published = last.published == .max ? .max : last.published + 1
        }
        let version = ValueVersion(published: published, id: id, origin: options.origin)
        return (version, options.ifNewer && last.map { !version.isNewer(than: $0, on: device) } ?? false)
    }

    /// The version of the value that the topic had.
    mutating func removeValue(of topic: Topic) -> ValueVersion? { values.remove(topic)?.version }

    /// - Parameters:
    ///   - version: what a later value must be newer than.
    ///   - time: how long the removal is remembered; `nil`: as long as one of now.
    mutating func remember(_ tombstone: Tombstone, for time: Duration? = nil, at now: Uptime) {
        values.remember(tombstone, for: time ?? limits.removalTime, limits: limits, at: now)
    }

    // MARK: Events that have not come

    /// The first claim of a name decides; one that only marks as read gives way to any other. The longer time counts.
    mutating func await(
        _ claim: NamedClaim, at now: Uptime, timers: inout Router.Timers, output: inout Router.Output
    ) throws(Refusal) {
        let expires = now + min(max(claim.left ?? .zero, limits.minimumAwait), limits.maximumAwait)
        var kept = AwaitedClaim(claim, until: expires)
        if let earlier = awaited[claim.name] {
            let decides = earlier.claim.kind == .read && claim.kind != .read
            guard decides || expires > earlier.expires else { return }
            kept = AwaitedClaim(decides ? claim : earlier.claim, until: max(expires, earlier.expires))
            // It still counts for who made the first one.
            kept.claim.program = earlier.claim.program
            awaited.update(kept, timers.schedule(.awaited(claim.name), at: kept.expires))
        } else {
            try checkRoom(for: claim)
            kept.claim.program = awaited.owners.program(of: claim.claimant)
            insert(kept, of: .connection(claim.claimant), &timers, &output)
        }
        output.append(.awaited(claim.origin, kept))
    }

    /// A full table refuses nobody: the program that fills it loses claims.
    private mutating func insert(
        _ kept: AwaitedClaim, of owner: Owner, _ timers: inout Router.Timers, _ output: inout Router.Output
    ) {
        for lost in awaited.makeRoom(for: kept.claim.memoryCost, limits: limits) {
            output.append(.awaited(lost.claim.origin, nil))
        }
        awaited.insert(kept, timers.schedule(.awaited(kept.claim.name), at: kept.expires), of: owner)
    }

    private func checkRoom(for claim: NamedClaim) throws(Refusal) {
        let usage = awaited.owners[claim.claimant]
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

    /// The claim of an event that comes now.
    func awaitedClaim(of id: EventID, _ origin: Origin) -> NamedClaim? {
        awaited.isEmpty ? nil : awaited[EventName(id, origin)]?.claim
    }

    /// The event of an awaited claim has come, and is announced. It may still turn out that it cannot be stored.
    mutating func endAwait(of claim: NamedClaim, for id: EventID, output: inout Router.Output) {
        awaited.fulfill(claim.name, by: id)
        output.append(.awaited(claim.origin, nil))
    }

    mutating func restore(
        _ restored: Restoration.Remembered<NamedClaim>, at now: Uptime, timers: inout Router.Timers,
        output: inout Router.Output
    ) {
        let claim = restored.subject
        guard awaited[claim.name] == nil else { return }
        guard restored.left > .zero else { return output.append(.awaited(claim.origin, nil)) }
        insert(AwaitedClaim(claim, until: now + restored.left), of: .program(claim.program), &timers, &output)
    }

    /// Its time is over, or it must not have an effect.
    mutating func dropAwaited(_ name: EventName, output: inout Router.Output) {
        guard let dropped = awaited.remove(name) else { return }
        output.append(.awaited(dropped.claim.origin, nil))
    }

    // MARK: Storing

    /// Whether something is kept in case events cannot be stored.
    var awaitsStored: Bool { !replacements.isEmpty || awaited.hasTaken }

    mutating func stored() {
        replacements = []
        awaited.stored()
    }

    /// Events that could not be stored have neither a name nor a value, and are awaited again.
    mutating func notStored(_ ids: [EventID], timers: inout Router.Timers) {
        deduplicator.remove(ids)
        values.remove(ids)
        for name in awaited.putBack(Set(ids)) {
            guard let kept = awaited[name] else { continue }
            awaited.update(kept, timers.schedule(.awaited(name), at: kept.expires))
        }
    }
}

/// `ClaimNamed`: claims by global name, on behalf of somebody elsewhere.
///
/// An event that has not come yet is awaited. When it comes, it is claimed before there is any banner.
extension Router {
    /// - Parameter id: the event of this name; `nil` if none is known but those that the router remembers.
    mutating func claimNamed(
        _ claim: NamedClaim, event id: EventID?, at now: Now, _ reader: some EventReader
    ) throws(Refusal) -> Verdict {
        guard let id = id ?? names.deduplicator.original(of: claim.origin, at: now.uptime) else {
            try names.await(claim, at: now.uptime, timers: &timers, output: &output)
            return .awaited
        }
        var age: Duration?
        do throws(Refusal) {
            age = try loadToDecide(id, by: claim.claimant, from: claim.place, at: now, reader)
        } catch .unknownEvent {
            // The name of an event that was removed or forgotten is known, but there is nothing to claim.
        }
        try events.requireKnown(id)
        guard remembers(id) else {
            output.statistics[.recordedClaims] += 1
            recordStep(.named, of: id, by: claim.claimant, .recorded, age: age, at: now)
            return .recorded
        }
        let verdict = applyClaim(id, by: claim.claimant, as: .named, kind: claim.kind, from: claim.place, at: now)
        sendBanners(at: now)
        return verdict
    }

    /// Announces an event that was claimed before it came. There is no banner for it, whatever was done with it
    /// elsewhere.
    mutating func announce(
        _ event: Event, claimedBefore claim: NamedClaim, expires: Uptime, age: Duration? = .zero,
        isReplayed: Bool = false
    ) {
        announce(
            event, claimed: (claim.claimant, .named), as: claim.kind == .withdrawn ? .withdrawn : .claimed,
            from: claim.place, expires: expires, age: age, isReplayed: isReplayed)
    }

    /// Whether a table holds more than a quarter of what one program may have. From then on the shell has to know the
    /// program of a connection before it handles its calls, so that limits hold for programs with many connections.
    /// It changes nothing; it is `mutating` as `remembersInPlace` is.
    public var isCrowded: Bool {
        mutating get {
            events.undecided.total.count > limits.undecidedEventsPerProgram / 4
                || events.undecided.total.bytes > limits.undecidedBytesPerProgram / 4
                || names.awaited.count > limits.awaitedPerProgram / 4
                || names.awaited.bytes > limits.awaitedBytesPerProgram / 4
                || screens.holds.count > limits.holdsPerProgram / 4
                || screens.graces.count > limits.gracesPerProgram / 4
                || screens.count > limits.screensPerProgram / 4
        }
    }
}
