import NotifyText

/// A call without an answer in time. The server may still show its banner later.
struct TimedOutCall {
    let key: CoalescingKey
    let call: Banner.Call
    let inFlight: SortedIDs
    /// Whether an event that it tells the server of was withdrawn or replaced since.
    var isOutdated = false
}

/// Calls to the notification server: those in flight, those that timed out, when the next is allowed, and what delayed
/// them.
struct ServerCalls {
    struct InFlight {
        let key: CoalescingKey
        /// When it was made.
        let start: Instant
    }

    private var breaker = CircuitBreaker()
    /// What has delayed banners lately.
    private(set) var delays = BannerDelays()
    private(set) var inFlight: [BannerCall: InFlight] = [:]
    private(set) var timedOut: [BannerCall: TimedOutCall] = [:]
    private var lastCall: UInt64 = 0
    /// Armed while the circuit is open.
    private(set) var cooldownTimer: Router.Timers.TimerID?
    /// Armed while the newest call is exclusive.
    private(set) var exclusiveTimer: Router.Timers.TimerID?
    private var activation = ServerActivation()
    /// Armed for the next attempt to start a server.
    private(set) var startTimer: Router.Timers.TimerID?
    /// When the server left. At first there is none.
    private var absentSince = Instant.beforeEverything
    /// When the server was found, while it is asked what it can do.
    private var foundAt: Instant?
    /// When the summary was sent.
    private var summarySent = Instant.beforeEverything

    /// Whether it is ready for banners.
    var isServerThere: Bool { breaker.isServerThere }
    /// Whether it is asked what it can do.
    var isServerFound: Bool { foundAt != nil }
    var isCircuitOpen: Bool { breaker.isOpen }
    var allowsCall: Bool { breaker.allowsCall }

    /// - Parameter isExclusive: whether the call holds back others at first.
    mutating func begin(
        for key: CoalescingKey, isExclusive: Bool, at now: Instant, timers: inout Router.Timers
    ) -> BannerCall {
        lastCall += 1
        let call = BannerCall(lastCall)
        inFlight[call] = InFlight(key: key, start: now)
        if key == .summary { summarySent = now }
        // Never cancelled by id: the call's own end makes the entry stale.
        _ = timers.schedule(.call(call), at: now + CircuitBreaker.callTimeout)
        breaker.callBegan(call, isExclusive: isExclusive)
        exclusiveTimer = isExclusive ? timers.schedule(.server, at: now + CircuitBreaker.exclusiveTime) : nil
        return call
    }

    /// - Parameter failure: `nil`: the server shows the banner.
    /// - Returns: the key of its banner, if the call was in flight.
    mutating func end(
        _ call: BannerCall, _ failure: BannerFailure?, at now: Instant, timers: inout Router.Timers
    ) -> CoalescingKey? {
        guard let ended = inFlight.removeValue(forKey: call) else { return nil }
        delays.add(failure == .noAnswer ? .failed : .busy, from: ended.start, to: now)
        if breaker.callEnded(call) { exclusiveTimer = nil }
        switch failure {
        case nil:
            breaker.callSucceeded()
            activation = ServerActivation()
            startTimer = nil
        // The server works; the next call makes a new banner.
        case .unknownBanner: breaker.callSucceeded()
        case .noAnswer: if let end = breaker.callFailed(at: now) { cooldownTimer = timers.schedule(.server, at: end) }
        case .notAsked: break
        }
        return ended.key
    }

    /// - Returns: whether to start a server now, where there is none.
    mutating func startIfDue(at now: Instant, timers: inout Router.Timers) -> Bool {
        let isDue = activation.isDue(at: now)
        if isDue { activation.attempted(at: now) }
        if startTimer == nil, let retry = activation.retry { startTimer = timers.schedule(.server, at: retry) }
        return isDue
    }

    /// Keeps a call for a late answer, and forgets the oldest one beyond the limit.
    mutating func keepTimedOut(_ call: TimedOutCall, limit: Int) {
        timedOut[call.call.id] = call
        if timedOut.count > limit, let oldest = timedOut.keys.min(by: { $0.rawValue < $1.rawValue }) {
            timedOut[oldest] = nil
        }
    }

    /// An event is withdrawn or replaced.
    ///
    /// - Parameter isShown: whether the banner shows it. Each of its calls tells the server of it then.
    mutating func markOutdated(_ key: CoalescingKey, event id: EventID, isShown: Bool) {
        for (call, late) in timedOut where late.key == key && (isShown || late.inFlight.contains(id)) {
            timedOut[call]?.isOutdated = true
        }
    }

