import Journal
import Logging
import Routing

/// Collects the entries of a turn and commits them once. If that fails, no event of the turn is acknowledged. Events
/// accepted before are still decided and shown; while the journal cannot be written, their outcomes are kept in
/// memory, and reads add them to what the journal has.
final class Storage {
    /// Events rewritten per transaction.
    private static let rewrittenAtOnce = 500
    /// Accepted events between two checks for expired ones.
    private static let expiryInterval = 500

    /// Entries kept in memory that are written per transaction.
    private static let keptAtOnce = 256

    /// Entries for which a turn has memory from the beginning.
    private static let reservedEntries = 64

    /// Batches of old events that a retry deletes to make room.
    private static let expiryBatches = 5

    /// Why the journal cannot be written, or takes no new events; empty while all is well.
    private(set) var degradation = ""
    /// Called when that changes.
    var onDegradation: (String) -> Void = { _ in }

    /// The number of undecided events, and the bytes that they take.
    var undecidedSize: () -> (events: Int, bytes: Int) = { (0, 0) }

    /// How long decided events stay. A change applies at the end of the turn.
    var retention = Retention() {
        didSet { if retention != oldValue { sinceExpiry = Self.expiryInterval } }
    }

    let disk: any Disk
    private let logger: Logger
    private(set) var journal: (any EventStore)?
    /// Entries of one transaction. A turn with more of them, such as the claim of all events, has several.
    static let usualPortion = 4096

    private let portion: Int
    private var pending: [JournalEntry] = []
    /// About the bytes of these.
    private var pendingBytes = 0
    /// The events of this turn that could not be stored.
    private var refusedInTurn: Set<EventID> = []
    /// Whether this turn had more entries than a transaction.
    private var wasTurnLong = false
    private(set) var backlog = Backlog()
    private var refused: [EventID] = []
    private(set) var lostOutcomes: UInt64 = 0
    /// Retries after failures.
    private(set) var retries: UInt64 = 0
    private var sinceExpiry = expiryInterval
    var room: Room
    private var loggedDamage: String?
    /// Undecided events rewritten since the last record of a lost file.
    private var rewritten = 0

    /// Opens the journal. If that fails, the daemon runs degraded.
    ///
    /// - Parameter portion: entries of one transaction.
    init(disk: any Disk, logger: Logger, portion: Int = usualPortion) {
        self.disk = disk
        self.portion = portion
        self.logger = logger
        room = Room(limits: DiskLimits(log: disk.logLimit))
        do throws(JournalError) {
            let journal = try disk.openJournal()
            self.journal = journal
            logDamage()
            try probe(journal)
            try checkRoom(isRetry: true)
        } catch {
            if journal == nil { journal = try? disk.openJournalForReading() }
            journal?.stopWriting()
            degrade(error)
        }
    }

    /// A journal can be opened on a full disk. Releasing the reserve may make room.
    private func probe(_ journal: any EventStore) throws(JournalError) {
        do throws(JournalError) {
            try journal.probe()
        } catch .diskFull where disk.hasReserve {
            releaseReserve()
            try journal.reopen(without: [])
            try journal.probe()
        }
    }

    /// Whether events can be deleted.
    var canDelete: Bool { journal?.isOpen ?? false }
    /// Whether outcomes can be written. Those in memory are written before later ones.
    var isWritable: Bool { canDelete && !room.isLow && backlog.isEmpty }
    /// Whether events can be accepted.
    var acceptsEvents: Bool { isWritable && !room.isShort }
    /// Whether the entries of this turn are enough for a transaction on this disk.
    var isTurnLarge: Bool { pendingBytes >= room.limits.transaction || pending.count >= room.limits.entries }
    /// Whether this turn has as many entries as a transaction may have.
    var isTurnLong: Bool { pending.count >= entriesAtOnce }
    private var entriesAtOnce: Int { min(portion, room.limits.entries) }
    /// Whether stored events can be read.
    var isReadable: Bool { journal?.isReadable ?? false }
    /// The random number of the journal; `nil` while there is none.
    var seed: String? { journal?.seed }
    var damagedRows: UInt64 { journal?.damagedRows ?? 0 }
    /// As far as they are counted.
    var storedEvents: Int { max(0, journal?.count ?? 0) }

