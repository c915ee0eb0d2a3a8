import GRDB
public import Routing

/// What the index keeps beside events and changes.
extension Journal {
    /// The stored pause, mutes and lifted schedules, in any order.
    public func quiet() throws(JournalError) -> [StoredQuiet] {
        if case .quietReplaced(let quiet)? = try value(at: .quiet) { quiet } else { [] }
    }

    /// The stored snoozes, in the order in which they were written.
    public func snoozes() throws(JournalError) -> [StoredSnooze] {
        if case .snoozesReplaced(let snoozes)? = try value(at: .snoozes) { snoozes } else { [] }
    }

    /// The periods of schedules that owe a digest, in any order.
    public func digests() throws(JournalError) -> [OwedDigest] {
        if case .digestsReplaced(let digests)? = try value(at: .digests) { digests } else { [] }
    }

    /// A value; `nil` if there is none, or it is damaged, which is counted.
    private func value(at key: StateKey) throws(JournalError) -> Record? {
        try read { db in try self.value(at: key, db) }
    }

    func value(at key: StateKey, _ db: Database) throws -> Record? {
        do {
            return try StateTable(db: db).value(at: key)
        } catch let error as DatabaseError {
            throw error
        } catch {
            damagedRows += 1
            return nil
        }
    }

    /// The stored claims of events that have not come yet, in the order of their ends.
    public func awaited() throws(JournalError) -> [StoredAwaited] {
        try read { db in
            try records(.awaited, db).compactMap { if case .awaited(let awaited) = $0 { awaited } else { nil } }
                .sorted { $0.end.moment.wall < $1.end.moment.wall }
        }
    }

    /// Removals of values that are remembered, so that an older value does not come back: the last one of each topic,
    /// in the order of the removals.
    public func tombstones() throws(JournalError) -> [Tombstone] { try read { db in try self.tombstones(db) } }

    func tombstones(_ db: Database) throws -> [Tombstone] {
        try records(.tombstone, db).compactMap { if case .tombstone(let tombstone) = $0 { tombstone } else { nil } }
            .sorted { $0.removal < $1.removal }
    }

    /// The undamaged records of a kind in the table `state`, in the order of their keys.
    func records(
        _ kind: Record.Code, after last: StateKey? = nil, limit: Int = .max, _ db: Database
    ) throws -> [Record] {
        try first(limit, of: StateTable(db: db).rows(kind, after: last)) { try Record(state: $0) }
    }

    // MARK: Banners

    /// The greatest number of events that are read for one banner.
    public static var eventsOfOneBanner: Int { pageLimit }

    /// Banners that are up, newest first, up to the number that a router keeps in memory.
    public func banners() throws(JournalError) -> [StoredBanner] {
        try requireReadable()
        return Array(bannersUp.values.sorted { $0.first > $1.first }.prefix(limits.retractableEvents))
    }

    /// The banner whose first event this is; `nil` if it is gone.
    public func banner(startingWith first: EventID) throws(JournalError) -> StoredBanner? {
        try requireReadable()
        return bannersUp.values.first { $0.first == first }
    }

    private func requireReadable() throws(JournalError) {
        guard isReadable else { throw failure ?? .other("the journal is closed") }
    }

    /// What a record says of banners.
    func noteBanner(_ record: Record) {
        switch record {
        case .bannerUp(let banner): bannersUp[banner.number] = banner
        case .bannerGone(let number): bannersUp[number] = nil
        case .allBannersGone: bannersUp = [:]
        default: break
        }
    }

    /// The newest events that are shown in a banner, in ascending order. What is snoozed has left it.
    public func shown(in banner: StoredBanner, limit: Int) throws(JournalError) -> [StoredEvent] {
        let snoozed = Set(try snoozes().map(\.event))
        return try read { db in
            let events = try self.events(
                db, Self.shownQuery, [Self.number(banner.first), min(limit, Self.eventsOfOneBanner) + snoozed.count])
            let shown = events.filter { $0.decision?.shownWith == banner.first && !snoozed.contains($0.id) }
            return shown.prefix(min(limit, Self.eventsOfOneBanner)).reversed()
        }
    }