    /// Takes in a late answer.
    ///
    /// - Returns: the call, if the server shows its banner.
    mutating func answeredLate(
        _ call: BannerCall, isShown: Bool, at now: Instant, timers: inout Router.Timers
    ) -> TimedOutCall? {
        guard let late = timedOut.removeValue(forKey: call), isShown else { return nil }
        if let end = breaker.recovered(at: now) { cooldownTimer = timers.schedule(.server, at: end) }
        return late
    }

    /// Whether one of its timers is armed.
    func arms(_ timer: Router.Timers.TimerID) -> Bool {
        timer == exclusiveTimer || timer == cooldownTimer || timer == startTimer
    }

    /// One of its timers has fired. A server is started at the end of the input, if it is due.
    mutating func fired(_ timer: Router.Timers.TimerID, at now: Instant) {
        if timer == startTimer { startTimer = nil }
        if timer == cooldownTimer { cooldownEnded(at: now) }
        guard timer == exclusiveTimer else { return }
        exclusiveTimer = nil
        if let call = breaker.exclusiveTimeEnded(), let start = inFlight[call]?.start {
            delays.add(.busy, from: start, to: now)
        }
    }

    private mutating func cooldownEnded(at now: Instant) {
        cooldownTimer = nil
        if let start = breaker.cooldownEnded() { delays.add(.resting, from: start, to: now) }
    }

    mutating func summaryDelayEnded(at now: Instant) { delays.add(.limited, from: summarySent, to: now) }

    mutating func serverFound(at now: Instant) { foundAt = now }

    mutating func serverAppeared(at now: Instant) {
        breaker.serverChanged(isThere: true)
        delays.add(.absent, from: absentSince, to: foundAt ?? now)
        if let foundAt { delays.add(.busy, from: foundAt, to: now) }
        foundAt = nil
    }

    /// Forgets all calls.
    mutating func serverVanished(at now: Instant) {
        if isCircuitOpen { cooldownEnded(at: now) }
        // The calls of a server that is gone have no answer. The oldest one covers the time of the others.
        if let start = inFlight.values.map(\.start).min() { delays.add(.busy, from: start, to: now) }
        breaker.serverChanged(isThere: false)
        absentSince = now
        foundAt = nil
        cooldownTimer = nil
        exclusiveTimer = nil
        inFlight.removeAll()
        timedOut.removeAll()
    }
}

/// When to ask the bus to start a notification server: at once when a banner is due and there is none, then with
/// exponential backoff until a server has shown a banner.
struct ServerActivation {
    static let initialBackoff: Duration = .seconds(5)
    static let maximumBackoff: Duration = .seconds(600)
    /// After so many attempts no timer is armed, so that a machine without a server can sleep.
    static let unpromptedAttempts = 6

    private var attempts = 0
    /// The earliest moment of the next attempt.
    private var next: Instant?

    /// When to try again without another input.
    var retry: Instant? { attempts < Self.unpromptedAttempts ? next : nil }

    func isDue(at now: Instant) -> Bool { next.map { $0 <= now } ?? true }

    mutating func attempted(at now: Instant) {
        let backoff = Self.initialBackoff * (1 << min(attempts, 10))
        next = now + min(backoff, Self.maximumBackoff)
        attempts += 1
    }
}

/// When each cause has delayed banners, the last time that it did.
struct BannerDelays: Sendable {
    /// From its beginning to its end without a break.
    private struct Period {
        var start: Instant
        var end: Instant

        static let none = Period(start: .beforeEverything, end: .beforeEverything)

        /// Continues the period if the new one begins before its end. Periods are added in the order of their ends.
        mutating func add(from start: Instant, to end: Instant) {
            self = Period(start: start <= self.end ? min(start, self.start) : start, end: end)
        }

        func length(since moment: Instant) -> Duration { end > moment ? end - max(start, moment) : .zero }
    }

    private var periods: [BannerDelay: Period] = [:]

    /// Adds a time in which there was a cause, now that it is over.
    mutating func add(_ cause: BannerDelay, from start: Instant, to end: Instant) {
        periods[cause, default: .none].add(from: start, to: end)
    }

    /// The cause of delay of a banner that is asked for now: the one that lasted longest since the deadline. Of several
    /// that lasted equally long it is the first of `BannerDelay`.
    ///
    /// - Parameters:
    ///   - deadline: when its event's window ended.
    ///   - isSummary: only the summary is delayed by the rate limit.
    func delay(since deadline: Instant, isSummary: Bool) -> BannerDelay? {
        var longest: (cause: BannerDelay?, length: Duration) = (nil, .zero)
        for cause in BannerDelay.allCases where cause != .limited || isSummary {
            let length = periods[cause]?.length(since: deadline) ?? .zero
            if length > longest.length { longest = (cause, length) }
        }
        return longest.cause
    }
}

extension Instant {
    /// The start of a cause that was there from the beginning.
    static let beforeEverything = Instant(microseconds: .min)
}

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
