import Journal
import Logging
import Routing

/// The journal as the daemon deals with it: what a turn brings is collected and committed once. When that fails, nothing
/// of the turn is acknowledged; what was accepted before is still decided and shown, and its outcomes are written when the
/// journal can be written again.
final class Storage {
    /// How many outcomes are kept in memory while the journal cannot be written: of all events that can be open or shown.
    private static let backlogLimit = 130_000
    private static let history: Duration = .seconds(30 * 24 * 3600)
    private static let historyEvents = 1_000_000
    /// How many events are accepted between two looks at what is too old.
    private static let expiryInterval = 500

    /// Why the journal cannot be written, in words; empty while it can.
    private(set) var degradation = ""
    /// Called when that changes.
    var onDegradation: (String) -> Void = { _ in }

    private let disk: any Disk
    private let logger: Logger
    private(set) var journal: (any EventStore)?
    private var pending: [JournalEntry] = []
    private var backlog: [JournalEntry] = []
    private var refused: [EventID] = []
    private(set) var lostOutcomes: UInt64 = 0
    /// How often it was tried to go on after a failure.
    private(set) var retries: UInt64 = 0
    private var sinceExpiry = expiryInterval
    private var toldOf: String?

    /// Opens the journal; one that cannot be opened leaves the daemon running, degraded.
    init(disk: any Disk, logger: Logger) {
        self.disk = disk
        self.logger = logger
        do throws(JournalError) {
            journal = try disk.openJournal()
            disk.fillBallast()
            tellOfDamage()
        } catch {
            degrade(error)
        }
    }

    /// Whether an event can be accepted now.
    var isWritable: Bool { journal?.isOpen ?? false }
    var damagedRows: UInt64 { journal?.damagedRows ?? 0 }
    /// As far as they have been counted.
    var storedEvents: Int { max(0, journal?.count ?? 0) }

    // MARK: Writing

    func note(_ entry: JournalEntry) {
        pending.append(entry)
    }

    /// Where an event belongs that the turn brought.
    func pendingTopic(of id: EventID) -> Topic? {
        for case .accepted(let event) in pending where event.id == id { return event.topic }
        return nil
    }

    /// Commits what the turn brought.
    ///
    /// - Returns: the events that could not be kept, and must not be acknowledged.
    func commit() -> [EventID] {
        guard !pending.isEmpty else { return [] }
        let entries = pending
        pending = []
        guard let journal, journal.isOpen else { return postpone(entries) }
        Failpoint.beforeCommit.pass()
        do throws(JournalError) {
            try journal.commit(entries)
            Failpoint.afterCommit.pass()
            for case .accepted in entries { sinceExpiry += 1 }
            return []
        } catch {
            degrade(error)
            return postpone(entries)
        }
    }

    /// Outcomes wait for better times; events are refused, and taken out of the file should they be in it.
    private func postpone(_ entries: [JournalEntry]) -> [EventID] {
        var failed: Set<EventID> = []
        for case .accepted(let event) in entries { failed.insert(event.id) }
        for var entry in entries {
            switch entry {
            case .accepted: continue
            // The daemon writes it again, as it is then.
            case .quietReplaced: continue
            case .named: break
            case .bannerUp, .bannerGone, .allBannersGone: break
            case .decided(let id, _), .claimed(let id, _):
                if failed.contains(id) { continue }
            case .removed(let topic, let id, _, let accepted):
                // The value will be gone; nobody is told that this removal was accepted, so it may be repeated.
                entry = .removed(topic, id, Origin(), accepted: accepted)
            }
            if backlog.count < Self.backlogLimit { backlog.append(entry) } else { lostOutcomes += 1 }
        }
        refused += failed
        // A removal is made up for later, but nobody is told now that it is on disk.
        for case .removed(_, let id, _, _) in entries { failed.insert(id) }
        return failed.sorted()
    }

    /// Tries to go on after a failure.
    func retry(at clock: WallClock) {
        retries += 1
        do throws(JournalError) {
            if let journal {
                if !journal.isOpen { try journal.reopen(without: refused) }
            } else {
                journal = try disk.openJournal()
            }
            refused = []
            tellOfDamage()
            // Old events make room before anything is added.
            if !disk.isBallastFull { _ = try expireStep(at: clock) }
            try journal?.commit(backlog)
            backlog = []
            try journal?.probe()
            disk.fillBallast()
            guard !degradation.isEmpty else { return }
            degradation = ""
            logger.record(.journalRecovered)
            onDegradation("")
        } catch {
            journal?.close()
            degrade(error)
        }
    }

    /// Says once of each file that it was set aside or has lost its name.
    private func tellOfDamage() {
        if let loss = journal?.takeLoss() {
            let kept = loss.carriedOver.map { "\($0)" } ?? "not all"
            logger.record(.journalLost, ["file": "\(loss.file)", "kept": "\(kept)"])
        }
        guard let aside = journal?.setAside, aside != toldOf else { return }
        toldOf = aside
        logger.record(.journalDamaged, ["file": "\(aside)"])
    }

    private func degrade(_ error: JournalError) {
        if error == .diskFull { disk.giveUpBallast() }
        let words = "the journal in \(disk.name) cannot be written: \(error)"
        guard words != degradation else { return }
        degradation = words
        logger.record(.journalFailed, ["directory": "\(disk.name)", "error": "\(error)"])
        onDegradation(words)
    }

    /// Takes one small step of retention, when it is time for it.
    ///
    /// - Returns: whether there is more to do.
    func expire(at clock: WallClock) -> Bool {
        guard let journal, journal.isOpen else { return false }
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
        let step = 200
        return try journal.expire(olderThan: Self.history, keeping: Self.historyEvents, step: step) == step
    }

    /// Has the file of a large journal hold still, so that it can be looked at in another process.
    ///
    /// - Returns: the file, or `nil` where there is nothing to be done.
    func beginExamination() -> String? {
        guard let journal, journal.isOpen, !journal.isExamined else { return nil }
        do throws(JournalError) {
            return try journal.beginExamination()
        } catch {
            degrade(error)
            return nil
        }
    }

    /// A damaged file is closed; it is repaired or set aside when it is tried to go on.
    func endExamination(_ result: Examination) {
        do throws(JournalError) {
            try journal?.endExamination(result)
        } catch {
            degrade(error)
        }
    }

    /// The directory is given up in order; what is still to be written is written.
    func close() {
        _ = commit()
        journal?.close()
    }

    // MARK: Reading

    /// - Throws: `Refusal.storageUnavailable`.
    func read<Result>(_ body: (any EventStore) throws(JournalError) -> Result) throws(Refusal) -> Result {
        guard let journal, journal.isOpen else { throw .storageUnavailable(degradation) }
        do throws(JournalError) {
            return try body(journal)
        } catch {
            if error == .damaged { degrade(error) }
            throw .storageUnavailable("the journal in \(disk.name) cannot be read: \(error)")
        }
    }
}
