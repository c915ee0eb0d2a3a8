/// Pauses, mutes, schedules and the desktop's own “do not disturb” hold banners back. Fan-out and claims go on.
extension Router {
    /// What holds banners back now: the pause first, then the desktop, then mutes and schedules in the byte order of their topics.
    public var quiet: [Quiet] { quietPeriods.all }
    /// The schedules that are on but lifted, in the byte order of their topics.
    public var liftedSchedules: [ActiveSchedule.Period] {
        quietPeriods.lifted.sorted { $0.precedes($1) }
    }
    /// Whether banners are paused.
    public var pausesBanners: Bool { quietPeriods.isPaused }

    /// What holds back the banner of an event now. What is critical comes through as the desktop has it, and through nothing else.
    /// What a publisher shows itself the desktop treats as it wants: taken down, it would be missing in the desktop's own list.
    func quietHolding(_ event: Event) -> Quiet? {
        guard !event.route.breaksThrough, let quiet = quietPeriods.covering(event.topic) else { return nil }
        let isLeftToDesktop = event.isShownByPublisher || event.shownUrgency == .critical
        return quiet.cause == .desktop && isLeftToDesktop ? nil : quiet
    }

    /// What would hold back the banner of an event if its route did not break through, or if it were not critical.
    func quietBroken(by event: Event) -> Quiet? {
        guard let quiet = quietPeriods.covering(event.topic) else { return nil }
        return event.route.breaksThrough || quiet.cause == .desktop && event.shownUrgency == .critical ? quiet : nil
    }

    mutating func setDesktopQuiet(_ isQuiet: Bool) {
        isDesktopQuiet = isQuiet
        followDesktop()
    }

    /// Also when the configuration has changed.
    mutating func followDesktop() {
        let isQuiet = isDesktopQuiet && bannerSettings.followsDesktop
        guard isQuiet != quietPeriods.isDesktopQuiet else { return }
        quietPeriods.isDesktopQuiet = isQuiet
        noteQuietChange()
    }

    mutating func setPaused(_ isPaused: Bool) {
        let isChanged = isPaused ? quietPeriods.pauseUntilLifted() : quietPeriods.liftPause()
        if isChanged { noteQuietChange() }
    }

    /// - Parameter duration: zero for a pause until it is lifted.
    mutating func pause(for duration: Duration, at now: Now) {
        guard duration > .zero else { return setPaused(true) }
        beginPause(until: now.uptime + duration)
        noteQuietChange()
    }

    mutating func mute(_ topic: TopicPrefix, for duration: Duration, at now: Now) throws(Refusal) {
        guard duration > .zero else {
            let isMuteLifted = quietPeriods.liftMute(topic)
            let isScheduleLifted = quietPeriods.liftSchedules(of: topic)
            if isMuteLifted || isScheduleLifted { noteQuietChange() }
            return
        }
        guard quietPeriods.isMuted(topic) || quietPeriods.muteCount < limits.mutes else {
            throw .limitExceeded("mutes: \(limits.mutes) topics are muted already; unmute one with 0 seconds")
        }
        beginMute(of: topic, until: now.uptime + duration)
        noteQuietChange()
    }

    mutating func muteEnded(_ topic: TopicPrefix) {
        if quietPeriods.liftMute(topic) { noteQuietChange() }
    }

    /// - Parameter active: all schedules that are on now.
    mutating func setSchedules(_ active: [ActiveSchedule]) {
        if quietPeriods.setSchedules(active) { noteQuietChange() }
        digests.isUnchecked = true
    }

    private mutating func noteQuietChange() {
        effects.append(.quietChanged)
        digests.isUnchecked = true
    }

    private mutating func beginPause(until end: Uptime) {
        quietPeriods.pause(until: end, timer: lifetimeTimers.schedule(.pause, at: end))
    }

    private mutating func beginMute(of topic: TopicPrefix, until end: Uptime) {
        quietPeriods.mute(topic, until: end, timer: lifetimeTimers.schedule(.mute(topic), at: end))
    }

    /// Restores the pause and mutes of an earlier run, unless this run has newer ones, and lifts the schedules that it lifted.
    mutating func restoreQuiet(_ restored: [Restoration.Quiet], lifted: [ActiveSchedule.Period], at now: Now) {
        let isLifted = quietPeriods.lift(lifted)
        for quiet in restored where quiet.left.map({ $0 > .zero }) ?? true {
            switch (quiet.cause, quiet.left) {
            case (.paused, let left):
                guard !quietPeriods.isPaused else { continue }
                if let left { beginPause(until: now.uptime + left) } else { _ = quietPeriods.pauseUntilLifted() }
            case (.muted, let left?):
                guard !quietPeriods.isMuted(quiet.topic), quietPeriods.muteCount < limits.mutes else { continue }
                beginMute(of: quiet.topic, until: now.uptime + left)
            case (.muted, nil), (.schedule, _), (.desktop, _): continue
            }
        }
        // Also announces and keeps what ended while the daemon was not running.
        if !restored.isEmpty || isLifted { noteQuietChange() }
    }
}
