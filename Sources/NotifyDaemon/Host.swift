import Journal
import Routing

/// What the daemon runs on: the clocks, the loop's timers and the bus. In earnest that is `SystemHost`; in the simulation
/// it is a machine with every fault. What the daemon does is the same code in both.
protocol Host: AnyObject {
    /// A reply or a signal that is ready to leave.
    associatedtype Message
    /// A call that waits for its reply.
    associatedtype Call

    // MARK: Clocks and timers

    var now: Now { get }
    /// Microseconds since the epoch.
    var wall: Int64 { get }
    /// Which boot this is; see `Expiry`.
    var boot: String { get }

    /// Each timer goes off once, at the moment that was asked for last.
    func armWindowTimer(at moment: Instant)
    func armLifetimeTimer(at moment: Uptime)
    func armRetryTimer(at moment: Instant)
    /// Has a turn end at that moment, for what was put off till then.
    func armRecoveryTimer(at moment: Instant)
    /// Has `Daemon.turnIsOver` called when there is nothing else to do.
    func endTurnWhenIdle()

    // MARK: Messages

    func reply(_ reply: Reply, to call: Call) -> Message
    func refusal(_ refusal: Refusal, of call: Call) -> Message
    func announcement(_ event: Event, _ announcement: Announcement) -> Message
    func resolution(_ id: EventID, _ topic: Topic, _ resolution: Resolution) -> Message
    func removal(_ topic: Topic, _ id: EventID) -> Message
    func action(_ event: Event, _ action: String) -> Message
    func send(_ message: Message)
    /// How many of them the bus has not taken yet.
    var queuedMessages: UInt64 { get }
    /// About how many bytes those are.
    var queuedBytes: Int { get }

    // MARK: The rest

    /// What people call the program behind a unique name. Where that has to be found out, `Daemon.programFound` is called
    /// afterwards.
    func findProgram(of claimant: String) -> ProgramDirectory.Finding
    /// Gives memory that is free back to the system.
    func releaseMemory()
    /// Has the file of a journal looked at, and tells what was found; before the call returns only where nobody can look.
    func examine(_ file: String, _ ended: @escaping (Examination) -> Void)
    /// Does what the event's route wants done when a button is pressed.
    func run(_ action: String, of event: Event, token: String?)
    /// How often what a button stands for could not be done.
    var failedCommands: UInt64 { get }
    /// The property `Degraded` has another value.
    func degradationChanged()
    func defaultWindowChanged()
    /// The property `Quiet` has another value, and perhaps `Paused` too.
    func quietChanged(isPauseChanged: Bool)
    /// Whether it is known of a session whether somebody may be looking at it.
    var knowsSession: Bool { get }
    /// `Daemon.status` may be another.
    func statusChanged()
}
