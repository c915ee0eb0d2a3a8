/// A circuit breaker for calls to the notification server.
///
/// Calls are allowed while there is a server, a few at a time. After three failures in a row the circuit is open for a
/// cooldown; then a single call probes the server.
///
/// A call has the server to itself until it is answered, for at most `exclusiveTime`. So a crash of the daemon repeats
/// at most one banner: the one that was asked for and not yet written down. A slow server still gets its few calls at a
/// time. Without a banner limit calls are not exclusive: each write to the disk would allow only one banner.
struct CircuitBreaker {
    static let maximumInFlight = 4
    /// How long an unanswered call holds back the next one.
    static let exclusiveTime: Duration = .milliseconds(100)
    static let failureThreshold = 3
    static let cooldown: Duration = .seconds(30)
    /// What is left of the cooldown after a late answer, for the other late answers to arrive.
    static let drainTime: Duration = .milliseconds(100)
    /// How long an answer is awaited.
    static let callTimeout: Duration = .seconds(5)

    private(set) var isServerThere = false
    private var inFlight = 0
    /// The newest call, while it holds others back.
    private var exclusiveCall: BannerCall?
    private var failures = 0
    private var openUntil: Instant?
    /// When the circuit was opened for the first time since the server last worked.
    private var openSince: Instant?

    /// Whether the cooldown is running.
    var isOpen: Bool { openUntil != nil }

    var allowsCall: Bool {
        isServerThere && openUntil == nil && exclusiveCall == nil
            && inFlight < (failures >= Self.failureThreshold ? 1 : Self.maximumInFlight)
    }

    mutating func serverChanged(isThere: Bool) {
        self = CircuitBreaker()
        isServerThere = isThere
    }

    mutating func callBegan(_ call: BannerCall, isExclusive: Bool) {
        inFlight += 1
        exclusiveCall = isExclusive ? call : nil
    }

    /// - Returns: whether the call held others back until now.
    mutating func callEnded(_ call: BannerCall) -> Bool {
        inFlight -= 1
        guard exclusiveCall == call else { return false }
        exclusiveCall = nil
        return true
    }

    /// - Returns: the call that held others back until now.
    mutating func exclusiveTimeEnded() -> BannerCall? { exclusiveCall.take() }

    /// A circuit that is open stays so until its cooldown ends.
    mutating func callSucceeded() {
        failures = 0
        if !isOpen { openSince = nil }
    }

    /// - Returns: when the cooldown ends, if this failure opens the circuit.
    mutating func callFailed(at now: Instant) -> Instant? {
        failures += 1
        guard failures >= Self.failureThreshold else { return nil }
        openUntil = now + Self.cooldown
        openSince = openSince ?? now
        return openUntil
    }

    /// A late answer arrived: the server works again. The circuit stays open for `drainTime`, so that banners whose
    /// late answers arrive now are not asked for twice.
    ///
    /// - Returns: when the cooldown ends, if one is running.
    mutating func recovered(at now: Instant) -> Instant? {
        callSucceeded()
        openUntil = openUntil.map { min($0, now + Self.drainTime) }
        return openUntil
    }

    /// - Returns: since when banners have waited for a cooldown. A probe that fails does not interrupt that.
    mutating func cooldownEnded() -> Instant? {
        openUntil = nil
        defer { if failures == 0 { openSince = nil } }
        return openSince
    }
}

/// Limits how many banners appear within a second; the rest are folded into the summary. A sliding-window rate limiter.
///
/// Within a second `limit` banners may appear. A fifth of them, at least one, is reserved for senders without a banner
/// in that second, so that a storm by one sender does not hide another's banner.
struct RateLimiter {
    static let period: Duration = .seconds(1)

    private var recent: [(at: Instant, sender: String)] = []

    mutating func admit(sender: String, limit: Int, at now: Instant) -> Bool {
        guard limit > 0 else { return true }
        recent.removeAll { $0.at + Self.period <= now }
        let isNewSender = !recent.contains { $0.sender == sender }
        let reserve = min(limit - 1, max(1, limit / 5))
        guard recent.count < (isNewSender ? limit : limit - reserve) else { return false }
        recent.append((now, sender))
        return true
    }
}
