import GRDB
public import Routing

/// Banners that are up, so that a later run still knows them.
extension Journal {
    /// The most events that are read of one banner.
    public static var eventsOfOneBanner: Int { pageLimit }

    /// Banners that are up, newest first; so many as a router keeps in memory.
    public func banners() throws(JournalError) -> [StoredBanner] {
        try read { db in
            let rows = try Row.fetchCursor(db, sql: Self.bannersQuery, arguments: [limits.retractableEvents])
            return try first(.max, of: rows) { try RowReader($0).banner() }
        }
    }

    static let bannersQuery = "SELECT * FROM banner ORDER BY first DESC LIMIT ?"

    /// The banner that an event was the first to be shown in; `nil` where it is gone.
    public func banner(startingWith first: EventID) throws(JournalError) -> StoredBanner? {
        try read { db in
            let rows = try Row.fetchCursor(
                db, sql: "SELECT * FROM banner WHERE first = ?", arguments: [Self.number(first)])
            return try self.first(1, of: rows) { try RowReader($0).banner() }.first
        }
    }

    /// The newest events that are shown in a banner, in ascending order.
    public func shown(in banner: StoredBanner, limit: Int) throws(JournalError) -> [StoredEvent] {
        try read { db in
            let rows = try Row.fetchCursor(
                db.cachedStatement(sql: Self.shownQuery),
                arguments: [Self.number(banner.first), min(limit, Self.eventsOfOneBanner)])
            return try first(.max, of: rows) { try RowReader($0).event() }.reversed()
        }
    }

    static let shownQuery = "SELECT * FROM event WHERE outcome = 1 AND shown_with = ? ORDER BY id DESC LIMIT ?"

    /// How many banners are written between two looks at how many there are.
    private static var limitInterval: Int { 128 }

    func insert(_ banner: StoredBanner, _ db: Database) throws {
        let values: [(any DatabaseValueConvertible)?] = [
            banner.number, banner.server, Self.number(banner.first), banner.isSummary ? 1 : 0, banner.checksum,
        ]
        try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO banner (number, server, first, summary, checksum) VALUES (?, ?, ?, ?, ?)"
        ).execute(arguments: StatementArguments(values))
        bannersSinceLimit += 1
        guard bannersSinceLimit >= Self.limitInterval else { return }
        bannersSinceLimit = 0
        // A server that never says that a banner is gone fills no disk.
        try db.execute(
            sql: "DELETE FROM banner WHERE number IN (SELECT number FROM banner ORDER BY first DESC LIMIT -1 OFFSET ?)",
            arguments: [limits.retractableEvents])
    }

    /// A decision that follows another says nothing of the window: it keeps what the first one said, exactly, whatever has
    /// become of the clocks.
    func withWindow(_ decision: StoredDecision, of id: EventID, _ db: Database) throws -> StoredDecision {
        guard decision.opened == nil, decision.outcome == .retracted || decision.outcome == .dismissed else {
            return decision
        }
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT opened, deadline, replayed FROM event WHERE id = ?"),
            arguments: [Self.number(id)])
        guard let row = try rows.next() else { return decision }
        var decision = decision
        decision.opened = Int64.fromDatabaseValue(row["opened"])
        decision.deadline = Int64.fromDatabaseValue(row["deadline"])
        decision.isReplayed = Int64.fromDatabaseValue(row["replayed"]) == 1
        return decision
    }
}
