/// A period that held back banners, and whose digest has not been published.
public struct OwedDigest: Hashable, Sendable {
    /// The period.
    public let period: ActiveSchedule.Period
    /// The event with which it began to be owed. It names the digest in the outcomes of all its events: where the clock is set
    /// back, a period comes twice and owes two digests.
    public let name: EventID
    /// No event of the digest has a lower id.
    public let first: EventID

    public init(_ period: ActiveSchedule.Period, name: EventID, first: EventID) {
        self.period = period
        self.name = name
        self.first = first
    }
}

/// What the journal says about the periods of `Router.dueDigests`.
public struct DigestCount: Sendable {
    /// What was counted.
    public enum Result: Sendable {
        /// No unread event is left.
        case none
        /// The topics of all events that are left are quiet for another cause.
        case quiet
        /// There are events. This is the digest: see `DigestTally.publication`.
        case found(Publication)
    }

    /// The periods that were due when the count began.
    public let digests: [OwedDigest]
    /// What was counted.
    public let result: Result

    public init(_ digests: [OwedDigest], _ result: Result) {
        self.digests = digests
        self.result = result
    }
}

/// The digests that are owed: one for each period with a digest that has held back a banner.
struct Digests {
    private(set) var owed: [ActiveSchedule.Period: OwedDigest] = [:]
    /// Whether the shell is counting.
    var isCounting = false
    /// Armed for another try after a digest was refused.
    var retryTimer: Router.Timers.TimerID?
    /// Whether something has changed that may make a digest due.
    var isUnchecked = false
    /// Whether `owed` has changed in this input.
    var hasChanged = false
    /// The digest that was published since the last `stored`, and what was owed before, in case it cannot be stored.
    private(set) var unstored: (event: EventID, owed: [OwedDigest])?

    /// In the byte order of their topics, then in the order of their beginnings.
    var all: [OwedDigest] {
        owed.values.sorted { $0.period.precedes($1.period) }
    }

    /// A period has held back the banner of an event.
    ///
    /// - Returns: the name of the digest that counts it.
    mutating func add(_ event: EventID, to period: ActiveSchedule.Period) -> EventID {
        let before = owed[period]
        let digest = OwedDigest(period, name: before?.name ?? event, first: min(event, before?.first ?? event))
        if digest != before {
            owed[period] = digest
            hasChanged = true
        }
        return digest.name
    }

    /// Adds a digest of an earlier run, or one that could not be stored.
    mutating func putBack(_ digest: OwedDigest) {
        guard owed[digest.period] == nil else { return }
        owed[digest.period] = digest
        hasChanged = true
    }

    mutating func remove(_ period: ActiveSchedule.Period) {
        if owed.removeValue(forKey: period) != nil { hasChanged = true }
    }

    /// A digest of these periods was published.
    mutating func published(_ event: EventID, of digests: [OwedDigest]) {
        for digest in digests { remove(digest.period) }
        unstored = (event, digests)
    }

    mutating func stored() { unstored = nil }

    /// If the digest is among these events, what was owed is owed again.
    mutating func notStored(_ events: Set<EventID>) {
        guard let (event, digests) = unstored.take() else { return }
        guard events.contains(event) else { return }
        for digest in digests { putBack(digest) }
        isUnchecked = true
    }
}

extension ActiveSchedule.Period {
    /// By the bytes of the topics, then by the beginnings.
    package func precedes(_ other: ActiveSchedule.Period) -> Bool {
        if topic == other.topic { return began < other.began }
        return topic.description.utf8.lexicographicallyPrecedes(other.topic.description.utf8)
    }
}
