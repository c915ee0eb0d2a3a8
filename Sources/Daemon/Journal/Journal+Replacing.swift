import GRDB
public import Routing

/// Events that take the place of earlier ones: the option `collapse`.
extension Journal {
    /// The condition matches the index literally.
    static let collapsed = """
        FROM event INDEXED BY event_collapse
        WHERE collapse IS NOT NULL AND outcome BETWEEN 0 AND 9 AND topic = ? AND collapse = ?
        """

    /// The undecided or shown event that a new one with this key replaces; `nil` if there is none.
    public func replaceable(_ key: CollapseKey) throws(JournalError) -> StoredEvent? {
        try read { db in
            try self.events(
                db, "SELECT * \(Self.collapsed) AND outcome <= 1 ORDER BY id DESC LIMIT 1",
                [key.topic.description, key.text]
            ).first
        }
    }

    /// Earlier events that are muted or expired count as read, by the publisher of the later one.
    ///
    /// - Parameter entries: the entries of the transaction.
    func markReplaced(
        by event: StoredEvent, in entries: [JournalEntry], _ update: inout FastStatement, _ db: Database
    ) throws {
        let earlier = try events(
            db, "SELECT * \(Self.collapsed) AND outcome > 1 AND id < ?",
            [event.topic.description, event.collapse, Self.number(event.id)])
        for earlier in earlier {
            guard let marked = earlier.decision?.markedRead, !entries.replace(earlier.id) else { continue }
            try noteDecision(of: earlier.id, db)
            try self.update(earlier.id, marked, &update)
            try noteRead(earlier.id, by: event.sender, at: event.accepted, db)
        }
    }

    /// Whether an event of the file or of the transaction has no outcome.
    func isUndecided(_ id: EventID, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM event WHERE id = ? AND outcome = 0)")
        return try Bool.fetchOne(statement, arguments: [Self.number(id)]) ?? false
    }

    /// Notes the decision of an event, which is overwritten because a later event takes its place.
    func noteDecision(of id: EventID, _ db: Database) throws {
        guard !overwritten.keys.contains(id),
            let event = try events(db, "SELECT * FROM event WHERE id = ?", [Self.number(id)]).first
        else { return }
        overwritten[id] = .some(event.decision)
    }

    /// The later events were refused, so the earlier ones keep their decisions.
    func restoreDecisions(_ db: Database) throws {
        var update = try FastStatement(db, Self.update)
        for (id, decision) in overwritten {
            guard let decision else {
                try db.execute(
                    sql: """
                        UPDATE event SET outcome = 0, resolved = NULL, opened = NULL, deadline = NULL, claimant = NULL,
                            latency = NULL, form = NULL, banner = NULL, server = NULL, shown_with = NULL, count = NULL,
                            lateness = NULL, cause = NULL, replayed = NULL, action = NULL, program = NULL,
                            device = NULL, claim_via = NULL,
                            decided = NULL, decision_checksum = NULL
                        WHERE id = ?
                        """, arguments: [Self.number(id)])
                continue
            }
            if decision.markedRead != nil { try deleteReadMarks(of: id, db) }
            try self.update(id, decision, &update)
        }
    }
}

extension [JournalEntry] {
    /// Whether an event becomes `replaced`, as a snoozed one does.
    fileprivate func replace(_ id: EventID) -> Bool {
        contains { if case .decided(id, let decision) = $0 { decision.outcome == .replaced } else { false } }
    }
}
