import Journal
import NotifyTestSupport
import Routing

@testable import NotifyDaemon

/// What is on the disk, with everything that can go wrong with one. It outlives the daemon.
final class SimulatedDisk: Disk {
    /// What digests may report, once each.
    var heldBack: Set<HeldBack> = []

    /// An event that was held back. One that was snoozed may be held back again, by a later period with another digest.
    struct HeldBack: Hashable {
        let event: EventID
        let digest: EventID
    }

    enum Condition {
        case well
        /// So many entries still fit.
        case full(room: Int)
        /// Nothing can be read or written.
        case broken
        /// The next commit fails, and nobody can say whether it is on the disk.
        case failsOnce
        /// The next commit is on the disk, and its error says that it is not.
        case lies
    }

    /// What `Changes` lists.
    enum Change {
        case accepted(EventID)
        case decided(EventID)
        case read(EventID, by: String, at: Int64, from: ClaimPlace)
        case removed(StoredRemoval)
        case start(last: UInt64)

        var id: EventID? {
            switch self {
            case .accepted(let id), .decided(let id), .read(let id, by: _, at: _, from: _): id
            case .removed(let removal): removal.id
            case .start: nil
            }
        }
    }

    /// The tables of the journal.
    struct Contents {
        var events: [EventID: StoredEvent] = [:]
        /// In ascending order.
        var ids: [EventID] = []
        var claims: [EventID: [ClaimRecord]] = [:]
        var values: [Topic: EventID] = [:]
        var lastRemoval = EventID(0)
        var quiet: [StoredQuiet] = []
        var snoozes: [StoredSnooze] = []
        var digests: [OwedDigest] = []
        /// Claims by name of what has not come yet.
        var awaited: [Origin: StoredAwaited] = [:]
        /// Those that were read, and kept their outcomes.
        var readMarks: Set<EventID> = []
        /// Those that are up, by their numbers.
        var banners: [UInt32: StoredBanner] = [:]
        /// Those that were deleted by `Forget`.
        var forgotten: Set<EventID> = []
        /// Those that were named.
        var removals: [NamedPush] = []
        var tombstones: [Topic: Tombstone] = [:]
        /// In the order of their numbers.
        var changes: [(number: UInt64, change: Change)] = []
        /// The numbers of the present outcomes.
        var decided: [EventID: UInt64] = [:]
    }

    /// What new events leave free for outcomes.
    private static let reserve = 15

    let name = "a simulated disk"
    var contents = Contents()
    var condition = Condition.well
    private var random: SplitMix64
    /// How many events are deleted in a transaction, at most.
    var forgetPortion = Int.max
    /// The run of the daemon that has the disk now: what an earlier one would still do has no effect.
    var life = Life()
    /// Called for what changes an outcome in a way that no outcome may change.
    var onFault: (String) -> Void = { _ in }
    var onWrite: () -> Void = {}
    var onRead: () -> Void = {}
    /// The wall clock, in microseconds since the epoch.
    var wall: () -> Int64 = { 0 }
    var trace: ((String) -> Void)?

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
    }

    var isWell: Bool { if case .well = condition { true } else { false } }

    func explanation(of error: JournalError) -> String { "\(error)" }

    func openJournal() throws(JournalError) -> any EventStore {
        if case .broken = condition { throw .inputOutput }
        return SimulatedStore(disk: self)
    }

    func openJournalForReading() throws(JournalError) -> any EventStore {
        if case .broken = condition { throw .inputOutput }
        return SimulatedStore(disk: self, isOpen: false)
    }

    var hasRoomForEvents: Bool {
        guard case .full(let room) = condition else { return true }
        return room > Self.reserve
    }

    /// Has a transaction written: all of it, or nothing.
    ///
    /// - Parameters:
    ///   - cost: how much of the room it takes.
    ///   - transaction: makes the changes, if they reach the disk; that they did is not a reason for success to be
    ///   reported.
    func write(cost: Int, _ transaction: (inout Contents) -> Void) throws(JournalError) {
        onWrite()
        switch life.act() {
        case .done: break
        case .interrupted:
            if random.chance(50) { transaction(&contents) }
            return
        case .over: return
        }
        switch condition {
        case .well: transaction(&contents)
        case .full(let room):
            guard room >= cost else { throw .diskFull }
            condition = .full(room: room - cost)
            transaction(&contents)
        case .broken: throw .inputOutput
        case .failsOnce:
            condition = .well
            if random.chance(50) { transaction(&contents) }
            throw .inputOutput
        case .lies:
            condition = .well
            transaction(&contents)
            throw .inputOutput
        }
    }
}

/// One run of the daemon, which can end between any two of the things it does to the world.
final class Life {
    enum Act { case done, interrupted, over }

    private(set) var isOver = false
    /// How many acts are left; `nil` for as many as there may be.
    var actsLeft: Int?

    func act() -> Act {
        guard !isOver else { return .over }
        guard let left = actsLeft else { return .done }
        actsLeft = left - 1
        if left > 0 { return .done }
        isOver = true
        return .interrupted
    }

    func end() { isOver = true }
}
