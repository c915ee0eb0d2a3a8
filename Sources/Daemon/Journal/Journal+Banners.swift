import GRDB
public import Routing

/// The banners that are up. A later run reads them.
extension Journal {
    /// The greatest number of events that are read for one banner.
    public static var eventsOfOneBanner: Int { pageLimit }

    /// Banners that are up, newest first, up to the number that a router keeps in memory.
    public func banners() throws(JournalError) -> [StoredBanner] {
        try read { db in
            let rows = try Row.fetchCursor(db, sql: Self.bannersQuery, arguments: [limits.retractableEvents])
            return try first(.max, of: rows) { try RowReader($0).banner() }
        }
    }

    static let bannersQuery = "SELECT * FROM banner ORDER BY first DESC LIMIT ?"

    /// The banner whose first event this is; `nil` if it is gone.
    public func banner(startingWith first: EventID) throws(JournalError) -> StoredBanner? {
        try read { db in
            let rows = try Row.fetchCursor(
                db, sql: "SELECT * FROM banner WHERE first = ?", arguments: [Self.number(first)])
            return try self.first(1, of: rows) { try RowReader($0).banner() }.first
        }
    }

    /// The newest events that are shown in a banner, in ascending order. What is snoozed has left it.
    public func shown(in banner: StoredBanner, limit: Int) throws(JournalError) -> [StoredEvent] {
        try read { db in
            let rows = try Row.fetchCursor(
                db.cachedStatement(sql: Self.shownQuery),
                arguments: [Self.number(banner.first), min(limit, Self.eventsOfOneBanner)])
            return try first(.max, of: rows) { try RowReader($0).event() }.reversed()
        }
    }

    static let shownQuery = """
        SELECT * FROM event WHERE outcome = 1 AND shown_with = ? AND id NOT IN (SELECT event FROM snooze)
        ORDER BY id DESC LIMIT ?
        """

    /// The number of banners between two applications of their limit.
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
        // Some servers never report that a banner is gone.
        try db.execute(
            sql: "DELETE FROM banner WHERE number IN (SELECT number FROM banner ORDER BY first DESC LIMIT -1 OFFSET ?)",
            arguments: [limits.retractableEvents])
    }

    /// A later decision keeps the window that the first one stored. The clocks may have changed since.
    func withWindow(
        _ decision: StoredDecision, of id: EventID, _ recent: RecentChanges?, _ db: Database
    ) throws -> StoredDecision {
        guard decision.followsShown else { return decision }
        let event =
            try recent?.event(id) ?? events(db, "SELECT * FROM event WHERE id = ?", [Self.number(id)]).first
        guard let shown = event?.decision else { return decision }
        return decision.following(shown)
    }
}
