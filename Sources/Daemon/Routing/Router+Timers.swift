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

    /// Asks the shell for earlier wake-ups only. A timer that fires too early costs one wake-up and is armed again.
    mutating func armTimers() {
        func isEarlier<Moment: Comparable>(_ moment: Moment?, than armed: Moment?) -> Bool {
            guard let moment else { return false }
            return armed.map { moment < $0 } ?? true
        }
        // The first check spares the search for an armed entry.
        if isEarlier(timers.next?.deadline, than: armed), let moment = nextTimer()?.deadline,
            isEarlier(moment, than: armed)
        {
            armed = moment
            effects.append(.armTimer(moment))
        }
        if isEarlier(lifetimeTimers.next?.deadline, than: armedLifetime), let moment = nextLifetimeTimer()?.deadline,
            isEarlier(moment, than: armedLifetime)
        {
            armedLifetime = moment
            effects.append(.armLifetimeTimer(moment))
        }
    }

    mutating func fireTimers(at now: Now) {
        if let moment = armed, moment <= now.instant { armed = nil }
        if let moment = armedLifetime, moment <= now.uptime { armedLifetime = nil }
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
            case .serverStart: serverStartTimer = nil
            case .digest:
                digests.retryTimer = nil
                digests.isUnchecked = true
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
        case .serverStart: serverStartTimer == entry.id
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
