import Journal
import Routing

/// What the daemon runs on: clocks, timers and the bus. `SystemHost` is the real one; the simulation has one that
/// injects faults.
protocol Host: AnyObject {
    // MARK: Clocks and timers

    var now: Now { get }
    /// Microseconds since the epoch.
    var wall: Int64 { get }
    /// Which boot this is; see `Expiry`.
    var boot: String { get }

    /// Each timer fires once, at the time it was armed for last.
    func armWindowTimer(at moment: Instant)
    func armLifetimeTimer(at moment: Uptime)
    /// Ends a turn at that time, for jobs.
    func armJobTimer(at moment: Instant)
    /// Calls `Daemon.updateSchedules` at this time, in microseconds since the epoch, and when the clock or the time
    /// zone is set; `nil`: not any more.
    func armWallTimer(at moment: Int64?)
    /// The time zone.
    var calendar: LocalCalendar { get }
    /// Calls `Daemon.finishTurn` when the loop is idle.
    func endTurnWhenIdle()

    // MARK: Messages

    func send(_ message: Outgoing)
    /// Messages that the bus has not taken yet.
    var queuedMessages: UInt64 { get }
    /// About how many bytes they have.
    var queuedBytes: Int { get }

    // MARK: The rest

    /// The name of a journal on this machine, from the journal's random number.
    func device(of seed: String) -> String
    /// The name of the program behind a unique name. If the bus has to be asked, `Daemon.programIdentified` is called
    /// later.
    func lookUpProgram(of claimant: String) -> ProgramDirectory.Lookup
    /// Whose limits count for a connection; see `ProgramDirectory.owner`.
    func owner(of caller: String) -> String
    /// Returns free memory and code to the system.
    func releaseMemory()
    /// Calls `Storage.namesChanged` from now on whenever a name in the state directory changes.
    func watchNames(in directory: String)
    /// Checks the file of a journal in another process. `ended` is called before this returns only if no process can
    /// be started.
    func checkIntegrity(of file: String, _ ended: @escaping (IntegrityCheck) -> Void)
    /// Runs the action of a pressed button.
    ///
    /// - Returns: why it is not run, if that is known at once.
    @discardableResult
    func run(_ action: String, of event: Event, token: String?) -> Refusal?
    /// Actions of buttons that failed.
    var failedCommands: UInt64 { get }
    /// Whether logind knows a session at a seat.
    var knowsSession: Bool { get }
    /// There are new changes on disk, for who waits for them.
    func changesCommitted()
    /// Tells the service manager of `Daemon.status`, which may have changed.
    func show(status: String)
}

/// Converts between the wall clock and the other clocks.
struct WallClock {
    /// Microseconds since the epoch.
    let wall: Int64
    let now: Now
    /// Which boot this is; see `Expiry`.
    let boot: String

    func moment(_ instant: Instant) -> Int64 { wall + instant.microseconds - now.instant.microseconds }

    func moment(_ uptime: Uptime) -> Int64 { wall + uptime.microseconds - now.uptime.microseconds }

    func expiry(_ uptime: Uptime) -> Expiry {
        Expiry(wall: moment(uptime), uptime: uptime.microseconds, boot: boot)
    }

    var reading: ClockReading { ClockReading(wall: wall, uptime: now.uptime.microseconds, boot: boot) }

    /// How long ago a stored event was accepted, by a clock that cannot be set; `nil` for events of an earlier boot.
    func age(of event: StoredEvent) -> Duration? {
        guard boot == event.expires.boot else { return nil }
        let expires = event.expires
        let uptime = event.accepted - expires.wall + expires.uptime
        return .microseconds(max(0, now.uptime.microseconds - uptime))
    }

    /// What is left of a stored event's lifetime; negative when it is over.
    func left(_ expiry: Expiry) -> Duration { expiry.left(wall: wall, uptime: now.uptime.microseconds, boot: boot) }

    /// What is left of a stored pause or mute; negative when it is over.
    func left(_ end: StoredQuiet.End) -> Duration { end.left(wall: wall, uptime: now.uptime.microseconds, boot: boot) }
}
