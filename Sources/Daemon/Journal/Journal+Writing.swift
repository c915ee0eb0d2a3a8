import GRDB
import Routing

/// Writing: one commit in each turn of the loop.
extension Journal {
    /// Writes all entries or none. They are on disk when it returns.
    public func commit(_ entries: [JournalEntry]) throws(JournalError) {
        guard !entries.isEmpty else { return }
        replaced = [:]
        overwritten = [:]
        ended = []
        var accepted = (count: 0, last: lastAccepted)
        // Writing forgets what is recent; a failed commit leaves it so.
        var recent = self.recent
        try write(isAcknowledged: true) { db in
            var hasAwaited = false
            let statements = try self.usualStatements(db)
            var insertion = statements.inserting()
            var update = statements.updating()
            for entry in entries {
                switch entry {
                case .accepted(let event):
                    let number = try self.insert(event, &insertion, db)
                    accepted = (accepted.count + 1, max(accepted.last, Self.number(event.id)))
                    if event.collapse != nil { try self.markReplaced(by: event, in: entries, &update, db) }
                    if let number, event.collapse == nil {
                        recent?.accepted(event, number: number)
                    } else {
                        recent?.end(at: self.lastChange)
                    }
                case .decided(let id, let decision):
                    if decision.outcome == .replaced { try self.noteDecision(of: id, db) }
                    // Mostly a read mark comes after the outcome.
                    let isOutcome = try !decision.isRead || self.isUndecided(id, db)
                    let number = isOutcome ? self.takeChangeNumber() : nil
                    let written = try self.withReadMark(self.withWindow(decision, of: id, recent, db), of: id, db)
                    try self.update(id, written, number: number, &update)
                    if isOutcome, decision.isRead { try self.noteRead(id, by: "", at: decision.resolved, db) }
                    if let number, !decision.isRead {
                        recent?.decided(id, written, number: number)
                    } else {
                        recent?.end(at: self.lastChange)
                    }
                case .read(let id, let claimant, let moment, let place):
                    try self.noteRead(id, by: claimant, at: moment, from: place, db)
                    recent?.end(at: self.lastChange)
                case .awaited(let awaited):
                    try self.insert(awaited, db)
                    hasAwaited = true
                case .awaitedGone(let origin): try self.end(awaited: origin, db)
                case .awaitedReplaced(let all):
                    try self.replaceAwaited(all, db)
                    hasAwaited = hasAwaited || !all.isEmpty
                case .claimed(let id, let claim): try self.insert(claim, of: id, db)
                case .named(let claimant, let program, let id):
                    try self.name(claimant, program, on: id, &update, db)
                    recent?.end(at: self.lastChange)
                case .quietReplaced(let quiet): try self.replaceQuiet(quiet, db)
                case .snoozesReplaced(let snoozes): try self.replaceSnoozes(snoozes, db)
                case .digestsReplaced(let digests): try self.replaceDigests(digests, db)
                case .bannerUp(let banner): try self.insert(banner, db)
                case .bannerGone(let number):
                    try db.cachedStatement(sql: "DELETE FROM banner WHERE number = ?").execute(arguments: [number])
                case .allBannersGone: try db.cachedStatement(sql: "DELETE FROM banner").execute()
                case .removed(let removal, let version):
                    try self.remove(removal, leaving: version, db)
                    try self.insert(
                        ChangeRow(
                            number: self.takeChangeNumber(),
                            kind: removal.cause == .replaced ? .replaced : .removed, event: removal.id,
                            topic: removal.topic, moment: removal.removed, published: removal.published,
                            origin: removal.origin), db)
                    try self.remember(removal.id, removal.origin, removal.removed, db)
                    recent?.end(at: self.lastChange)
                case .tombstones(let tombstones): try self.insertMissing(tombstones, db)
                }
            }
            // A reader compares numbers to find out that the file is an older copy, which may lack only this claim.
            if hasAwaited {
                _ = self.takeChangeNumber()
                try self.keepLastChange(db)
                recent?.end(at: self.lastChange)
            }
        }
        replaced = [:]
        overwritten = [:]
        ended = []
        count += accepted.count
        lastAccepted = accepted.last
        isRetentionSaved = false
        self.recent = recent
        try limitLog()
    }

    static let insertion = """
        INSERT INTO event (id, topic, title, body, fields, published, sender, source, source_id, urgency, retained,
            route, coalescing, window, accepted, expires, expires_uptime, boot, collapse, appearance, via, number,
            checksum, outcome)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
        """

    static let update = """
        UPDATE event SET outcome = ?, resolved = ?, opened = ?, deadline = ?, claimant = ?, latency = ?, form = ?,
            banner = ?, server = ?, shown_with = ?, count = ?, lateness = ?, cause = ?, replayed = ?,
            action = ?, program = ?, device = ?, claim_via = ?, decided = coalesce(?, decided), decision_checksum = ?
        WHERE id = ?
        """

