import HeapModule
import NotifyText

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
        case server
        case summary
        case closedBanner(BannerID)
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

    /// The timers on both clocks.
    struct Timers {
        typealias TimerID = TimerQueue<Instant, Timer>.TimerID
        typealias LifetimeID = TimerQueue<Uptime, LifetimeTimer>.TimerID

        fileprivate var windows = TimerQueue<Instant, Timer>()
        fileprivate var lifetimes = TimerQueue<Uptime, LifetimeTimer>()

        /// Timers that are armed or stale.
        var count: Int { windows.entries.count + lifetimes.entries.count }

        mutating func schedule(_ timer: Timer, at moment: Instant) -> TimerID { windows.schedule(timer, at: moment) }
        mutating func schedule(_ timer: LifetimeTimer, at moment: Uptime) -> LifetimeID {
            lifetimes.schedule(timer, at: moment)
        }
    }

    mutating func armTimers() {
        // The first check spares the search for an armed entry.
        let window = timers.windows.needsWakeUp(at: timers.windows.next?.deadline) ? nextTimer()?.deadline : nil
        let lifetime =
            timers.lifetimes.needsWakeUp(at: timers.lifetimes.next?.deadline) ? nextLifetimeTimer()?.deadline : nil
        let isAsked = (timers.windows.askForWakeUp(at: window), timers.lifetimes.askForWakeUp(at: lifetime))
        guard isAsked.0 || isAsked.1 else { return }
        output.append(.armTimer(isAsked.0 ? window : nil, lifetimes: isAsked.1 ? lifetime : nil))
    }

    mutating func fireTimers(at now: Now) {
        timers.windows.wokeUp(at: now.instant)
        timers.lifetimes.wokeUp(at: now.uptime)
        while let entry = nextTimer(), entry.deadline <= now.instant {
            timers.windows.removeNext()
            switch entry.timer {
            case .window(let slot):
                if let key = events.window(in: slot, armedBy: entry.id) { endWindow(key, at: now) }
            case .hold(let id): holdRanOut(id, entry.id, at: now)
            case .grace(let id): screens.graces.end(id)
            case .lease(let id): closeScreen(id, at: now)
            case .call(let call): callTimedOut(call, at: now)
            case .server: banners.server.fired(entry.id, at: now.instant)
            case .summary: banners.summaryTimerFired(at: now.instant)
            case .closedBanner(let id): endActionWait(id)
            case .digest: quietPeriods.digests.retry(nil)
            }
        }
        while let entry = nextLifetimeTimer(), entry.deadline <= now.uptime {
            timers.lifetimes.removeNext()
            switch entry.timer {
            case .event(let id): expire(id)
            case .value(let topic): endValue(of: topic, .expired, at: now)
            case .mute(let topic): quietPeriods.endMute(of: topic)
            case .pause: quietPeriods.pause(for: nil, at: now.uptime, timers: &timers)
            case .snooze(let id): snoozeEnded(id, at: now)
            case .awaited(let name): names.dropAwaited(name, output: &output)
            }
        }
        sendBanners(at: now)
    }

    // MARK: Stale entries

    private func isArmed(_ entry: TimerQueue<Instant, Timer>.Entry) -> Bool {
        switch entry.timer {
        case .window(let slot): events.window(in: slot, armedBy: entry.id) != nil
        case .hold(let id): screens.holds[id].contains { $0.timer == entry.id }
        case .grace(let id): screens.graces.contains(id)
        case .lease(let id): screens[id]?.leaseTimer == entry.id
        case .call(let call): banners.server.inFlight[call] != nil
        case .server: banners.server.arms(entry.id)
        case .summary: banners.summaryTimer == entry.id
        case .closedBanner(let id): banners.closed(id)?.timer == entry.id
        case .digest: quietPeriods.digests.retryTimer == entry.id
        }
    }

    private func isArmed(_ entry: TimerQueue<Uptime, LifetimeTimer>.Entry) -> Bool {
        switch entry.timer {
        case .event(let id): events[id]?.expiryTimer == entry.id
        case .value(let topic): names.values[topic]?.timer == entry.id
        case .mute(let topic): quietPeriods.muteTimer(of: topic) == entry.id
        case .pause: quietPeriods.pauseTimer == entry.id
        case .snooze(let id): quietPeriods.snoozes[id]?.timer == entry.id
        case .awaited(let name): names.awaited.timer(of: name) == entry.id
        }
    }

    private mutating func nextTimer() -> TimerQueue<Instant, Timer>.Entry? {
        while let entry = timers.windows.next {
            if isArmed(entry) { return entry }
            timers.windows.removeNext()
        }
        return nil
    }

    private mutating func nextLifetimeTimer() -> TimerQueue<Uptime, LifetimeTimer>.Entry? {
        while let entry = timers.lifetimes.next {
            if isArmed(entry) { return entry }
            timers.lifetimes.removeNext()
        }
        return nil
    }

    mutating func compactQueues() {
        if timers.windows.needsCompaction {
            timers.windows.compact(keeping: timers.windows.entries.filter { isArmed($0) })
        }
        if timers.lifetimes.needsCompaction {
            timers.lifetimes.compact(keeping: timers.lifetimes.entries.filter { isArmed($0) })
        }
    }

    /// Timers that are armed, and banners in the queue.
    var liveEntries: Int {
        timers.windows.entries.count { isArmed($0) } + timers.lifetimes.entries.count { isArmed($0) }
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

        static func == (left: Entry, right: Entry) -> Bool { left.id == right.id }
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

    /// An earlier wake-up only: a timer that fires too early costs one wake-up and is armed again.
    func needsWakeUp(at moment: Deadline?) -> Bool {
        guard let moment else { return false }
        return armed.map { moment < $0 } ?? true
    }

    /// - Returns: whether the shell must be asked.
    mutating func askForWakeUp(at moment: Deadline?) -> Bool {
        guard needsWakeUp(at: moment) else { return false }
        armed = moment
        return true
    }

    /// The shell has woken the router.
    mutating func wokeUp(at now: Deadline) {
        if let moment = armed, moment <= now { armed = nil }
    }

    mutating func removeNext() { heap.removeMin() }

    /// - Parameter armed: `entries` without the stale ones.
    mutating func compact(keeping armed: [Entry]) {
        heap = Heap(armed)
        compactionThreshold = 2 * armed.count + 64
    }
}