    /// The first event is found by its id.
    static let shownQuery = """
        SELECT * FROM event WHERE id = ?1 AND outcome = 1
        UNION ALL SELECT * FROM event INDEXED BY event_shown_with WHERE shown_with = ?1
        ORDER BY id DESC LIMIT ?2
        """

    // MARK: Replacing

    /// The condition matches the index literally.
    static let collapsed = """
        FROM event INDEXED BY event_collapse
        WHERE collapse IS NOT NULL AND outcome BETWEEN 0 AND 9 AND topic = ? AND collapse = ?
        """

    /// The undecided or shown event that a new one with this key replaces; `nil` if there is none.
    public func replaceable(_ key: CollapseKey) throws(JournalError) -> StoredEvent? {
        try events(
            "SELECT * \(Self.collapsed) AND outcome <= 1 ORDER BY id DESC LIMIT 1", [key.topic.description, key.text]
        ).first
    }

    /// Earlier events in whose place an event comes, read or not.
    func collapsed(_ event: StoredEvent) throws(JournalError) -> [EventID] {
        try read { db in
            let statement = try db.cachedStatement(sql: "SELECT id \(Self.collapsed) AND id < ? ORDER BY id")
            return try Int64.fetchAll(
                statement, arguments: [event.topic.description, event.collapse, Self.number(event.id)]
            ).map { EventID(UInt64(bitPattern: $0)) }
        }
    }

    /// The unread muted events among the next events above an id.
    ///
    /// - Parameter limit: how many events are looked at, muted or not.
    /// - Returns: the events in the order of their ids, and the id to continue from; `nil` at the end.
    public func muted(
        after id: EventID, limit: Int
    ) throws(JournalError) -> (events: [StoredEvent], position: EventID?) {
        try read { db in
            let number = Self.bound(id)
            let last = try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT id FROM event WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"),
                arguments: [number, max(1, limit) - 1])
            let events = try self.events(
                db, "SELECT * FROM event WHERE id > ? AND id <= ? AND outcome = ? ORDER BY id",
                [number, last ?? .max, StoredDecision(outcome: .muted, resolved: 0).code])
            return (events, last.map { EventID(UInt64(bitPattern: $0)) })
        }
    }

    // MARK: Identity

    /// 32 lower-case hexadecimal digits.
    func randomSeed() -> String {
        (0..<4).map { _ in
            let digits = String(disk.random(), radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
    }

    /// Makes the journal another one, because the disk of one machine was copied to another. What it has said so far
    /// keeps its global names: those that the old number gave are written into the records.
    ///
    /// - Parameter source: the source of the events that had no global name of their own.
    public func makeNewSeed(namingEarlierEvents source: String) throws(JournalError) {
        try fold()
        let seed = randomSeed()
        try write { db in
            var writer = RecordWriter()
            for id in try Int64.fetchAll(db, sql: "SELECT id FROM event WHERE name IS NULL") {
                let row = try EventState.row(id, db)
                // A damaged row is left out when it is read, whatever its name.
                guard let row, var state = try? EventState(row) else { continue }
                state.event.origin = Self.named(state.event.origin, source, state.event.id)
                try state.write(by: EventState.insertion(db), &writer)
            }
            let changes = try Row.fetchCursor(db, sql: "SELECT * FROM change")
            for entry in try first(.max, of: changes, { try LogRecord(change: $0) }) {
                guard case .removed(var removal, let version) = entry.record, !removal.origin.isGlobalID else {
                    continue
                }
                removal.origin = Self.named(removal.origin, source, removal.id)
                try insert(LogRecord(.removed(removal, leaving: version), number: entry.number), db)
            }
            for tombstone in try tombstones(db) where !tombstone.version.origin.isGlobalID {
                let version = tombstone.version
                let named = ValueVersion(
                    published: version.published, id: version.id, origin: Self.named(version.origin, source, version.id)
                )
                let renamed = Tombstone(topic: tombstone.topic, version: named, removal: tombstone.removal)
                try StateTable(db: db).store(.tombstone(renamed))
            }
            try StateTable(db: db).store(.seed(seed))
        }
        self.seed = seed
        try checkpoint(.truncate)
    }

    private static func named(_ origin: Origin, _ source: String, _ id: EventID) -> Origin {
        Origin(source: source, eventID: id.description, via: origin.via)
    }
}
