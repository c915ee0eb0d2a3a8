@testable import Routing

/// The clocks, and the timer as the router asked for it.
extension ModelRunner {
    var moment: Now {
        Now(instant: Instant(microseconds: now), uptime: Uptime(microseconds: now + slept))
    }

    /// When the router asked to be woken, on the clock of this runner.
    var nextArmed: Int64? {
        [armed?.microseconds, armedLifetime.map { $0.microseconds - slept }].compactMap { $0 }.min()
    }

    private var nextDueOfReference: Int64? {
        let due = reference.nextDue
        return [due.instant?.microseconds, due.uptime.map { $0.microseconds - slept }].compactMap { $0 }.min()
    }

    mutating func advance(by time: Int64) throws(Disagreement) {
        let end = now + time
        while let due = [nextArmed, nextDueOfReference].compactMap({ $0 }).min(), due <= end {
            now = max(now, due)
            try fire()
        }
        now = end
    }

    /// What the router did not ask to be woken for, it must not have to do.
    mutating func fire() throws(Disagreement) {
        if let due = nextDueOfReference, due <= now, nextArmed.map({ $0 > now }) ?? true {
            throw Disagreement(step: step, description: "something is due, and the router has not asked for its timer")
        }
        if let armed, armed <= moment.instant { self.armed = nil }
        if let armedLifetime, armedLifetime <= moment.uptime { self.armedLifetime = nil }
        try both(.timerFired)
        if let due = nextArmed, due <= now {
            throw Disagreement(step: step, description: "the timer was set to a moment that is over")
        }
        try serve()
    }
}
