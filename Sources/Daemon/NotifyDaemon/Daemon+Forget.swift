import Journal
import Routing

/// `Forget`: deletes decided events from the journal, and what is left of them in the file.
extension Daemon {
    /// Enqueues a call, which is answered when the events are not in the file any more.
    ///
    /// - Parameter last: events with higher ids stay; 0 means none. Later events stay in any case.
    /// - Throws: `.storageUnavailable`, or `.limitExceeded` for too many calls.
    func forget(
        _ topic: TopicPrefix, upTo last: EventID, by caller: String, for call: any MethodCall
    ) throws(Refusal) {
        guard storage.isWritable else { throw .storageUnavailable(storage.degradation) }
        try loadBanners()
        let last = last == EventID(0) ? router.lastID : min(last, router.lastID)
        try forgets.add(ForgetJob(topic, upTo: last, by: caller, call: call))
        host.endTurnWhenIdle()
    }

    /// Does a portion after the commit of a turn. Calls and timers are handled before the next one.
    func forgetNextPortion() {
        guard !forgets.isEmpty else { return }
        do throws(Refusal) {
            guard storage.isWritable else { throw .storageUnavailable(storage.degradation) }
            // The end of an integrity check ends a turn.
            guard storage.canScrub else { return }
            if var job = forgets.takeNext() {
                // If this fails, it is refused with the others.
                defer { forgets.put(job) }
                try deletePortion(of: &job)
            } else if try storage.scrub() {
                for job in forgets.takeDeleted() { sendAfterCommit(.reply(.count(job.count), to: job.call)) }
            }
        } catch {
            for job in forgets.takeAll() { sendAfterCommit(.error(error, to: job.call)) }
        }
        host.endTurnWhenIdle()
    }

    private func deletePortion(of job: inout ForgetJob) throws(Refusal) {
        guard let position = job.position else { return }
        let portion = try storage.forget(job.topic, after: position, upTo: job.upTo, limit: ForgetQueue.portion)
        job.count += portion.ids.count
        job.position = portion.position
        let remembered = portion.ids.filter { router.remembers($0) }
        if !remembered.isEmpty { handle(.forgotten(remembered)) }
    }
}
