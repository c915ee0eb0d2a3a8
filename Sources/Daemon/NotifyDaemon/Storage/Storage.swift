import Journal
import Logging
import Routing
import Systemd

/// Collects the records of a turn and commits them once. If that fails, no event of the turn is acknowledged. Events
/// accepted before are still decided and shown; while the journal cannot be written, their outcomes are kept in
/// memory, and reads add them to what the journal has.
final class Storage {
    /// Events rewritten per transaction.
    private static let rewrittenAtOnce = 500
    /// So many accepted events lie between two checks for expired ones.
    private static let expiryInterval = 500
    /// Records kept in memory that are written per transaction.
    private static let keptAtOnce = 256
    /// Records for which a turn has memory from the beginning.
    private static let reservedRecords = 64
    /// About the bytes of a turn's records from which on no call joins it: a frame of the log holds more.
    private static let turnBytes = 256 << 10
    /// Records of one transaction. A turn with more of them, such as the claim of all events, has several.
    static let usualPortion = 1024

    /// Why the journal cannot be written, or its index does not take what the log has; empty while all is well.
    var degradation: String { reason.isEmpty ? "" : "the journal in \(journal.directory) cannot be written: \(reason)" }
    /// What is wrong with the journal; empty while all is well.
    var reason: String { failure?.reason ?? "" }
    /// The last failure, and its description at that time; `nil` while all is well.
    private var failure: (error: JournalError, reason: String)?
    /// What is wrong, and what to do, for `Diagnose`; `nil`: nothing.
    var problem: (state: String, advice: String)? {
        if let failure { return ("nothing is accepted, because \(degradation)", failure.error.advice) }
        guard journal.setAside?.reason == .missing else { return nil }
        return (
            "its index was missing at the start; a new one has what the log still had",
            "The rest is lost: put a backup back if you need it. A restart of notifyd ends this message."
        )
    }
    /// Called when that changes, also while the journal is read.
    var onDegradation: () -> Void = {}

    /// How long decided events stay. A change applies at the end of the turn.
    var retention = Retention() {
        didSet { if retention != oldValue { sinceExpiry = Self.expiryInterval } }
    }

    let journal: Journal
    private let logger: Logger
    private let portion: Int
    private var pending: [Record] = []
    /// About the bytes of these.
    private var pendingBytes = 0
    /// The events of this turn that could not be stored.
    private var refusedInTurn: Set<EventID> = []
    private(set) var backlog = Backlog()
    private(set) var lostOutcomes: UInt64 = 0
    /// Retries after failures.
    private(set) var retries: UInt64 = 0
    private var sinceExpiry = expiryInterval
    private var loggedAside: Journal.SetAside?
    /// Whether damaged parts of the journal were logged: once a run, since each read counts a damaged row again.
    private var isDamageLogged = false
    /// Whether files were opened that may lack events of this run, or have some that it has decided.
    private var isReconcileDue = false
    /// Whether the files were lost, and the journal begins afresh.
    private var isLost = false
    /// Records of undecided events that were written again since the files were lost.
    private var rewritten = 0

    /// If the journal cannot be written, the daemon runs degraded.
    ///
    /// - Parameter portion: records of one transaction.
    init(_ journal: Journal, logger: Logger, portion: Int = usualPortion) {
        self.journal = journal
        self.portion = portion
        self.logger = logger
        do throws(JournalError) {
            if let error = journal.failure { throw error }
            logSetAside()
            try journal.probe()
            if let error = journal.indexFailure { throw error }
        } catch {
            if journal.indexFailure == nil { journal.stopWriting() }
            report(error)
        }
    }

    /// Whether events can be deleted.
    var canDelete: Bool { journal.canDelete }
    /// Whether outcomes can be written. Those in memory are written before later ones.
    var isWritable: Bool { journal.isOpen && backlog.isEmpty }
    /// Whether events can be accepted.
    var acceptsEvents: Bool { isWritable && journal.acceptsEvents }
    /// Why no event can be accepted.
    var refusal: Refusal {
        if let error = journal.indexFailure { report(error) }
        return .storageUnavailable(degradation)
    }
    /// Whether the records of this turn are enough for a transaction.
    var isTurnLarge: Bool { pendingBytes >= Self.turnBytes || isTurnLong }
    /// Whether this turn has as many records as a transaction may have.
    var isTurnLong: Bool { pending.count >= portion }
    /// Whether stored events can be read.
    var isReadable: Bool { journal.isReadable }
    /// The random number of the journal; `nil` while there is none.
    var seed: String? { journal.seed }
    var damagedRows: UInt64 { journal.damagedRows }
    /// As far as they are counted.
    var storedEvents: Int { max(0, journal.count) }

    // MARK: Writing

    func append(_ record: Record) {
        pending.append(record)
        if case .accepted(let event) = record { pendingBytes += event.memoryCost } else { pendingBytes += 256 }
    }

    /// An event of this turn.
    func pendingEvent(_ id: EventID) -> StoredEvent? {
        for case .accepted(let event) in pending where event.id == id { return event }
        return nil
    }