    /// - Returns: the number of the change; `nil` if it has a row of its own.
    private func insert(_ event: StoredEvent, _ row: inout FastStatement, _ db: Database) throws -> Int64? {
        let fields = FieldCoding.encode(event.fields)
        let appearance = event.appearance.isEmpty ? nil : FieldCoding.encode(event.appearance)
        row.bind(Self.number(event.id))
        row.bind(event.topic.description)
        row.bind(event.title)
        row.bind(event.body)
        row.bind(fields)
        row.bind(event.published)
        row.bind(event.sender)
        row.bind(event.origin.source)
        row.bind(event.origin.eventID)
        row.bind(event.urgency.map { Int64($0.rawValue) })
        row.bind(event.retained ? 1 : 0)
        row.bind(event.route)
        row.bind(event.key)
        row.bind(event.window)
        row.bind(event.accepted)
        row.bind(event.expires.wall)
        row.bind(event.expires.uptime)
        row.bind(event.expires.boot)
        row.bind(event.collapse)
        row.bind(appearance)
        row.bind(event.origin.via)
        let isLate = Self.number(event.id) < newestID
        let number = isLate ? nil : takeChangeNumber()
        row.bind(number)
        row.bind(event.checksum(fields: fields, appearance: appearance))
        try row.run()
        if isLate { try noteLate(event, db) } else { newestID = Self.number(event.id) }
        guard event.retained else { return number }
        let topic = event.topic.description
        if replaced[event.topic] == nil {
            replaced[event.topic] = try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT event FROM value WHERE topic = ?"), arguments: [topic])
        }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO value (topic, event) VALUES (?, ?)")
            .execute(arguments: [topic, Self.number(event.id)])
        return number
    }

    /// - Parameter number: the number of the change; `nil` if the outcome stays.
    func update(
        _ id: EventID, _ decision: StoredDecision, number: Int64? = nil, _ row: inout FastStatement
    ) throws {
        row.bind(Int64(decision.code))
        row.bind(decision.resolved)
        row.bind(decision.opened)
        row.bind(decision.deadline)
        row.bind(decision.claimant)
        row.bind(decision.latency)
        row.bind(decision.form?.rawValue)
        row.bind(decision.banner.map { Int64($0) })
        row.bind(decision.server)
        row.bind(decision.shownWith.map { Self.number($0) })
        row.bind(decision.count.map { Int64($0) })
        row.bind(decision.lateness)
        row.bind(decision.cause)
        row.bind(decision.isReplayed ? decision.isOfEarlierBoot ? 2 : 1 : 0)
        row.bind(decision.action)
        row.bind(decision.program)
        row.bind(decision.place.device)
        row.bind(decision.place.via)
        row.bind(number)
        row.bind(decision.checksum(of: id))
        row.bind(Self.number(id))
        try row.run()
    }

    /// The greatest number of claim steps of an event; later steps are dropped. The deciding claim is part of the decision.
    public static var claimsOfOneEvent: Int { 32 }

    /// The event may have been forgotten since it was claimed.
    private func insert(_ claim: ClaimRecord, of id: EventID, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO claim (event, number, claimant, latency, form, verdict, program, checksum)
                SELECT ?1, count(*), ?2, ?3, ?4, ?5, ?6, ?7 FROM claim WHERE event = ?1
                HAVING count(*) < ?8 AND EXISTS (SELECT 1 FROM event WHERE id = ?1)
                """)
        let values: [(any DatabaseValueConvertible)?] = [
            Self.number(id), claim.claimant, claim.storedLatency, claim.form.rawValue, claim.verdict.rawValue,
            claim.program, claim.checksum(of: id), Self.claimsOfOneEvent,
        ]
        try statement.execute(arguments: StatementArguments(values))
    }

    private func remove(_ removal: StoredRemoval, leaving version: ValueVersion?, _ db: Database) throws {
        try noteRemoval(Self.number(removal.id), db)
        guard let version else { return }
        try db.cachedStatement(sql: "DELETE FROM value WHERE topic = ?").execute(arguments: [removal.topic.description])
        try insert(Tombstone(topic: removal.topic, version: version, removal: removal.id), db)
    }

    func noteRemoval(_ id: Int64, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO last_removal (number, id) VALUES (1, ?)")
            .execute(arguments: [id])
    }

    /// Stores the global id of a removal, and deletes ids that are too old or too many.
    private func remember(_ id: EventID, _ origin: Origin, _ accepted: Int64, _ db: Database) throws {
        guard let source = origin.source, let name = origin.eventID else { return }
        try insertGlobalID(id, source, name, accepted: accepted, db)
        let isFull = removals >= limits.globalIDs
        try db.cachedStatement(
            sql: """
                DELETE FROM removal WHERE id IN (SELECT id FROM removal WHERE id <= ? ORDER BY id LIMIT 2)
                """
        ).execute(arguments: [isFull ? Self.number(id) - 1 : newestID(olderThan: limits.deduplicationTime)])
        removals += 1 - db.changesCount
    }

    func insertGlobalID(_ id: EventID, _ source: String, _ name: String, accepted: Int64, _ db: Database) throws {
        let origin = Origin(source: source, eventID: name)
        try db.cachedStatement(
            sql: "INSERT INTO removal (id, source, source_id, accepted, checksum) VALUES (?, ?, ?, ?, ?)"
        ).execute(
            arguments: [
                Self.number(id), source, name, accepted, origin.checksum(of: id, accepted: accepted),
            ])
    }
}