    // MARK: Writing

    func append(_ entry: JournalEntry) {
        pending.append(entry)
        if case .accepted(let event) = entry { pendingBytes += event.memoryCost } else { pendingBytes += 256 }
    }

    /// An event of this turn.
    func pendingEvent(_ id: EventID) -> StoredEvent? {
        for case .accepted(let event) in pending where event.id == id { return event }
        return nil
    }

    /// Whether an event of this turn is not on disk, and may be refused.
    func isUnconfirmed(_ id: EventID) -> Bool { refusedInTurn.contains(id) || pendingEvent(id) != nil }

    /// Whether this turn has decided an event, which the file does not say yet.
    func hasPendingDecision(of id: EventID) -> Bool {
        pending.contains { if case .decided(id, _) = $0 { true } else { false } }
    }

    /// Whether a banner is gone, which the file does not say yet.
    func hasUnwrittenEnd(of banner: UInt32) -> Bool {
        for entry in pending.reversed() + backlog.entries.reversed() {
            switch entry {
            case .bannerUp(let up) where up.number == banner: return false
            case .bannerGone(banner), .allBannersGone: return true
            default: continue
            }
        }
        return false
    }

    /// Commits the entries of the turn.
    ///
    /// - Returns: the events that could not be stored and must not be acknowledged.
    func commit() -> [EventID] {
        commitPending()
        defer { refusedInTurn = [] }
        return refusedInTurn.sorted()
    }

    /// Commits the entries of a long turn before its end, so that they take little memory. Nothing of the turn has been sent,
    /// and an entry that depends on an event comes after it, so that `keepInMemory` finds out whether it was refused.
    func commitEarly() {
        wasTurnLong = true
        commitPending()
    }

    /// Whether a turn was long since the last call.
    func takeWasTurnLong() -> Bool {
        defer { wasTurnLong = false }
        return wasTurnLong
    }

    private func commitPending() {
        guard !pending.isEmpty else { return }
        let entries = pending
        room.unchecked += pendingBytes
        (pending, pendingBytes) = ([], 0)
        // The next turn is about as long, and an array that grows moves its entries.
        pending.reserveCapacity(min(entries.count, Self.reservedEntries))
        guard let journal, isWritable else { return keepInMemory(entries) }
        Failpoint.beforeCommit.hit()
        do throws(JournalError) {
            try journal.commit(entries)
            Failpoint.afterCommit.hit()
            for case .accepted in entries { sinceExpiry += 1 }
        } catch {
            degrade(error)
            return keepInMemory(entries)
        }
        guard room.unchecked >= room.limits.transaction / 4 || room.isShort else { return }
        do throws(JournalError) { try checkRoom() } catch { degrade(error) }
    }

    /// While the journal cannot be written, outcomes are kept in memory. Events are refused, and deleted from the file
    /// in case they are in it.
    private func keepInMemory(_ entries: [JournalEntry]) {
        var failed = refusedInTurn
        for case .accepted(let event) in entries {
            failed.insert(event.id)
            refused.append(event.id)
        }
        var kept: [JournalEntry] = []
        for var entry in entries {
            switch entry {
            case .accepted: continue
            // The daemon writes the current state later.
            case .quietReplaced, .snoozesReplaced, .digestsReplaced, .tombstones, .awaited, .awaitedGone,
                .awaitedReplaced:
                continue
            case .named: break
            case .bannerUp, .bannerGone, .allBannersGone: break
            case .decided(let id, let decision):
                if failed.contains(id) { continue }
                // Without the new event the earlier one keeps its place.
                if let successor = decision.successor, failed.contains(successor) { continue }
            case .claimed(let id, _), .read(let id, _, _, _):
                if failed.contains(id) { continue }
            case .removed(var removal, let version):
                // A value that was over when it came replaces nothing if it is refused.
                if let version, failed.contains(version.id) {
                    refused.append(removal.id)
                    continue
                }
                // The value will be removed, but the removal is not acknowledged and may be repeated, so its global id
                // is dropped.
                removal.origin = Origin()
                entry = .removed(removal, leaving: version)
            }
            kept.append(entry)
        }
        lostOutcomes += UInt64(backlog.append(kept))
        // A removal is written later, but not acknowledged now.
        for case .removed(let removal, _) in entries { failed.insert(removal.id) }
        refusedInTurn = failed
    }