    /// Whether an event of this turn is not on disk, and may be refused.
    func isUnconfirmed(_ id: EventID) -> Bool { refusedInTurn.contains(id) || pendingEvent(id) != nil }

    /// What this turn has decided of an event, which the file does not say yet.
    func pendingDecision(of id: EventID) -> StoredDecision? {
        for case .decided(id, let decision) in pending.reversed() { return decision }
        return nil
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

    /// Commits what there is of the turn. A long one does so before its end, to take little memory: nothing of the turn
    /// has been sent, and an entry that depends on an event comes after it, so that `keepInMemory` finds out whether
    /// it was refused.
    func commitPending() {
        guard !pending.isEmpty else { return }
        let records = pending
        (pending, pendingBytes) = ([], 0)
        // The next turn is about as long, and an array that grows moves its records.
        pending.reserveCapacity(min(records.count, Self.reservedRecords))
        guard isWritable else { return keepInMemory(records) }
        Failpoint.beforeCommit.hit()
        do throws(JournalError) {
            try journal.commit(records)
            Failpoint.afterCommit.hit()
            for case .accepted in records { sinceExpiry += 1 }
        } catch {
            report(error)
            return keepInMemory(records)
        }
        if let error = journal.indexFailure { report(error) }
    }

    /// While the journal cannot be written, outcomes are kept in memory. Events are refused.
    private func keepInMemory(_ entries: [Record]) {
        var failed = refusedInTurn
        for case .accepted(let event) in entries {
            failed.insert(event.id)
        }
        var kept: [Record] = []
        for var entry in entries {
            switch entry {
            case .accepted: continue
            case .named, .bannerUp, .bannerGone, .allBannersGone: break
            case .decided(let id, let decision):
                if failed.contains(id) { continue }
                // Without the new event the earlier one keeps its place.
                if let successor = decision.successor, failed.contains(successor) { continue }
            case .claimed(let id, _), .read(let id, _, _, _):
                if failed.contains(id) { continue }
            case .removed(var removal, let version):
                // A value that was over when it came replaces nothing if it is refused.
                if let version, failed.contains(version.id) { continue }
                // The value will be removed, but the removal is not acknowledged and may be repeated, so its global id
                // is dropped.
                removal.origin = Origin()
                entry = .removed(removal, leaving: version)
            // The daemon writes the current state later.
            default: continue
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
    ///   - kept: the undecided and the snoozed events in memory, some of which the file may have lost.
    ///   - event: such an event as it is stored.
    ///   - areAll: whether all undecided events are in memory, because the recovery is over.
    func retry(
        at clock: WallClock, keeping kept: () -> (undecided: [EventID], snoozed: [EventID]),
        as event: (EventID) -> StoredEvent?, areAll: Bool
    ) {
        retries += 1
        do throws(JournalError) {
            // Not all that puts other files in their place is told by inotify, such as a mount.
            if !journal.isInPlace { abandon() }
            if journal.needsReopening, try journal.reopen() { isReconcileDue = true }
            logSetAside()
            // Old events are deleted first, to make room.
            if failure?.error == .diskFull { _ = try? expireStep(at: clock) }
            try journal.probe()
            if isReconcileDue {
                try reconcile(kept(), as: event, areAll: areAll, at: clock)
                isReconcileDue = false
            }
            logLoss()
            try commitBacklog()
            if let error = journal.indexFailure { throw error }
            guard failure != nil else { return }
            failure = nil
            logger.record(.journalRecovered)
            onDegradation()
        } catch {
            if journal.indexFailure == nil { journal.stopWriting() }
            report(error)
        }
    }

    /// Writes what was kept in memory, some transactions at once, and none of them in parts. What a failure leaves
    /// stays there.
    private func commitBacklog() throws(JournalError) {
        while !backlog.isEmpty {
            let (records, transactions) = backlog.oldest(upTo: min(Self.keptAtOnce, portion))
            try journal.commit(records)
            backlog.removeOldest(transactions)
        }
    }

    /// Makes the undecided events of the file those of the daemon: the file may have been replaced or truncated.
    private func reconcile(
        _ kept: (undecided: [EventID], snoozed: [EventID]), as event: (EventID) -> StoredEvent?, areAll: Bool,
        at clock: WallClock
    ) throws(JournalError) {
        guard areAll || !kept.undecided.isEmpty else { return }
        let stored = Set(try journal.undecidedIDs())
        try rewrite((kept.undecided + kept.snoozed).filter { !stored.contains($0) }, as: event)
        if areAll { try expire(stored.subtracting(kept.undecided), at: clock) }
    }

    /// Rewrites events that the file has lost.
    private func rewrite(_ missing: [EventID], as event: (EventID) -> StoredEvent?) throws(JournalError) {
        var entries: [Record] = []
        var bytes = 0
        for id in missing {
            if try !journal.holds(id), var event = event(id) {
                let decision = event.decision
                event.decision = nil
                entries.append(.accepted(event))
                if let decision { entries.append(.decided(id, decision)) }
                bytes += event.memoryCost
            }
            let isFull = entries.count >= Self.rewrittenAtOnce || bytes >= Self.turnBytes
            guard isFull || id == missing.last else { continue }
            try journal.commit(entries)
            rewritten += entries.count
            (entries, bytes) = ([], 0)
        }
    }

    /// Decides events that are undecided only in the file, because it lost its end. The daemon has decided them, so no
    /// banner may appear for them again. Their outcomes are lost, and they count as read.
    private func expire(_ undecided: Set<EventID>, at clock: WallClock) throws(JournalError) {
        let unwritten = pending.compactMap { if case .decided(let id, _) = $0 { id } else { nil } }
        var decision = StoredDecision(outcome: .expired, resolved: clock.wall)
        decision.isRead = true
        let lost = undecided.subtracting(backlog.decided).subtracting(unwritten).sorted()
        for start in stride(from: 0, to: lost.count, by: portion) {
            let ids = lost[start..<min(start + portion, lost.count)]
            try journal.commit(ids.map { .decided($0, decision) })
        }
    }

    /// Logs once per file that it is not used.
    private func logSetAside() {
        guard let aside = journal.setAside, aside != loggedAside else { return }
        loggedAside = aside
        let message: MessageID =
            switch aside.reason {
            case .damaged: .journalDamaged
            case .earlier: .journalOfEarlierBuild
            case .missing: .journalIncomplete
            }
        logger.record(message, ["file": "\(aside.file)"])
    }

    /// Called when something happened to the names in the state directory. If the files of the journal have lost
    /// theirs, the journal begins afresh with what is in memory: at the next retry, because whoever deletes them is not
    /// done yet.
    func namesChanged() {
        guard journal.isReadable, !journal.isInPlace else { return }
        abandon()
        report(.gone)
    }

    private func abandon() {
        isLost = true
        journal.abandon()
    }

    /// Logs that the files were deleted, moved or replaced.
    private func logLoss() {
        if isLost { logger.record(.journalLost, ["directory": "\(journal.directory)", "kept": "\(rewritten)"]) }
        isLost = false
        rewritten = 0
    }

    func report(_ error: JournalError) {
        let reason = error.explanation(in: journal.directory)
        let isNews = reason != self.reason
        failure = (error, reason)
        guard isNews else { return }
        logger.record(.journalFailed, ["directory": "\(journal.directory)", "error": "\(reason)"])
        onDegradation()
    }

    /// Does a portion of the journal's own work, after a turn.
    ///
    /// - Returns: after which time there is more to do; `nil`: nothing, until the next commit.
    func work() -> Duration? {
        if damagedRows > 0, !isDamageLogged {
            isDamageLogged = true
            logger.record(.journalEntriesDamaged, ["directory": "\(journal.directory)"])
        }
        do throws(JournalError) { return try journal.work() } catch {
            report(error)
            return nil
        }
    }

    /// Deletes a batch of old events, when retention is due.
    ///
    /// - Returns: whether there are more.
    func expire(at clock: WallClock) -> Bool {
        // On a full disk it is part of each retry.
        guard journal.isOpen, degradation.isEmpty else { return false }
        journal.advance(to: clock.reading)
        guard sinceExpiry >= Self.expiryInterval || journal.isRetentionDue else { return false }
        do throws(JournalError) {
            if try expireStep(at: clock) { return true }
            sinceExpiry = 0
        } catch {
            report(error)
        }
        return false
    }

    private func expireStep(at clock: WallClock) throws(JournalError) -> Bool {
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
    var canScrub: Bool { journal.canScrub }

    /// Overwrites what is left of deleted events in a portion of the file.
    ///
    /// - Returns: whether nothing is left.
    func scrub() throws(Refusal) -> Bool {
        try write { journal throws(JournalError) in try journal.scrub() }
    }

    /// - Throws: `Refusal.storageUnavailable`; the journal is then opened again at the next retry.
    private func write<Result>(_ body: (Journal) throws(JournalError) -> Result) throws(Refusal) -> Result {
        guard journal.canDelete else { throw .storageUnavailable(degradation) }
        do throws(JournalError) {
            return try body(journal)
        } catch {
            report(error)
            guard error == .diskFull else { throw .storageUnavailable(degradation) }
            throw .storageUnavailable(
                "the disk is full, and a deletion needs room before it makes some: free 1 MiB for \(journal.directory)")
        }
    }

    /// Stops checkpoints of a large journal, so that another process can check its file.
    ///
    /// - Returns: the file, or `nil` if no check is needed.
    func beginIntegrityCheck() -> String? {
        guard journal.isOpen, !journal.isChecked else { return nil }
        do throws(JournalError) {
            return try journal.beginIntegrityCheck()
        } catch {
            report(error)
            return nil
        }
    }

    /// A damaged file is closed, and repaired or set aside at the next retry.
    func endIntegrityCheck(_ result: IntegrityCheck) {
        do throws(JournalError) {
            try journal.endIntegrityCheck(result)
        } catch {
            report(error)
        }
    }

    /// Commits pending entries and closes the journal.
    func close() {
        _ = commit()
        journal.close()
    }
}
