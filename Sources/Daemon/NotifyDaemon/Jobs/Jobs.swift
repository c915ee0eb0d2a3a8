import Routing

/// Background work. It is done in steps, one at the end of each turn, so that calls and timers are handled in between.
protocol Job: AnyObject {
    /// Whether the next step makes messages, which wait while the bus is behind.
    var needsBus: Bool { get }

    /// Does a step, if there is something to do.
    ///
    /// - Returns: after which time there is more to do; zero: in the next turn; `nil`: once something new has come.
    /// - Throws: if the journal fails. The job pauses then.
    func step(in daemon: Daemon, at clock: WallClock) throws(Refusal) -> Duration?
}

extension Job {
    var needsBus: Bool { false }
}

/// The daemon's jobs, in the order of their steps.
final class Jobs {
    /// Unsent messages from which on the bus counts as behind.
    static let queueLimit: UInt64 = 256
    /// How long a job pauses after a failure, if the journal does not work again before.
    static let failurePause: Duration = .seconds(1)

    let retry = JournalRetry()
    let recovery: Recovery
    let marks = ReadMarks()
    let forgets = ForgetQueue()
    let digests = DigestJob()
    let rescue = Rescue()
    let memory = MemoryRelease()
    private let list: [any Job]
    /// When the pauses of the jobs end, in the order of the list.
    private var pauses: [Instant?]
    /// What the timer was last armed for.
    private var timer: Instant?

    /// - Parameter recoveryPortion: what is read of earlier runs per turn.
    init(recoveryPortion: Int) {
        recovery = Recovery(portion: recoveryPortion)
        list = [retry, recovery, marks, forgets, digests, rescue, JournalWork(), memory]
        pauses = Array(repeating: nil, count: list.count)
    }

    /// Does a step of each job, after the commit of a turn.
    func step(in daemon: Daemon) {
        let clock = daemon.clock
        let now = clock.now.instant
        for (index, job) in list.enumerated() {
            let time: Duration?
            if let end = pauses[index], now < end {
                time = end - now
            } else if job.needsBus, daemon.isBusBehind {
                time = SignalQueue.pause
            } else {
                do throws(Refusal) {
                    pauses[index] = nil
                    time = try job.step(in: daemon, at: clock)
                } catch {
                    pauses[index] = now + Self.failurePause
                    time = Self.failurePause
                }
            }
            if let time { wake(daemon.host, after: time, at: now) }
        }
    }

    /// The journal works again.
    func endPauses() {
        for index in pauses.indices { pauses[index] = nil }
    }

    /// Has a turn end after a time, or earlier.
    func wake(_ host: any Host, after time: Duration, at now: Instant) {
        guard time > .zero else { return host.endTurnWhenIdle() }
        let moment = now + time
        if let timer, now < timer, timer <= moment { return }
        timer = moment
        host.armJobTimer(at: moment)
    }
}

/// Gives memory back after a recovery, whose windows have ended by then, and after work, once there is little to do.
final class MemoryRelease: Job {
    /// How often it is looked whether there is little to do, after work.
    static let interval: Duration = .seconds(10)
    /// From so many messages in that time on the daemon is busy. The next event needs again what is given back, and
    /// takes a fifth of a millisecond longer.
    static let busy = 200

    private var due: Instant?
    /// Messages since the memory was looked at last.
    private var sent = 0

    /// A recovery is over.
    func request(at moment: Instant) { (due, sent) = (moment, 0) }

    /// A turn is over that has sent these many messages.
    func noteTurn(sending count: Int, at now: Instant) {
        sent += count
        due = due ?? now + Self.interval
    }

    func step(in daemon: Daemon, at clock: WallClock) -> Duration? {
        // Queued signals end another turn.
        guard let due, daemon.outbox.signals.isEmpty else { return nil }
        guard due <= clock.now.instant else { return due - clock.now.instant }
        let isBusy = sent >= Self.busy
        (self.due, sent) = (isBusy ? clock.now.instant + Self.interval : nil, 0)
        guard !isBusy else { return Self.interval }
        daemon.releaseMemory()
        return nil
    }
}

/// How many calls of each program are under way.
struct CallCounter {
    private var counts: [String: Int] = [:]

    var isEmpty: Bool { counts.isEmpty }

    subscript(caller: String) -> Int { counts[caller] ?? 0 }

    mutating func add(_ caller: String) { counts[caller, default: 0] += 1 }

    /// Removes a call that was added.
    mutating func remove(_ caller: String) {
        guard let count = counts[caller] else { preconditionFailure("remove(_:) without add(_:)") }
        counts[caller] = count > 1 ? count - 1 : nil
    }
}
