import DequeModule
import NotifyText

/// A claim of an event that has not come yet.
public struct AwaitedClaim: Equatable, Sendable {
    /// The claim itself.
    public var claim: NamedClaim
    /// Until when the event is awaited.
    public var expires: Uptime

    public init(_ claim: NamedClaim, until expires: Uptime) {
        self.claim = claim
        self.expires = expires
    }
}

/// The claims of events that have not come yet, by name.
struct AwaitedClaims {
    /// A class, so that the spare capacity of the table takes little memory.
    private final class Entry {
        var awaited: AwaitedClaim
        var timer: Router.Timers.LifetimeID
        /// Whose limit it counts for.
        let owner: Owner
        var bytes: Int

        init(_ awaited: AwaitedClaim, _ timer: Router.Timers.LifetimeID, of owner: Owner) {
            self.awaited = awaited
            self.timer = timer
            self.owner = owner
            bytes = awaited.claim.memoryCost
        }
    }

    private var entries: [EventName: Entry] = [:]
    /// Whose they are, and their memory cost.
    private(set) var owners = Owners()
    /// Claims whose events have come since the last `stored`, in case those cannot be stored.
    private var taken: [(entry: Entry, event: EventID)] = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    /// The memory cost of all.
    var bytes: Int { owners.total.bytes }
    var hasTaken: Bool { !taken.isEmpty }
    var all: [AwaitedClaim] { entries.values.map(\.awaited) }

    subscript(name: EventName) -> AwaitedClaim? { entries[name]?.awaited }

    func timer(of name: EventName) -> Router.Timers.LifetimeID? { entries[name]?.timer }

    mutating func insert(_ awaited: AwaitedClaim, _ timer: Router.Timers.LifetimeID, of owner: Owner) {
        insert(Entry(awaited, timer, of: owner))
    }

    private mutating func insert(_ entry: Entry) {
        guard entries.updateValue(entry, forKey: entry.awaited.claim.name) == nil else { return }
        owners.add(bytes: entry.bytes, of: entry.owner)
    }

    /// Changes a claim, which still counts for the same owner.
    mutating func update(_ awaited: AwaitedClaim, _ timer: Router.Timers.LifetimeID) {
        guard let entry = entries[awaited.claim.name] else { return }
        let changed = Entry(awaited, timer, of: entry.owner)
        entries[awaited.claim.name] = changed
        owners.add(bytes: changed.bytes, of: entry.owner)
        owners.remove(bytes: entry.bytes, of: entry.owner)
    }

    mutating func remove(_ name: EventName) -> AwaitedClaim? { removeEntry(name)?.awaited }

    mutating func removeAll() {
        for name in entries.keys { _ = removeEntry(name) }
    }

    /// Removes the claim of an event that has come.
    mutating func take(_ name: EventName, for event: EventID) {
        if let entry = removeEntry(name) { taken.append((entry, event)) }
    }

    private mutating func removeEntry(_ name: EventName) -> Entry? {
        guard let entry = entries.removeValue(forKey: name) else { return nil }
        owners.remove(bytes: entry.bytes, of: entry.owner)
        return entry
    }

    /// The events that have come are stored.
    mutating func stored() { taken = [] }

    /// Puts back the claims of events that could not be stored. A timer that fired meanwhile is due again.
    ///
    /// - Returns: the names of these claims.
    mutating func putBack(_ unstored: Set<EventID>) -> [EventName] {
        let back = taken.filter { unstored.contains($0.event) }.map(\.entry)
        taken = []
        for entry in back where entries[entry.awaited.claim.name] == nil { insert(entry) }
        return back.map(\.awaited.claim.name)
    }

    // MARK: Owners

    /// The program of a connection is noted with its claims. They are not written again for that.
    mutating func learn(_ news: PeerNews, of connection: String) {
        let hasClaims = owners.shares[.connection(connection)] != nil
        owners.learn(news, of: connection)
        guard hasClaims, case .identified(let program?, _) = news else { return }
        for entry in entries.values where entry.owner == .connection(connection) {
            entry.awaited.claim.program = program
        }
    }

