import DequeModule

/// The banner of one coalescing key, from the first event whose window ended unclaimed until the server closes it.
///
/// An event behind it waits to be sent, is in flight in a call to the server, or is shown.
struct Banner {
    /// Orders banners by when they came to be.
    let serial: UInt64
    fileprivate(set) var waiting = SortedIDs()
    fileprivate(set) var inFlight = SortedIDs()
    fileprivate(set) var shown = SortedIDs()
    /// The serial of its entry in the queue, while it is queued.
    fileprivate var queued: UInt64?
    /// The server's number, while the banner is up.
    fileprivate(set) var id: BannerID?
    /// The first event that the banner showed, while it is up. It identifies the banner in the journal, because a server may
    /// change the number.
    fileprivate(set) var first: EventID?
    /// The call in flight; a banner has at most one.
    fileprivate(set) var call: Call?

    fileprivate init(serial: UInt64) {
        self.serial = serial
    }

    /// All unclaimed events behind the banner.
    var count: Int { waiting.count + inFlight.count + shown.count }

    /// A call to the server. Most banners have none, so it is allocated separately.
    final class Call: Sendable {
        let id: BannerCall
        /// When it was made.
        let at: Instant
        /// The first event in flight.
        let first: EventID
        /// The causes of delay until then.
        let delays: BannerDelays

        init(id: BannerCall, at: Instant, first: EventID, delays: BannerDelays) {
            self.id = id
            self.at = at
            self.first = first
            self.delays = delays
        }
    }
}

/// All banners: by coalescing key, by the server's number, and in a queue of those to send.
///
/// Functions that take a key without saying otherwise need a banner with that key: an event's place names its banner, and a
/// banner with events is never removed.
struct Banners {
    private var banners = SlabDictionary<CoalescingKey, Banner>()
    private(set) var keys: [BannerID: CoalescingKey] = [:]
    /// Entries are cancelled lazily: one whose serial its banner does not have is stale.
    private var queue = Deque<(key: CoalescingKey, serial: UInt64)>()
    private var lastSerial: UInt64 = 0
    /// Armed while the summary may not be sent again.
    private(set) var summaryTimer: Router.Timers.TimerID?
    /// Whether the journal knows of banners that are up and, because of the limits, not in memory.
    var hasUnknown = false

    var isEmpty: Bool { banners.isEmpty }
    var count: Int { banners.count }
    /// Banners with events that wait to be sent.
    var waitingCount: Int { banners.values.reduce(0) { $0 + ($1.waiting.isEmpty ? 0 : 1) } }
    /// Banners in the queue.
    var queuedCount: Int { queue.count(where: isQueued) }
    var all: some Sequence<Banner> { banners.values }
    /// The keys of all banners, oldest banner first.
    var orderedKeys: [CoalescingKey] {
        banners.keys.sorted { banners[existing: $0].serial < banners[existing: $1].serial }
    }

    subscript(key: CoalescingKey) -> Banner? {
        _read { yield banners[key] }
    }

    subscript(existing key: CoalescingKey) -> Banner {
        _read { yield banners[existing: key] }
    }

    /// The number of a banner that is up without an event behind it. While a call is in flight the number may still change, so
    /// there is none: the banner is checked again when the call ends.
    func emptyBanner(_ key: CoalescingKey) -> BannerID? {
        guard let banner = banners[key], banner.count == 0, banner.call == nil else { return nil }
        return banner.id
    }

    // MARK: The queue

    private func isQueued(_ entry: (key: CoalescingKey, serial: UInt64)) -> Bool {
        banners[entry.key]?.queued == entry.serial
    }

    mutating func enqueue(_ key: CoalescingKey) {
        if key == .summary, summaryTimer != nil { return }
        guard banners[existing: key].queued == nil else { return }
        lastSerial += 1
        banners[existing: key].queued = lastSerial
        queue.append((key, lastSerial))
        if queue.count > 2 * banners.count + 64 { queue = Deque(queue.filter(isQueued)) }
    }

