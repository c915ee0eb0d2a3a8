import HeapModule

/// Timers. The owner of each timer keeps its id while the timer is armed; see `TimerQueue`.
extension Router {
    /// Timers on the clock of windows.
    enum Timer {
        /// By its slot: a key would keep an event in memory until the timer comes up, also when that is stale.
        case window(Int32)
        case hold(EventID)
        case grace(Graces.ID)
        case lease(ScreenID)
        case call(BannerCall)
        case exclusiveTime
        case cooldown
        case summary
        case closedBanner(BannerID)
        case serverStart
        case digest
    }

    /// Timers on the clock of lifetimes.
    enum LifetimeTimer {
        case event(EventID)
        case value(Topic)
        case mute(TopicPrefix)
        case pause
        case snooze(EventID)
        case awaited(EventName)
    }

    typealias Timers = TimerQueue<Instant, Timer>
    typealias LifetimeTimers = TimerQueue<Uptime, LifetimeTimer>

    mutating func armTimers() {
        // The first check spares the search for an armed entry.
        if timers.needsWakeUp(at: timers.next?.deadline), let moment = nextTimer()?.deadline,
            timers.needsWakeUp(at: moment)
        {
            timers.askedForWakeUp(at: moment)
            effects.append(.armTimer(moment))
        }
        if lifetimeTimers.needsWakeUp(at: lifetimeTimers.next?.deadline), let moment = nextLifetimeTimer()?.deadline,
            lifetimeTimers.needsWakeUp(at: moment)
        {
            lifetimeTimers.askedForWakeUp(at: moment)
            effects.append(.armLifetimeTimer(moment))
        }
    }

    mutating func fireTimers(at now: Now) {
        timers.wokeUp(at: now.instant)
        lifetimeTimers.wokeUp(at: now.uptime)
        while let entry = nextTimer(), entry.deadline <= now.instant {
            timers.removeNext()
            switch entry.timer {
            case .window(let slot): if let key = windows.key(in: slot, armedBy: entry.id) { endWindow(key, at: now) }
            case .hold(let id): holdRanOut(id, entry.id, at: now)
            case .grace(let id): graces.end(id, in: &owners)
            case .lease(let id): closeScreen(id, at: now)
            case .call(let call): callTimedOut(call, at: now)
            case .exclusiveTime: server.exclusiveTimeEnded(at: now.instant)
            case .cooldown: server.cooldownEnded(at: now.instant)
            case .summary: summaryTimerFired(at: now.instant)
            case .closedBanner(let id): endActionWait(id)
            // `startServer` runs after every input.
            case .serverStart: server.startTimerFired()
            case .digest: digests.retryTimerFired()
            }
        }
        while let entry = nextLifetimeTimer(), entry.deadline <= now.uptime {
            lifetimeTimers.removeNext()
            switch entry.timer {
            case .event(let id): expire(id)
            case .value(let topic): endValue(of: topic, .expired, at: now)
            case .mute(let topic): muteEnded(topic)
            case .pause: setPaused(false)
            case .snooze(let id): snoozeEnded(id, at: now)
            case .awaited(let name): dropAwaited(name)
            }
        }
        sendBanners(at: now)
    }

    // MARK: Stale entries

    private func isArmed(_ entry: Timers.Entry) -> Bool {
        switch entry.timer {
        case .window(let slot): windows.key(in: slot, armedBy: entry.id) != nil
        case .hold(let id): holds[id].contains { $0.timer == entry.id }
        case .grace(let id): graces.contains(id)
        case .lease(let id): screens[id]?.leaseTimer == entry.id
        case .call(let call): server.inFlight[call] != nil
        case .exclusiveTime: server.exclusiveTimer == entry.id
        case .cooldown: server.cooldownTimer == entry.id
        case .summary: banners.summaryTimer == entry.id
        case .closedBanner(let id): closedBanners[id]?.timer == entry.id
        case .serverStart: server.startTimer == entry.id
        case .digest: digests.retryTimer == entry.id
        }
    }