    /// Retries after a failure.
    ///
    /// - Parameters:
    ///   - undecided: the undecided events in memory, some of which the file may have lost.
    ///   - event: such an event as it is stored.
    ///   - areAll: whether all undecided events are in memory, because the recovery is over.
    func retry(
        at clock: WallClock, keeping undecided: () -> [EventID], as event: (EventID) -> StoredEvent?, areAll: Bool
    ) {
        retries += 1
        do throws(JournalError) {
            if room.isShort, isWritable { return try makeRoom(at: clock) }
            if let journal {
                if !journal.isOpen { try journal.reopen(without: refused) }
            } else {
                journal = try disk.openJournal()
            }
            // The journal may have had these events until it was opened again.
            backlog.drop(Set(refused))
            refused = []
            logDamage()
            // Old events are deleted first, to make room.
            if !disk.hasReserve { _ = try expireStep(at: clock) }
            try journal?.probe()
            try checkRoom(isRetry: true)
            guard !room.isLow else { return }
            try reconcile(undecided(), as: event, areAll: areAll, at: clock)
            logLoss()
            try commitBacklog()
            guard backlog.isEmpty else { return }
            try makeRoom(at: clock)
        } catch {
            if journal == nil { journal = try? disk.openJournalForReading() }
            journal?.stopWriting()
            degrade(error)
        }
    }

    /// Writes what was kept in memory, some transactions at once, and none of them in parts. What a failure leaves stays there,
    /// and so does what would take the room for deletions.
    private func commitBacklog() throws(JournalError) {
        while true {
            let (entries, transactions) = backlog.oldest(upTo: min(Self.keptAtOnce, entriesAtOnce))
            guard transactions > 0, try hasRoom(forOutcomes: entries.count) else { return }
            try journal?.commit(entries)
            backlog.removeOldest(transactions)
        }
    }

    /// Goes on with new events if there is room, after old ones are deleted where there is none.
    private func makeRoom(at clock: WallClock) throws(JournalError) {
        for _ in 0..<Self.expiryBatches {
            try checkRoom(isRetry: true)
            guard room.isShort, try expireStep(at: clock) else { break }
        }
        guard !room.isShort, !degradation.isEmpty else { return }
        degradation = ""
        logger.record(.journalRecovered)
        onDegradation("")
    }

    /// Makes the undecided events of the file those of the daemon: the file may have been replaced or truncated.
    private func reconcile(
        _ undecided: [EventID], as event: (EventID) -> StoredEvent?, areAll: Bool, at clock: WallClock
    ) throws(JournalError) {
        guard let journal, areAll || !undecided.isEmpty else { return }
        let stored = Set(try journal.undecidedIDs())
        try rewrite(undecided.filter { !stored.contains($0) }, as: event, in: journal)
        if areAll { try settle(stored.subtracting(undecided), in: journal, at: clock) }
    }

    /// Rewrites events that the file has lost.
    private func rewrite(
        _ missing: [EventID], as event: (EventID) -> StoredEvent?, in journal: any EventStore
    ) throws(JournalError) {
        var entries: [JournalEntry] = []
        var bytes = 0
        for id in missing {
            if try !journal.holds(id), let event = event(id) {
                entries.append(.accepted(event))
                bytes += event.memoryCost
            }
            let isFull = entries.count >= min(Self.rewrittenAtOnce, room.limits.entries)
            guard isFull || bytes >= room.limits.transaction || id == missing.last else { continue }
            try journal.commit(entries)
            rewritten += entries.count
            (entries, bytes) = ([], 0)
        }
    }

    /// Decides events that are undecided only in the file, because it lost its end. The daemon has decided them, so no banner
    /// may appear for them again. Their outcomes are lost, and they count as read.
    private func settle(
        _ undecided: Set<EventID>, in journal: any EventStore, at clock: WallClock
    ) throws(JournalError) {
        let unwritten = pending.compactMap { if case .decided(let id, _) = $0 { id } else { nil } }
        var decision = StoredDecision(outcome: .expired, resolved: clock.wall)
        decision.isRead = true
        let lost = undecided.subtracting(backlog.decided).subtracting(unwritten).sorted()
        for start in stride(from: 0, to: lost.count, by: entriesAtOnce) {
            let ids = lost[start..<min(start + entriesAtOnce, lost.count)]
            try journal.commit(ids.map { .decided($0, decision) })
        }
    }

