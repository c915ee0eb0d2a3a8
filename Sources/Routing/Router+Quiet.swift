/// Banners that are not wanted now: everything paused, or topics muted for a time. Fan-out and claims go on as ever.
///
/// The pause and every mute are independent: each ends at its own time, or when it is taken back itself.
extension Router {
    /// How long the pause or a mute lasts.
    struct QuietTime {
        /// `nil`: until it is taken back.
        let ends: Uptime?
        /// Stands for the end.
        let ticket: LifetimeClock.Ticket?
    }

    /// What holds banners back now: the pause first, then mutes in the order of their topics' bytes.
    public var quiet: [Quiet] {
        let muted = mutes.sorted { left, right in
            left.key.description.utf8.lexicographicallyPrecedes(right.key.description.utf8)
        }
        return (pause.map { [Quiet(.all, .paused, ends: $0.ends)] } ?? [])
            + muted.map { Quiet($0.key, .muted, ends: $0.value.ends) }
    }

    mutating func setPaused(_ isPaused: Bool) {
        if isPaused {
            guard pause == nil || pause?.ends != nil else { return }
            pause = QuietTime(ends: nil, ticket: nil)
        } else {
            guard pause != nil else { return }
            pause = nil
        }
        effects.append(.quietChanged)
    }

    /// - Parameter duration: zero for a pause that lasts until it is taken back.
    mutating func pause(for duration: Duration, at now: Now) {
        effects.append(.reply(.done))
        guard duration > .zero else { return setPaused(true) }
        beginPause(until: now.uptime + duration)
        effects.append(.quietChanged)
    }

    mutating func mute(_ topic: TopicPrefix, for duration: Duration, at now: Now) {
        guard duration > .zero else {
            effects.append(.reply(.done))
            if mutes.removeValue(forKey: topic) != nil { effects.append(.quietChanged) }
            return
        }
        guard mutes[topic] != nil || mutes.count < limits.mutes else {
            return refuse(.limitExceeded("mutes: \(limits.mutes) topics are muted already; unmute one with 0 seconds"))
        }
        beginMute(of: topic, until: now.uptime + duration)
        effects.append(.reply(.done))
        effects.append(.quietChanged)
    }

    private mutating func beginPause(until end: Uptime) {
        pause = QuietTime(ends: end, ticket: lifetimes.put(.pause, at: end))
    }

    private mutating func beginMute(of topic: TopicPrefix, until end: Uptime) {
        mutes[topic] = QuietTime(ends: end, ticket: lifetimes.put(.mute(topic), at: end))
    }

    mutating func pauseEnded() {
        pause = nil
        effects.append(.quietChanged)
    }

    mutating func muteEnded(_ topic: TopicPrefix) {
        mutes[topic] = nil
        effects.append(.quietChanged)
    }

    /// What an earlier run was told goes on, unless this one has been told something newer.
    mutating func restoreQuiet(_ restored: [Restoration.Quiet], at now: Now) {
        for quiet in restored where quiet.left.map({ $0 > .zero }) ?? true {
            switch (quiet.cause, quiet.left) {
            case (.paused, let left):
                guard pause == nil else { continue }
                if let left { beginPause(until: now.uptime + left) } else { pause = QuietTime(ends: nil, ticket: nil) }
            case (.muted, let left?):
                guard mutes[quiet.topic] == nil, mutes.count < limits.mutes else { continue }
                beginMute(of: quiet.topic, until: now.uptime + left)
            case (.muted, nil): continue
            }
        }
        // What ended while nothing ran is to be written and told, too.
        if !restored.isEmpty { effects.append(.quietChanged) }
    }

    /// What holds back a banner for this topic: the pause, or else the nearest mute at or above it.
    func quiet(over topic: Topic) -> Quiet? {
        if let pause { return Quiet(.all, .paused, ends: pause.ends) }
        guard !mutes.isEmpty else { return nil }
        var prefix: TopicPrefix? = TopicPrefix(topic)
        while let candidate = prefix {
            if let mute = mutes[candidate] { return Quiet(candidate, .muted, ends: mute.ends) }
            prefix = candidate.parent
        }
        return nil
    }
}
