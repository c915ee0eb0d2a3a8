/// A reading of the machine's clocks.
public struct ClockReading: Sendable, Equatable {
    /// Microseconds since the epoch. The user can set this clock.
    public var wall: Int64
    /// Microseconds of CLOCK_BOOTTIME, which counts suspended time too.
    public var uptime: Int64
    /// The boot: `/proc/sys/kernel/random/boot_id`.
    public var boot: String

    public init(wall: Int64, uptime: Int64, boot: String) {
        self.wall = wall
        self.uptime = uptime
        self.boot = boot
    }
}

/// The least time that has passed since the journal was created. Events are deleted by this age.
///
/// Within a boot only CLOCK_BOOTTIME counts. Only the wall clock knows the time between two boots; it counts after the
/// wall clock and CLOCK_BOOTTIME have agreed for an hour. In doubt, events stay longer:
///
/// - A wall clock that jumps ahead or back within a boot changes nothing.
/// - One that is wrong at a boot and is corrected within the hour changes nothing.
/// - One that was ahead for longer hides as much of the times between later boots as it was ahead.
/// - One that is behind what the journal has seen does not count.
///
/// No rule tells a clock that is ahead from its boot on, and stays so, from a machine that was off for that long.
public struct RetentionClock: Sendable, Equatable {
    /// How long the two clocks must agree before the wall clock counts.
    static let settling: Int64 = 3_600_000_000
    /// The difference that two agreeing readings may have: a leap second, or a clock that is slewed.
    static let tolerance: Int64 = 60_000_000

    /// The state that survives a restart.
    public struct State: Sendable, Equatable {
        /// The least time that has passed, in microseconds.
        var age: Int64 = 0
        /// The last reading of CLOCK_BOOTTIME, and the boot it belongs to.
        var uptime: Int64 = 0
        var boot = ""
        /// The most by which a wall clock that had settled was ahead of `age`; `nil` before one has.
        var lead: Int64?
        /// Whether the time before this boot has been counted, or there is none.
        var isAbsenceCounted = true
    }

    private(set) var state: State
    /// Since when, on CLOCK_BOOTTIME, the wall clock goes along with it, and how far the two are apart.
    private var agreement: (distance: Int64, since: Int64)?

    init(_ state: State = State()) {
        self.state = state
    }

    var age: Int64 { state.age }

    /// - Parameter earliest: a time in the past, in microseconds since the epoch. A wall clock before it is wrong.
    mutating func advance(to reading: ClockReading, notBefore earliest: Int64 = .min) {
        if reading.boot == state.boot {
            state.age += max(0, reading.uptime - state.uptime)
        } else {
            state.boot = reading.boot
            state.isAbsenceCounted = state.lead == nil
            agreement = nil
        }
        state.uptime = reading.uptime
        let distance = reading.wall - reading.uptime
        guard let agreement, abs(distance - agreement.distance) <= Self.tolerance else {
            agreement = (distance, reading.uptime)
            return
        }
        guard reading.uptime - agreement.since >= Self.settling, reading.wall >= earliest else { return }
        // A slewed clock drifts slowly.
        self.agreement?.distance = distance
        if let lead = state.lead, !state.isAbsenceCounted {
            state.age += max(0, reading.wall - state.age - lead)
        }
        state.isAbsenceCounted = true
        state.lead = max(state.lead ?? .min, reading.wall - state.age)
    }

    public static func == (left: RetentionClock, right: RetentionClock) -> Bool { left.state == right.state }
}

/// The newest event at several ages of the journal. Ids grow in the order of arrival, so the age of an event lies
/// between those of two marks, whatever its time of acceptance says.
public struct RetentionMarks: Sendable, Equatable {
    public struct Mark: Sendable, Equatable {
        var id: Int64
        /// On a `RetentionClock`.
        var age: Int64
    }

    /// The distance between marks, in microseconds.
    static let spacing: Int64 = 3_600_000_000

    /// In ascending order of ids and of ages.
    private(set) var marks: [Mark]

    init(_ marks: [Mark] = []) {
        self.marks = []
        for mark in marks.sorted(by: { $0.id < $1.id }) { add(mark) }
    }

    func isDue(at age: Int64) -> Bool { marks.last.map { age - $0.age >= Self.spacing } ?? true }

    /// Leaves out marks that contradict earlier ones.
    mutating func add(_ mark: Mark) {
        if let last = marks.last, mark.id <= last.id || mark.age < last.age { return }
        marks.append(mark)
    }

    /// The newest id that certainly arrived at this age or before; 0 if there is none.
    func newestID(notAfter age: Int64) -> Int64 { marks.last { $0.age <= age }?.id ?? 0 }

    /// The latest age at which an event can have arrived; `nil` if it arrived after the last mark.
    func age(of id: Int64) -> Int64? { marks.first { $0.id >= id }?.age }

    /// Removes marks that are not needed once all events older than `age` are deleted.
    mutating func prune(notAfter age: Int64) {
        guard let last = marks.lastIndex(where: { $0.age <= age }) else { return }
        marks.removeFirst(last)
    }
}
