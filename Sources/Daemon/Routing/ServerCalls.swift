/// A call without an answer in time. The server may still show its banner later.
struct TimedOutCall {
    let key: CoalescingKey
    let call: Banner.Call
    let inFlight: SortedIDs
}

/// Calls to the notification server: those in flight, those that timed out, when the next is allowed, and what delayed them.
struct ServerCalls {
    private var breaker = CircuitBreaker()
    /// What has delayed banners lately.
    private(set) var delays = BannerDelays()
    private(set) var inFlight: [BannerCall: CoalescingKey] = [:]
    private(set) var timedOut: [BannerCall: TimedOutCall] = [:]
    private var lastCall: UInt64 = 0
    /// Armed while the circuit is open.
    private(set) var cooldownTimer: Router.Timers.TimerID?
    /// Armed while the newest call is exclusive.
    private(set) var exclusiveTimer: Router.Timers.TimerID?

    var isServerThere: Bool { breaker.isServerThere }
    var isCircuitOpen: Bool { breaker.isOpen }
    var allowsCall: Bool { breaker.allowsCall }

    /// - Parameter isExclusive: whether the call holds back others at first.
    mutating func begin(
        for key: CoalescingKey, isExclusive: Bool, at now: Instant, timers: inout Router.Timers
    ) -> BannerCall {
        lastCall += 1
        let call = BannerCall(lastCall)
        inFlight[call] = key
        // Never cancelled by id: the call's own end makes the entry stale.
        _ = timers.schedule(.call(call), at: now + CircuitBreaker.callTimeout)
        breaker.callBegan(call, isExclusive: isExclusive)
        exclusiveTimer = isExclusive ? timers.schedule(.exclusiveTime, at: now + CircuitBreaker.exclusiveTime) : nil
        return call
    }

    /// - Returns: the key of its banner, if the call was in flight.
    mutating func end(_ call: BannerCall, at now: Instant) -> CoalescingKey? {
        guard let key = inFlight.removeValue(forKey: call) else { return nil }
        delays.ended(.busy, at: now)
        if breaker.callEnded(call) { exclusiveTimer = nil }
        return key
    }

    mutating func succeeded() { breaker.callSucceeded() }

    mutating func failed(at now: Instant, timers: inout Router.Timers) {
        delays.ended(.failed, at: now)
        if let end = breaker.callFailed(at: now) { cooldownTimer = timers.schedule(.cooldown, at: end) }
    }

    /// Keeps a call for a late answer, and forgets the oldest one beyond the limit.
    mutating func keepTimedOut(_ call: TimedOutCall, limit: Int) {
        timedOut[call.call.id] = call
        if timedOut.count > limit, let oldest = timedOut.keys.min(by: { $0.rawValue < $1.rawValue }) {
            timedOut[oldest] = nil
        }
    }

    mutating func forgetTimedOut(_ call: BannerCall) { timedOut[call] = nil }

    /// Takes in a late answer.
    mutating func answeredLate(_ call: BannerCall, at now: Instant, timers: inout Router.Timers) -> TimedOutCall? {
        guard let late = timedOut.removeValue(forKey: call) else { return nil }
        if let end = breaker.recovered(at: now) { cooldownTimer = timers.schedule(.cooldown, at: end) }
        return late
    }

    mutating func exclusiveTimeEnded(at now: Instant) {
        exclusiveTimer = nil
        breaker.exclusiveTimeEnded()
        delays.ended(.busy, at: now)
    }

    mutating func cooldownEnded(at now: Instant) {
        cooldownTimer = nil
        breaker.cooldownEnded()
        delays.ended(.resting, at: now)
    }

    mutating func summaryDelayEnded(at now: Instant) { delays.ended(.limited, at: now) }

    mutating func serverAppeared(at now: Instant) {
        breaker.serverChanged(isThere: true)
        delays.ended(.absent, at: now)
    }

    /// Forgets all calls.
    mutating func serverVanished() {
        breaker.serverChanged(isThere: false)
        cooldownTimer = nil
        exclusiveTimer = nil
        inFlight.removeAll()
        timedOut.removeAll()
    }
}