    /// Logs once per file that it was set aside.
    private func logDamage() {
        guard let aside = journal?.setAside, aside != loggedDamage else { return }
        loggedDamage = aside
        logger.record(.journalDamaged, ["file": "\(aside)"])
    }

    /// Logs once per file that it was deleted, replaced or truncated.
    private func logLoss() {
        if let loss = journal?.takeLoss() {
            let kept = loss.carriedOver.map { "\($0 + rewritten)" } ?? "\(rewritten), perhaps not all"
            logger.record(.journalLost, ["file": "\(loss.file)", "kept": "\(kept)"])
        }
        rewritten = 0
    }

    func degrade(_ error: JournalError) {
        if error == .diskFull { releaseReserve() }
        say(error)
    }

    func say(_ error: JournalError) {
        room.isDiskFull = error == .diskFull
        let reason = disk.explanation(of: error)
        let words = "the journal in \(disk.name) cannot be written: \(reason)"
        guard words != degradation else { return }
        degradation = words
        logger.record(.journalFailed, ["directory": "\(disk.name)", "error": "\(reason)"])
        onDegradation(words)
    }

    /// Deletes a batch of old events, when retention is due.
    ///
    /// - Returns: whether there are more.
    func expire(at clock: WallClock) -> Bool {
        guard let journal, journal.isOpen else { return false }
        refillReserve(at: clock.now.instant)
        journal.advance(to: clock.reading)
        guard sinceExpiry >= Self.expiryInterval || journal.isRetentionDue else { return false }
        do throws(JournalError) {
            if try expireStep(at: clock) { return true }
            sinceExpiry = 0
        } catch {
            degrade(error)
        }
        return false
    }

    private func expireStep(at clock: WallClock) throws(JournalError) -> Bool {
        guard let journal else { return false }
        journal.advance(to: clock.reading)
        return try !journal.expire(olderThan: retention.age, keeping: retention.events, step: 200).isOver
    }

    // MARK: Forgetting

    /// Deletes a portion of the decided events at or below a topic.
    ///
    /// - Returns: the deleted events, and the position to continue from; `nil` at the end.
    func forget(
        _ topic: TopicPrefix, after position: Journal.UnreadPosition, upTo last: EventID, limit: Int
    ) throws(Refusal) -> (ids: [EventID], position: Journal.UnreadPosition?) {
        try write { journal throws(JournalError) in
            try journal.forget(topic, after: position, upTo: last, limit: limit)
        }
    }

    /// Whether the journal can be scrubbed now.
    var canScrub: Bool { journal?.canScrub ?? false }

    /// Overwrites what is left of deleted events in a portion of the file.
    ///
    /// - Returns: whether nothing is left.
    func scrub() throws(Refusal) -> Bool {
        try write { journal throws(JournalError) in try journal.scrub() }
    }

    /// - Throws: `Refusal.storageUnavailable`; the journal is then opened again at the next retry.
    private func write<Result>(_ body: (any EventStore) throws(JournalError) -> Result) throws(Refusal) -> Result {
        guard let journal, journal.isOpen else { throw .storageUnavailable(degradation) }
        do throws(JournalError) {
            return try body(journal)
        } catch {
            degrade(error)
            throw .storageUnavailable(degradation)
        }
    }

    /// Stops checkpoints of a large journal, so that another process can check its file.
    ///
    /// - Returns: the file, or `nil` if no check is needed.
    func beginIntegrityCheck() -> String? {
        guard let journal, journal.isOpen, !journal.isChecked else { return nil }
        do throws(JournalError) {
            return try journal.beginIntegrityCheck()
        } catch {
            degrade(error)
            return nil
        }
    }

    /// A damaged file is closed, and repaired or set aside at the next retry.
    func endIntegrityCheck(_ result: IntegrityCheck) {
        do throws(JournalError) {
            try journal?.endIntegrityCheck(result)
        } catch {
            degrade(error)
        }
    }

    /// Commits pending entries and closes the journal.
    func close() {
        _ = commit()
        journal?.close()
    }
}