    private func isArmed(_ entry: LifetimeTimers.Entry) -> Bool {
        switch entry.timer {
        case .event(let id): events[id]?.expiryTimer == entry.id
        case .value(let topic): values[topic]?.timer == entry.id
        case .mute(let topic): quietPeriods.muteTimer(of: topic) == entry.id
        case .pause: quietPeriods.pauseTimer == entry.id
        case .snooze(let id): snoozes[id]?.timer == entry.id
        case .awaited(let name): awaited.timer(of: name) == entry.id
        }
    }

    private mutating func nextTimer() -> Timers.Entry? {
        while let entry = timers.next {
            if isArmed(entry) { return entry }
            timers.removeNext()
        }
        return nil
    }

    private mutating func nextLifetimeTimer() -> LifetimeTimers.Entry? {
        while let entry = lifetimeTimers.next {
            if isArmed(entry) { return entry }
            lifetimeTimers.removeNext()
        }
        return nil
    }

    mutating func compactQueues() {
        if timers.needsCompaction { timers.compact(keeping: timers.entries.filter { isArmed($0) }) }
        if lifetimeTimers.needsCompaction {
            lifetimeTimers.compact(keeping: lifetimeTimers.entries.filter { isArmed($0) })
        }
    }

    /// Timers that are armed, and banners in the queue.
    var liveEntries: Int {
        timers.entries.count { isArmed($0) } + lifetimeTimers.entries.count { isArmed($0) }
            + banners.queuedCount
    }
}

/// Timers by deadline; those with the same deadline fire in the order in which they were scheduled.
///
/// Timers are cancelled lazily. The owner of a timer keeps its id while the timer is armed. An entry whose id has no
/// owner is stale: it is skipped when it comes up, and removed by compaction when there are too many.
struct TimerQueue<Deadline: Comparable, Timer> {
    /// Tells apart the entries for equal timers.
    struct TimerID: Hashable {
        fileprivate let serial: UInt64
    }

    struct Entry: Comparable {
        let deadline: Deadline
        let id: TimerID
        let timer: Timer

        static func < (left: Entry, right: Entry) -> Bool {
            left.deadline == right.deadline ? left.id.serial < right.id.serial : left.deadline < right.deadline
        }

        static func == (left: Entry, right: Entry) -> Bool {
            left.id == right.id
        }
    }

    private var heap = Heap<Entry>()
    private var lastSerial: UInt64 = 0
    private var compactionThreshold = 64
    /// The moment for which the shell was last asked to wake the router.
    private(set) var armed: Deadline?

    /// All entries in no particular order, stale ones included.
    var entries: [Entry] { heap.unordered }
    /// The entry with the earliest deadline; it may be stale.
    var next: Entry? { heap.min }
    /// Whether more than half of the entries may be stale.
    var needsCompaction: Bool { heap.count > compactionThreshold }

    mutating func schedule(_ timer: Timer, at deadline: Deadline) -> TimerID {
        lastSerial += 1
        let id = TimerID(serial: lastSerial)
        heap.insert(Entry(deadline: deadline, id: id, timer: timer))
        return id
    }

    /// Asks for an earlier wake-up only: a timer that fires too early costs one wake-up and is armed again.
    ///
    /// - Returns: whether the shell must be asked.
    func needsWakeUp(at moment: Deadline?) -> Bool {
        guard let moment else { return false }
        return armed.map { moment < $0 } ?? true
    }

    mutating func askedForWakeUp(at moment: Deadline) { armed = moment }

    /// The shell has woken the router.
    mutating func wokeUp(at now: Deadline) {
        if let moment = armed, moment <= now { armed = nil }
    }

    mutating func removeNext() {
        heap.removeMin()
    }

    /// - Parameter armed: `entries` without the stale ones.
    mutating func compact(keeping armed: [Entry]) {
        heap = Heap(armed)
        compactionThreshold = 2 * armed.count + 64
    }
}