    mutating func dequeue() -> CoalescingKey? {
        while let entry = queue.popFirst() {
            guard isQueued(entry) else { continue }
            banners[existing: entry.key].queued = nil
            return entry.key
        }
        return nil
    }

    mutating func delaySummary(_ timer: Router.Timers.TimerID) {
        summaryTimer = timer
    }

    mutating func summaryTimerFired() {
        summaryTimer = nil
        if banners[.summary]?.waiting.isEmpty == false { enqueue(.summary) }
    }

    // MARK: Events

    private mutating func add(_ key: CoalescingKey) {
        guard !banners.contains(key) else { return }
        lastSerial += 1
        banners[key] = Banner(serial: lastSerial)
    }

    /// Adds an event to what waits, and a banner with this key where there is none.
    mutating func wait(_ id: EventID, in key: CoalescingKey) {
        add(key)
        banners[existing: key].waiting.insert(id)
        enqueue(key)
    }

    mutating func stopWaiting(_ id: EventID, in key: CoalescingKey) { banners[existing: key].waiting.remove(id) }
    mutating func takeWaiting(_ key: CoalescingKey) -> SortedIDs { banners[existing: key].waiting.take() }
    mutating func removeInFlight(_ id: EventID, from key: CoalescingKey) { banners[existing: key].inFlight.remove(id) }
    mutating func takeInFlight(_ key: CoalescingKey) -> SortedIDs { banners[existing: key].inFlight.take() }
    mutating func show(_ id: EventID, in key: CoalescingKey) { banners[existing: key].shown.insert(id) }
    mutating func removeShown(_ id: EventID, from key: CoalescingKey) { banners[existing: key].shown.remove(id) }
    mutating func takeShown(_ key: CoalescingKey) -> SortedIDs { banners[existing: key].shown.take() }

    // MARK: Calls

    /// What waits is in flight now.
    mutating func begin(_ call: Banner.Call, of key: CoalescingKey) {
        banners[existing: key].inFlight = banners[existing: key].waiting.take()
        banners[existing: key].call = call
    }

    mutating func endCall(of key: CoalescingKey) -> Banner.Call {
        guard let call = banners[existing: key].call.take() else {
            preconditionFailure("a call ends once, and its banner has it until then")
        }
        return call
    }

    // MARK: Numbers

    /// Sets the server's number of a banner, and adds the banner where there is none with this key.
    ///
    /// - Parameter first: the first event of the banner, where it was not up before.
    mutating func setNumber(_ id: BannerID, of key: CoalescingKey, first: EventID) {
        add(key)
        if let old = banners[existing: key].id { keys[old] = nil }
        banners[existing: key].id = id
        banners[existing: key].first = banners[existing: key].first ?? first
        keys[id] = key
    }

    /// Removes the number, and the banner if it has nothing else.
    mutating func removeNumber(_ id: BannerID) {
        guard let key = keys.removeValue(forKey: id) else { return }
        banners[existing: key].id = nil
        banners[existing: key].first = nil
        removeIfUnused(key)
    }

    /// Removes a banner without a number, a call and events, if there is one with this key.
    mutating func removeIfUnused(_ key: CoalescingKey) {
        guard let banner = banners[key], banner.count == 0, banner.id == nil, banner.call == nil else { return }
        banners[key] = nil
    }

    /// The server is gone, and its numbers with it.
    mutating func reset(_ key: CoalescingKey) -> (id: BannerID?, shown: SortedIDs, inFlight: SortedIDs) {
        let id = banners[existing: key].id.take()
        if let id { keys[id] = nil }
        banners[existing: key].first = nil
        banners[existing: key].call = nil
        return (id, takeShown(key), takeInFlight(key))
    }
}

/// A banner that the server closed. Some servers report the button that closed it only afterwards.
struct ClosedBanner {
    /// How long the report of a button is awaited.
    static let actionTimeout: Duration = .milliseconds(100)

    /// The events that it showed.
    let events: SortedIDs
    /// Whether the user closed it.
    let isDismissed: Bool
    /// Armed for the end of `actionTimeout`.
    let timer: Router.Timers.TimerID
}
