import DequeModule
import NotifyText

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
    /// The first event that the banner showed, while it is up. It identifies the banner in the journal, because a
    /// server may change the number. A banner that begins with a snoozed event has an id of its own here.
    fileprivate(set) var first: EventID?
    /// The call in flight; a banner has at most one.
    fileprivate(set) var call: Call?
    /// Whether the server shows an event that was withdrawn or replaced since.
    fileprivate var isOutdated = false
    /// Whether the call in flight tells the server of such an event, or of one that was claimed before the call was
    /// sent.
    fileprivate(set) var isCallOutdated = false
    /// Whether the call in flight has left for the server.
    fileprivate(set) var isCallSent = false
    /// The event that takes the place of one behind the banner, while it is in its window: until then the banner stays
    /// up, even if nothing else is behind it.
    fileprivate(set) var successor: EventID?

    fileprivate init(serial: UInt64) { self.serial = serial }

    /// All unclaimed events behind the banner.
    var count: Int { waiting.count + inFlight.count + shown.count }

    /// Whether the server has to be called: for events that wait, or to update what it shows.
    var needsCall: Bool { !waiting.isEmpty || isOutdated && id != nil && !shown.isEmpty && successor == nil }

    /// A call to the server. Most banners have none, so it is allocated separately.
    final class Call: Sendable {
        let id: BannerCall
        /// When it was made.
        let at: Instant
        /// The first event in flight, or what identifies the banner instead.
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
/// Functions that take a key without saying otherwise need a banner with that key: an event's place names its banner,
/// and a banner with events is never removed.
struct Banners {
    private var banners = SlabDictionary<CoalescingKey, Banner>()
    private(set) var keys: [BannerID: CoalescingKey] = [:]
    /// Entries are cancelled lazily: one whose serial its banner does not have is stale.
    private var queue = Deque<(key: CoalescingKey, serial: UInt64)>()
    private var lastSerial: UInt64 = 0
    /// Armed while the summary may not be sent again.
    private(set) var summaryTimer: Router.Timers.TimerID?
    /// Whether the journal knows of banners that are up and, because of the limits, not in memory.
    private(set) var hasUnknown = false
    /// The server, and what delays banners. Calls begin and end here, because a banner has the call that it is in.
    var server = ServerCalls()
    /// Which new banners the server gets, and which are folded.
    var limiter = RateLimiter()
    /// Banners that the server closed, for a button that is reported later.
    private var closed: [BannerID: ClosedBanner] = [:]
    /// Restored banners that are kept for events which may not be restored yet.
    private(set) var restoredSuccessions: [CoalescingKey] = []

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

    /// The number of a banner that is up with nothing behind it and no successor. While a call is in flight the number
    /// may still change, so there is none: the banner is checked again when the call ends.
    func emptyBanner(_ key: CoalescingKey) -> BannerID? {
        guard let banner = banners[key], banner.count == 0, banner.call == nil, banner.successor == nil else {
            return nil
        }
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

    mutating func summaryTimerFired(at now: Instant) {
        server.summaryDelayEnded(at: now)
        summaryTimer = nil
        if banners[.summary]?.needsCall == true { enqueue(.summary) }
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
    mutating func removeInFlight(_ id: EventID, from key: CoalescingKey) {
        banners[existing: key].inFlight.remove(id)
        takeBackUnsentCall(of: key)
    }
    mutating func putInFlight(_ id: EventID, in key: CoalescingKey) { banners[existing: key].inFlight.insert(id) }
    mutating func takeInFlight(_ key: CoalescingKey) -> SortedIDs { banners[existing: key].inFlight.take() }
    mutating func show(_ id: EventID, in key: CoalescingKey) { banners[existing: key].shown.insert(id) }
    mutating func removeShown(_ id: EventID, from key: CoalescingKey) {
        banners[existing: key].shown.remove(id)
        takeBackUnsentCall(of: key)
    }
    mutating func takeShown(_ key: CoalescingKey) -> SortedIDs { banners[existing: key].shown.take() }

    /// An event that a call tells the server of has left the banner: the call is made again if it has not been sent.
    private mutating func takeBackUnsentCall(of key: CoalescingKey) {
        if banners[existing: key].call != nil, !banners[existing: key].isCallSent {
            banners[existing: key].isCallOutdated = true
        }
    }

    // MARK: Events that are withdrawn or replaced

    /// An event that is withdrawn or replaced was taken out of its place. Where the server shows it, or will, the
    /// banner is updated.
    mutating func markOutdated(_ tracked: Router.TrackedEvent) {
        switch tracked.place {
        case .shown(let key, _), .inFlight(let key):
            let isShown = tracked.number != nil
            if isShown { banners[existing: key].isOutdated = true }
            if banners[existing: key].call != nil { banners[existing: key].isCallOutdated = true }
            enqueueIfNeeded(key)
            server.markOutdated(key, event: tracked.event.id, isShown: isShown)
        // A call that timed out may still show it.
        case .waiting(let key), .held(let key): server.markOutdated(key, event: tracked.event.id, isShown: false)
        case .window, .gone, .snoozed: break
        }
    }

    /// The server shows the events of a call.
    ///
    /// - Parameter isOutdated: whether one of them was withdrawn or replaced since.
    mutating func setShown(_ key: CoalescingKey, isOutdated: Bool) { banners[existing: key].isOutdated = isOutdated }

    /// The state before an event was replaced.
    func revision(of key: CoalescingKey) -> Revision? {
        banners[key].map { Revision(isOutdated: $0.isOutdated, call: $0.call?.id, isCallOutdated: $0.isCallOutdated) }
    }

    /// An event is behind the banner again, as before it was replaced. A later call does not tell the server of it.
    mutating func restore(_ revision: Revision, of key: CoalescingKey) {
        banners[existing: key].isOutdated = revision.isOutdated
        guard let call = banners[existing: key].call?.id else { return }
        banners[existing: key].isCallOutdated = call == revision.call ? revision.isCallOutdated : true
    }

    /// Keeps a banner that is up, or will be, for an event that takes the place of one behind it. A banner that is
    /// neither is kept for nobody: the call for it may have failed since it was kept for an earlier event.
    mutating func setSuccessor(_ id: EventID, of key: CoalescingKey) {
        guard let banner = banners[key] else { return }
        banners[existing: key].successor = banner.id != nil || banner.call != nil ? id : nil
    }

    /// The event has left its window.
    mutating func endSuccession(of id: EventID, in key: CoalescingKey) {
        if banners[key]?.successor == id { endSuccession(in: key) }
    }

    mutating func endSuccession(in key: CoalescingKey) {
        banners[existing: key].successor = nil
        enqueueIfNeeded(key)
    }

    mutating func enqueueIfNeeded(_ key: CoalescingKey) {
        if banners[existing: key].needsCall { enqueue(key) }
    }

    // MARK: Calls

    /// What waits is in flight now.
    ///
    /// - Parameters:
    ///   - first: what identifies the banner in the journal.
    ///   - isExclusive: whether the call holds back others at first.
    mutating func begin(
        _ key: CoalescingKey, first: EventID, isExclusive: Bool, at now: Instant, timers: inout Router.Timers
    ) -> BannerCall {
        let call = server.begin(for: key, isExclusive: isExclusive, at: now, timers: &timers)
        if key == .summary { summaryTimer = timers.schedule(.summary, at: now + RateLimiter.period) }
        banners[existing: key].inFlight = banners[existing: key].waiting.take()
        banners[existing: key].call = Banner.Call(id: call, at: now, first: first, delays: server.delays)
        return call
    }

    /// The banner that a call in flight is for.
    func banner(of call: BannerCall) -> Banner? { server.inFlight[call].flatMap { banners[$0.key] } }

    /// A call has left for the server.
    mutating func callSent(_ call: BannerCall) {
        if let key = server.inFlight[call]?.key { banners[existing: key].isCallSent = true }
    }

    /// - Parameter failure: `nil`: the server shows the banner.
    /// - Returns: the call, if it was in flight, and whether one of its events was withdrawn or replaced since.
    mutating func end(
        _ id: BannerCall, _ failure: BannerFailure?, at now: Instant, timers: inout Router.Timers
    ) -> (key: CoalescingKey, call: Banner.Call, isOutdated: Bool)? {
        guard let key = server.end(id, failure, at: now, timers: &timers) else { return nil }
        guard let call = banners[existing: key].call.take() else {
            preconditionFailure("a call ends once, and its banner has it until then")
        }
        defer {
            banners[existing: key].isCallOutdated = false
            banners[existing: key].isCallSent = false
        }
        return (key, call, banners[existing: key].isCallOutdated)
    }

    /// Ends a call that has no answer in time. The server may still show its banner.
    mutating func timeOut(
        _ id: BannerCall, limit: Int, at now: Instant, timers: inout Router.Timers
    ) -> CoalescingKey? {
        guard let (key, call, isOutdated) = end(id, .noAnswer, at: now, timers: &timers) else { return nil }
        let late = TimedOutCall(
            key: key, call: call, inFlight: banners[existing: key].inFlight, isOutdated: isOutdated)
        server.keepTimedOut(late, limit: limit)
        return key
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
        banners[existing: key].isOutdated = false
        removeIfUnused(key)
    }

    /// A banner stays up that is not in memory any more, or does not fit there. The journal still knows it.
    mutating func forgetNumber(_ id: BannerID) {
        hasUnknown = true
        removeNumber(id)
    }

    /// Removes a banner without a number, a call and events, if there is one with this key.
    mutating func removeIfUnused(_ key: CoalescingKey) {
        guard let banner = banners[key], banner.count == 0, banner.id == nil, banner.call == nil else { return }
        banners[key] = nil
    }

    // MARK: Closed and restored banners

    /// Banners that the server closed a moment ago.
    var closedCount: Int { closed.count }
    /// One of them.
    func closed(_ id: BannerID) -> ClosedBanner? { closed[id] }
    mutating func keepClosed(_ id: BannerID, _ banner: ClosedBanner) { closed[id] = banner }
    mutating func takeClosed(_ id: BannerID) -> ClosedBanner? { closed.removeValue(forKey: id) }

    /// Restores a banner without events, for the event that takes the place of its last one.
    mutating func restoreEmpty(_ id: BannerID, of key: CoalescingKey, first: EventID, for successor: EventID) {
        setNumber(id, of: key, first: first)
        setSuccessor(successor, of: key)
        restoredSuccessions.append(key)
    }

    /// The banners that were restored for a successor; each is returned once.
    mutating func takeRestoredSuccessions() -> [CoalescingKey] {
        defer { restoredSuccessions = [] }
        return restoredSuccessions
    }

    // MARK: The server

    /// What delays the banner with a key; `nil`: nothing.
    func delay(of key: CoalescingKey) -> BannerDelay? {
        guard server.isServerThere else { return server.isServerFound ? .busy : .absent }
        if server.isCircuitOpen { return .resting }
        if key == .summary, summaryTimer != nil { return .limited }
        return server.allowsCall && banners[key]?.call == nil ? nil : .busy
    }

    /// - Returns: whether to start a server now: there is none, and a banner is due.
    mutating func startServer(at now: Instant, timers: inout Router.Timers) -> Bool {
        !server.isServerThere && !isEmpty && server.startIfDue(at: now, timers: &timers)
    }

    /// The server is gone, with all that it knew: no call has an answer.
    ///
    /// - Returns: the numbers of the banners that it closed before, in their order.
    mutating func serverVanished(at now: Instant) -> [BannerID] {
        server.serverVanished(at: now)
        hasUnknown = false
        return closed.keys.sorted { $0.rawValue < $1.rawValue }
    }

    /// The server is gone, and its numbers with it.
    mutating func reset(_ key: CoalescingKey) -> (id: BannerID?, shown: SortedIDs, inFlight: SortedIDs) {
        let id = banners[existing: key].id.take()
        if let id { keys[id] = nil }
        banners[existing: key].first = nil
        banners[existing: key].call = nil
        banners[existing: key].isOutdated = false
        banners[existing: key].isCallOutdated = false
        banners[existing: key].isCallSent = false
        banners[existing: key].successor = nil
        return (id, takeShown(key), takeInFlight(key))
    }
}

extension Banners {
    /// Whether the server shows, and the call in flight tells it, only what is behind the banner.
    struct Revision {
        let isOutdated: Bool
        let call: BannerCall?
        let isCallOutdated: Bool
    }
}

/// A banner that the server closed. Some servers report the button that closed it only afterwards.
struct ClosedBanner {
    /// How long the report of a button is awaited.
    static let actionTimeout: Duration = .milliseconds(100)

    /// The events that it showed.
    let events: SortedIDs
    /// Whether it was the summary.
    let isSummary: Bool
    /// Whether the user closed it.
    let isDismissed: Bool
    /// Armed for the end of `actionTimeout`.
    let timer: Router.Timers.TimerID
}
