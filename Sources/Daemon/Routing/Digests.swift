public import NotifyText

/// A period that held back banners, and whose digest has not been published.
public struct OwedDigest: Hashable, Sendable {
    /// The period.
    public let period: ActiveSchedule.Period
    /// The event with which it began to be owed. It names the digest in the outcomes of all its events: where the clock
    /// is set back, a period comes twice and owes two digests.
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
    /// A digest that is refused because of a limit is tried again after this time.
    static let retryInterval: Duration = .seconds(10)

    private(set) var owed: [ActiveSchedule.Period: OwedDigest] = [:]
    /// Whether the shell is counting.
    private var isCounting = false
    /// Armed for another try after a digest was refused.
    private(set) var retryTimer: Router.Timers.TimerID?
    /// Whether something has changed that may make a digest due.
    private var isUnchecked = false
    /// Whether `owed` has changed since `takeChange`.
    private var hasChanged = false
    /// The digest that was published since the last `stored`, and what was owed before, in case it cannot be stored.
    private(set) var unstored: (event: EventID, owed: [OwedDigest])?

    /// In the byte order of their topics, then in the order of their beginnings.
    var all: [OwedDigest] { owed.values.sorted { $0.period.precedes($1.period) } }

    /// A period has held back the banner of an event.
    ///
    /// - Returns: the name of the digest that counts it; `nil` beyond the limit.
    mutating func add(_ event: EventID, to period: ActiveSchedule.Period, limit: Int) -> EventID? {
        let before = owed[period]
        guard before != nil || owed.count < limit else { return nil }
        let digest = OwedDigest(period, name: before?.name ?? event, first: min(event, before?.first ?? event))
        if digest != before {
            owed[period] = digest
            hasChanged = true
        }
        return digest.name
    }

    /// Adds a digest of an earlier run, or one that could not be stored.
    private mutating func putBack(_ digest: OwedDigest) {
        guard owed[digest.period] == nil else { return }
        owed[digest.period] = digest
        hasChanged = true
    }

    mutating func restore(_ digests: [OwedDigest], limit: Int) {
        for digest in digests.prefix(max(0, limit - owed.count)) { putBack(digest) }
        isUnchecked = true
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
        guard let (event, digests) = unstored.take(), events.contains(event) else { return }
        for digest in digests { putBack(digest) }
        isUnchecked = true
    }

    /// Something may be due, or not wanted any more.
    mutating func checkLater() { isUnchecked = true }

    mutating func takeUnchecked() -> Bool {
        defer { isUnchecked = false }
        return isUnchecked
    }

    mutating func takeChange() -> Bool {
        defer { hasChanged = false }
        return hasChanged
    }

    /// - Parameter timer: armed for another try; `nil`: it is time for that.
    mutating func retry(_ timer: Router.Timers.TimerID?) {
        retryTimer = timer
        if timer == nil { isUnchecked = true }
    }

    // MARK: Counting

    /// - Returns: whether a count begins now.
    mutating func beginCount() -> Bool {
        defer { isCounting = true }
        return !isCounting
    }

    /// - Parameter isCurrent: whether the same digests are still due.
    /// - Returns: the digest to publish, if there is one.
    mutating func endCount(_ count: DigestCount, isCurrent: Bool) -> Publication? {
        isCounting = false
        guard isCurrent else {
            isUnchecked = true
            return nil
        }
        switch count.result {
        case .none: for digest in count.digests { remove(digest.period) }
        // The next pause, mute or schedule that ends has them counted again.
        case .quiet: break
        case .found(let publication): return publication
        }
        return nil
    }
}

extension ActiveSchedule.Period {
    /// By the bytes of the topics, then by the beginnings.
    package func precedes(_ other: ActiveSchedule.Period) -> Bool {
        (topic, began) < (other.topic, other.began)
    }
}

/// The digest: when a schedule, a pause or a mute has ended, one event says how many banners it held back.
///
/// The router notes which of these periods owe a digest. A digest is due when its period is over and nothing else
/// covers the period's topic. The shell then counts the events in the journal, and the router publishes the digest as
/// an event like any other. All digests that are due at a moment are one.
extension Router {
    /// The periods that held back banners and are not reported, in the byte order of their topics.
    public var owedDigests: [OwedDigest] { quietPeriods.digests.all }

    /// The digest that has been published since the last `Input.stored`.
    ///
    /// Swift 6.3 crashes on `unstored?.event` in a release build whose tests are enabled.
    public var unstoredDigest: EventID? { quietPeriods.digests.unstored.map { $0.event } }

    /// Those of them that a digest can report now.
    public var dueDigests: [OwedDigest] { quietPeriods.dueDigests }

    /// Whether a pause, a mute or a schedule covers everything at or below a topic.
    public func isQuiet(_ topic: TopicPrefix) -> Bool { quietPeriods.covering(topic) != nil }

    /// Publishes the digest that was counted.
    ///
    /// - Returns: its id; `nil`: there is none.
    mutating func digestsCounted(
        _ count: DigestCount, at now: Now, _ reader: some EventReader
    ) throws(Refusal) -> EventID? {
        guard let publication = quietPeriods.endCount(count) else { return nil }
        do throws(Refusal) {
            let id = try publish(publication, at: now, reader)
            quietPeriods.digests.published(id, of: count.digests)
            return id
        } catch {
            quietPeriods.digests.retry(timers.schedule(.digest, at: now.instant + Digests.retryInterval))
            throw error
        }
    }
}
