/// Banners that are not wanted now: everything paused, or topics muted for a time. Fan-out and claims go on as ever.
extension Router {
    mutating func mute(_ topic: TopicPrefix, for duration: Duration, at now: Now) {
        guard duration > .zero else {
            for muted in mutes.keys where topic.covers(muted) {
                mutes[muted] = nil
            }
            return effects.append(.reply(.done))
        }
        guard mutes[topic] != nil || mutes.count < limits.mutes else {
            return refuse(.limitExceeded("mutes: \(limits.mutes) topics are muted already; unmute one with 0 seconds"))
        }
        mutes[topic] = lifetimes.put(.mute(topic), at: now.uptime + duration)
        effects.append(.reply(.done))
    }

    /// Whether a banner for this topic is not wanted at this moment.
    func isQuiet(_ topic: Topic) -> Bool {
        isPaused || (!mutes.isEmpty && mutes.keys.contains { $0.covers(topic) })
    }
}
