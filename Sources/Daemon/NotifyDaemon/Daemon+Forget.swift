import Journal
import Routing

/// `Forget`: deletes decided events from the journal, and what is left of them in the file; and, with all events, the
/// claims of those that have not come.
extension Daemon {
    /// Enqueues a call, which is answered when the events are not in the file any more.
    ///
    /// - Parameter last: events with higher ids stay; 0 means none. Later events stay in any case.
    /// - Throws: `.storageUnavailable`, or `.limitExceeded` for too many calls.
    func forget(
        _ topic: TopicPrefix, upTo last: EventID, by caller: String, for call: any MethodCall
    ) throws(Refusal) {
        // A full disk is tried again after the commit of this turn.
        guard storage.canDelete || storage.isDiskFull else { throw .storageUnavailable(storage.degradation) }
        try loadBanners()
        // An event that has not come has no topic yet, so only all of them can be meant.
        let isAll = topic == .all && last == EventID(0)
        let last = last == EventID(0) ? router.lastID : min(last, router.lastID)
        try forgets.add(ForgetJob(topic, upTo: last, by: host.owner(of: caller), call: call))
        if isAll, router.awaitedCount > 0 {
            handle(.awaitedForgotten)
            unwrittenTables.insert(.awaited)
        }
        host.endTurnWhenIdle()
    }

    /// Does a portion after the commit of a turn. Calls and timers are handled before the next one.
    func forgetNextPortion() {
        guard !forgets.isEmpty else { return }
        do throws(Refusal) {
            guard storage.canDelete || retryFullDisk() else { throw .storageUnavailable(storage.degradation) }
            // The end of an integrity check ends a turn.
            guard storage.canScrub else { return }
            if var job = forgets.takeNext() {
                // If this fails, it is refused with the others.
                defer { forgets.put(job) }
                try deletePortion(of: &job)
            } else if try storage.scrub() {
                // An event is deleted after its outcome is written.
                if writesWaitingOutcomes() {
                    forgets.repeatDeleted()
                    return host.endTurnWhenIdle()
                }
                for job in forgets.takeDeleted() {
                    let isComplete = (try? !storage.hasWaitingOutcomes(job.topic, upTo: job.upTo)) ?? false
                    let refusal = incomplete(job, storage.degradation)
                    sendAfterCommit(
                        isComplete ? .reply(.count(job.count), to: job.call) : .error(refusal, to: job.call))
                }
                // Once the caller has its answer, new events are accepted.
                if !storage.degradation.isEmpty { retryStorage() }
            }
        } catch {
            if !retryFullDisk() { refuseForgets(error) }
        }
        host.endTurnWhenIdle()
    }

    /// Writes outcomes that are kept in memory, if deletions have made room for some.
    private func writesWaitingOutcomes() -> Bool {
        let count = storage.backlog.count
        guard count > 0 else { return false }
        retryStorage()
        return storage.backlog.count < count
    }

    private func refuseForgets(_ refusal: Refusal) {
        for job in forgets.takeAll() {
            var refusal = refusal
            if case .storageUnavailable(let reason) = refusal { refusal = incomplete(job, reason) }
            sendAfterCommit(.error(refusal, to: job.call))
        }
    }

    /// Why events stay, and how many were deleted before.
    private func incomplete(_ job: ForgetJob, _ reason: String) -> Refusal {
        guard job.count > 0 else { return .storageUnavailable(reason) }
        let deleted = job.count == 1 ? "1 event was" : "\(job.count) events were"
        return .storageUnavailable("\(deleted) deleted, and perhaps not all: \(reason)")
    }

    /// Tries a full disk again at once, for what makes room there, and not more than once a second.
    ///
    /// - Returns: whether the journal can be written.
    private func retryFullDisk() -> Bool {
        let now = host.now.instant
        guard storage.isDiskFull, fullDiskRetry.map({ now - $0 >= .seconds(1) }) ?? true else { return false }
        fullDiskRetry = now
        retryStorage()
        return storage.canDelete
    }

    /// Called when the journal can be written again. A deletion that failed may be in the file all the same: then its events are
    /// dropped from memory too.
    func confirmDeletion() {
        guard let deletion = unconfirmedDeletion.take() else { return }
        let gone = router.decidedIDs(deletion.topic, upTo: deletion.last).filter { id in
            let isHeld = try? storage.read { journal throws(JournalError) in try journal.holds(id) }
            return isHeld == false
        }
        if !gone.isEmpty { handle(.forgotten(gone)) }
    }

    private func deletePortion(of job: inout ForgetJob) throws(Refusal) {
        guard let position = job.position else { return }
        unconfirmedDeletion = (job.topic, job.upTo)
        let portion = try storage.forget(job.topic, after: position, upTo: job.upTo, limit: ForgetQueue.portion)
        unconfirmedDeletion = nil
        job.count += portion.ids.count
        job.position = portion.position
        let remembered = portion.ids.filter { remembers($0) }
        if !remembered.isEmpty { handle(.forgotten(remembered)) }
    }
}