    /// Makes room for another claim. The owner that has most loses those that would end first, a sixteenth at a time,
    /// because each time all claims are looked through.
    ///
    /// - Returns: the lost claims.
    mutating func makeRoom(for added: Int, limits: Limits) -> [AwaitedClaim] {
        var lost: [AwaitedClaim] = []
        while count >= limits.awaited || bytes + added > limits.awaitedBytes, let owner = largest {
            let own = entries.values.filter { owners.current($0.owner) == owner }.map(\.awaited).sorted { left, right in
                left.expires == right.expires
                    ? left.claim.origin.precedes(right.claim.origin) : left.expires < right.expires
            }
            for awaited in own.prefix(max(1, own.count / 16)) {
                lost.append(awaited)
                _ = removeEntry(awaited.claim.name)
            }
        }
        return lost
    }

    private var largest: Owner? {
        owners.shares.max { left, right in
            left.value.bytes == right.value.bytes ? right.key.precedes(left.key) : left.value.bytes < right.value.bytes
        }?.key
    }
}

extension Origin {
    /// The byte order of global names.
    func precedes(_ other: Origin) -> Bool {
        func texts(_ origin: Origin) -> [[UInt8]] {
            [Array((origin.source ?? "").utf8), Array((origin.eventID ?? "").utf8)]
        }
        let (mine, others) = (texts(self), texts(other))
        return mine[0] == others[0]
            ? mine[1].lexicographicallyPrecedes(others[1]) : mine[0].lexicographicallyPrecedes(others[0])
    }
}

/// Recognises duplicates: maps a global id, the pair of source and event-id, to the event that it was first accepted
/// as.
struct Deduplicator {
    private let capacity: Int
    private let byteCapacity: Int
    private let retention: Duration
    private var events: [Origin: EventID] = [:]
    private var order = Deque<(origin: Origin, expires: Uptime)>()
    /// The memory cost of all entries.
    private(set) var bytes = 0

    init(capacity: Int, byteCapacity: Int = .max, retention: Duration) {
        self.capacity = capacity
        self.byteCapacity = byteCapacity
        self.retention = retention
    }

    var count: Int { events.count }

    /// The event that was accepted under this global id; `nil` where there is none or its entry has expired.
    mutating func original(of origin: Origin, at now: Uptime) -> EventID? {
        guard origin.isGlobalID else { return nil }
        removeExpired(at: now)
        return events[origin]
    }

    /// Whether the event that was accepted under this global id is surely known.
    func knows(_ origin: Origin, at now: Uptime) -> Bool {
        guard let oldest = order.first, oldest.expires > now else { return false }
        return events[origin] != nil
    }

    /// The event that was surely accepted under this global id.
    func known(_ origin: Origin, at now: Uptime) -> EventID? { knows(origin, at: now) ? events[origin] : nil }

    /// - Parameter left: what is left of the retention time, for an event of an earlier run.
    mutating func record(_ origin: Origin, as id: EventID, at now: Uptime, left: Duration? = nil) {
        guard origin.isGlobalID else { return }
        removeExpired(at: now)
        bytes += MemoryCost.globalID + origin.textBytes
        while !order.isEmpty, order.count >= capacity || bytes > byteCapacity { removeOldest() }
        events[origin] = id
        order.append((origin, now + (left ?? retention)))
    }

    /// Removes the entries of events that could not be stored.
    mutating func remove(_ ids: [EventID]) {
        let unstored = Set(ids)
        order.removeAll { entry in
            guard let id = events[entry.origin], unstored.contains(id) else { return false }
            events[entry.origin] = nil
            bytes -= MemoryCost.globalID + entry.origin.textBytes
            return true
        }
    }

    private mutating func removeExpired(at now: Uptime) {
        while let oldest = order.first, oldest.expires <= now { removeOldest() }
    }

    private mutating func removeOldest() {
        let oldest = order.removeFirst()
        events[oldest.origin] = nil
        bytes -= MemoryCost.globalID + oldest.origin.textBytes
    }
}

