import Journal
import Routing

/// The journal as the daemon uses it; see `Journal` for each operation.
protocol EventStore: AnyObject {
    var isOpen: Bool { get }
    var isReadable: Bool { get }
    var canDelete: Bool { get }
    var seed: String? { get }
    var count: Int { get }
    var acceptsEvents: Bool { get }
    var indexFailure: JournalError? { get }
    var isInPlace: Bool { get }
    var logState: Journal.LogState { get }
    var damagedRows: UInt64 { get }
    var setAside: Journal.SetAside? { get }
    var isChecked: Bool { get }

    func commit(_ records: [Record]) throws(JournalError)
    func reopen() throws(JournalError) -> Bool
    func abandon()
    func work() throws(JournalError) -> Duration?
    func stopWriting()
    func close()
    func beginIntegrityCheck() throws(JournalError) -> String
    func endIntegrityCheck(_ result: IntegrityCheck) throws(JournalError)
    func probe() throws(JournalError)
    func releaseMemory()

    func advance(to reading: ClockReading)
    var isRetentionDue: Bool { get }
    func expire(
        olderThan span: Duration, keeping count: Int, step: Int
    ) throws(JournalError) -> (count: Int, isOver: Bool)
    func age(of id: EventID) -> Duration

    func forget(
        _ topic: TopicPrefix, after position: Journal.UnreadPosition, upTo last: EventID, limit: Int
    ) throws(JournalError) -> (ids: [EventID], position: Journal.UnreadPosition?)
    var canScrub: Bool { get }
    func scrub() throws(JournalError) -> Bool

    func history(_ topic: TopicPrefix, after: EventID, limit: Int) throws(JournalError) -> [StoredEvent]
    func valueList(_ topic: TopicPrefix) throws(JournalError) -> [Journal.ValueEntry]
    func values(
        _ entries: ArraySlice<Journal.ValueEntry>, bytes: Int
    ) throws(JournalError) -> (events: [StoredEvent], count: Int)
    func values(_ topic: TopicPrefix) throws(JournalError) -> [StoredEvent]
    func unread(
        _ topic: TopicPrefix, after position: Journal.UnreadPosition, limit: Int
    ) throws(JournalError) -> (count: Int, position: Journal.UnreadPosition?)
    func unreadIDs(
        _ topic: TopicPrefix, after position: Journal.UnreadIDPosition, limit: Int
    ) throws(JournalError) -> (ids: [EventID], position: Journal.UnreadIDPosition?)
    func unseen(
        _ topic: TopicPrefix, after position: Journal.UnreadPosition, upTo last: EventID, limit: Int
    ) throws(JournalError) -> (events: [StoredEvent], position: Journal.UnreadPosition?)
    func holds(_ id: EventID) throws(JournalError) -> Bool
    func event(_ id: EventID) throws(JournalError) -> StoredEvent?
    func claims(on id: EventID) throws(JournalError) -> [ClaimRecord]
    func replaceable(_ key: CollapseKey) throws(JournalError) -> StoredEvent?
    func banners() throws(JournalError) -> [StoredBanner]
    func banner(startingWith first: EventID) throws(JournalError) -> StoredBanner?
    func shown(in banner: StoredBanner, limit: Int) throws(JournalError) -> [StoredEvent]
    func undecided(_ topic: TopicPrefix) throws(JournalError) -> [StoredEvent]
    func undecided(_ ids: some Sequence<EventID>) throws(JournalError) -> [StoredEvent]
    func undecidedIDs() throws(JournalError) -> [EventID]
    func quiet() throws(JournalError) -> [StoredQuiet]
    func snoozes() throws(JournalError) -> [StoredSnooze]
    func digests() throws(JournalError) -> [OwedDigest]
    func tombstones() throws(JournalError) -> [Tombstone]
    func awaited() throws(JournalError) -> [StoredAwaited]
    func newest(below id: EventID, limit: Int) throws(JournalError) -> [StoredEvent]
    func muted(
        after id: EventID, limit: Int
    ) throws(JournalError) -> (events: [StoredEvent], position: EventID?)
    func firstName(last limit: Int) throws(JournalError) -> EventID
    func named(after id: EventID, limit: Int) throws(JournalError) -> [NamedPush]
    var oldestChange: UInt64 { get }
    var newestChange: UInt64 { get }
    func changes(
        after position: Journal.ChangePosition, limit: Int, bytes: Int
    ) throws(JournalError) -> (changes: [StoredChange], position: Journal.ChangePosition?)
    func isMarkedRead(_ id: EventID) throws(JournalError) -> Bool
    func event(named origin: Origin) throws(JournalError) -> EventID?
    func lastID() throws(JournalError) -> EventID
}

extension Journal: EventStore {}

/// Where the journal is.
protocol Disk {
    /// Its name in messages.
    var name: String { get }
    /// Describes an error and, where known, its cause.
    func explanation(of error: JournalError) -> String
    func openJournal() throws(JournalError) -> any EventStore
    /// Opens a journal that cannot be written, read-only.
    func openJournalForReading() throws(JournalError) -> any EventStore
}

/// The state directory.
struct StateDirectory: Disk {
    let name: String
    private let limits: Limits

    init(_ path: String, limits: Limits) {
        name = path
        self.limits = limits
    }

    func explanation(of error: JournalError) -> String {
        guard error == .readOnly, let obstacle = WriteObstacle.description(of: name) else { return "\(error)" }
        return obstacle
    }

    func openJournal() throws(JournalError) -> any EventStore { try Journal(directory: name, limits: limits) }
    func openJournalForReading() throws(JournalError) -> any EventStore {
        try Journal(readingIn: name, limits: limits)
    }
}