/// What events are called: their global ids, what they are claimed as before they come, and what they take the place
/// of.
struct Names {
    /// This device, which names what has no global name of its own.
    var device = "" {
        didSet { ownSource = Origin.source(of: device) }
    }
    /// The source in the names that it gives.
    private var ownSource = ""
    var deduplicator: Deduplicator
    var awaited = AwaitedClaims()
    /// The newest event in memory with each `collapse`.
    private(set) var collapsing: [CollapseKey: EventID] = [:]
    /// Events that were replaced since the last `stored`, in case their successors cannot be stored.
    private(set) var replacements: [Router.Replacement] = []

    init(limits: Limits) {
        deduplicator = Deduplicator(
            capacity: limits.globalIDs, byteCapacity: limits.globalIDBytes, retention: limits.deduplicationTime)
    }

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

    // MARK: Storing

    /// Whether something is kept in case events cannot be stored.
    var awaitsStored: Bool { !replacements.isEmpty || awaited.hasTaken }

    mutating func stored() {
        replacements = []
        awaited.stored()
    }
}

/// `ClaimNamed`: claims by global name, on behalf of somebody elsewhere.
///
/// An event that has not come yet is names.awaited. When it comes, it is claimed before there is any banner.
extension Router {
    /// - Parameter id: the event of this name; `nil` if none is known but those that the router remembers.
    mutating func claimNamed(
        _ claim: NamedClaim, event id: EventID?, at now: Now, _ reader: some EventReader
    ) throws(Refusal) -> Verdict {
        guard let id = id ?? names.deduplicator.original(of: claim.origin, at: now.uptime) else {
            try awaitEvent(of: claim, at: now)
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
            output.statistics.recordedClaims += 1
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
        if let earlier = names.awaited[claim.name] {
            let decides = earlier.claim.kind == .read && claim.kind != .read
            guard decides || expires > earlier.expires else { return }
            var merged = AwaitedClaim(decides ? claim : earlier.claim, until: max(expires, earlier.expires))
            // It still counts for who made the first one.
            merged.claim.program = earlier.claim.program
            let timer = timers.schedule(.awaited(claim.name), at: merged.expires)
            names.awaited.update(merged, timer)
            return output.append(.keepAwaited(merged))
        }
        try checkRoom(for: claim)
        var kept = AwaitedClaim(claim, until: expires)
        kept.claim.program = names.awaited.owners.program(of: claim.claimant)
        insertAwaited(kept, of: .connection(claim.claimant))
        output.append(.keepAwaited(kept))
    }

    /// A full table refuses nobody: the program that fills it loses claims.
    private mutating func insertAwaited(_ kept: AwaitedClaim, of owner: Owner) {
        for lost in names.awaited.makeRoom(for: kept.claim.memoryCost, limits: limits) {
            output.append(.dropAwaited(lost.claim.origin))
        }
        let timer = timers.schedule(.awaited(kept.claim.name), at: kept.expires)
        names.awaited.insert(kept, timer, of: owner)
    }

    private func checkRoom(for claim: NamedClaim) throws(Refusal) {
        let usage = names.awaited.owners[claim.claimant]
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
        names.awaited.isEmpty ? nil : names.awaited[EventName(id, origin)]?.claim
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

    /// The event of an awaited claim has come, and is announced. It may still turn out that it cannot be stored.
    mutating func endAwait(of claim: NamedClaim, for id: EventID) {
        names.awaited.take(claim.name, for: id)
        output.append(.dropAwaited(claim.origin))
    }

    mutating func restore(_ restored: Restoration.Remembered<NamedClaim>, at now: Now) {
        let claim = restored.subject
        guard names.awaited[claim.name] == nil else { return }
        guard restored.left > .zero else { return output.append(.dropAwaited(claim.origin)) }
        let expires = now.uptime + restored.left
        insertAwaited(AwaitedClaim(claim, until: expires), of: .program(claim.program))
    }

    /// Its time is over, or it must not have an effect.
    mutating func dropAwaited(_ name: EventName) {
        guard let dropped = names.awaited.remove(name) else { return }
        output.append(.dropAwaited(dropped.claim.origin))
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

    /// Events that could not be stored are awaited again.
    mutating func awaitAgain(_ unstored: Set<EventID>) {
        for name in names.awaited.putBack(unstored) {
            guard let kept = names.awaited[name] else { continue }
            names.awaited.update(kept, timers.schedule(.awaited(name), at: kept.expires))
        }
    }
}
