import DequeModule
import Journal
import Routing
import Systemd

/// A call of `Forget`.
struct ForgetJob {
    let topic: TopicPrefix
    let upTo: EventID
    /// Whose limit it counts for.
    let owner: String
    let call: RetainedMessage
    /// Events deleted so far.
    var count = 0
    /// Where the next portion begins; `nil` when all events are deleted.
    var position: Journal.UnreadPosition?
}

/// `Forget`: deletes decided events from the journal in portions, because that may be the whole history, and what is
/// left of them in the file.
///
/// The journal is scrubbed once for all calls that wait at the same time: first the events of each are deleted, then
/// the pages are scrubbed, then all are answered. Later calls wait for the next batch, so that none waits for ever.
final class ForgetQueue: Job {
    /// Events deleted per turn.
    static var portion: Int { 128 }
    static var limit: Int { 1_000 }
    static var limitPerProgram: Int { 100 }

    private var waiting = Deque<ForgetJob>()
    /// The jobs of the current batch whose events are being deleted, served round robin.
    private var deleting = Deque<ForgetJob>()
    /// The jobs of the current batch whose events are deleted.
    private var deleted: [ForgetJob] = []
    private var calls = CallCounter()
    /// The deletion that is tried, or that has failed.
    private var unconfirmedDeletion: (topic: TopicPrefix, last: EventID)?

    var isEmpty: Bool { calls.isEmpty }

    /// - Throws: `Refusal.limitExceeded` at a limit.
    func add(_ job: ForgetJob) throws(Refusal) {
        let count = waiting.count + deleting.count + deleted.count
        guard count < Self.limit, calls[job.owner] < Self.limitPerProgram else {
            throw .limitExceeded(
                "calls of Forget: \(Self.limit), or \(Self.limitPerProgram) of one program, are under way "
                    + "already; wait for their answers")
        }
        calls.add(job.owner)
        waiting.append(job)
    }

    /// The next job with events to delete; `nil` once the events of the batch are deleted. `put` puts it back.
    func takeNext() -> ForgetJob? {
        if deleting.isEmpty, deleted.isEmpty { swap(&waiting, &deleting) }
        return deleting.popFirst()
    }

    func enqueue(_ job: ForgetJob) {
        if job.position == nil { deleted.append(job) } else { deleting.append(job) }
    }

    /// Begins the batch again: more events can be deleted now.
    private func repeatDeleted() {
        for var job in deleted {
            job.position = Journal.UnreadPosition(before: job.topic)
            deleting.append(job)
        }
        deleted = []
    }

    /// Ends the batch, whose events are deleted.
    func takeDeleted() -> [ForgetJob] {
        for job in deleted { calls.remove(job.owner) }
        defer { deleted = [] }
        return deleted
    }

    // MARK: Steps

    func step(in daemon: Daemon, at clock: WallClock) -> Duration? {
        guard !isEmpty else { return nil }
        let storage = daemon.storage
        do throws(Refusal) {
            guard storage.canDelete else { throw .storageUnavailable(storage.degradation) }
            // The end of an integrity check ends a turn.
            guard storage.canScrub else { return nil }
            if var job = takeNext() {
                // If this fails, it is refused with the others.
                defer { enqueue(job) }
                try deletePortion(of: &job, in: daemon)
            } else if try storage.scrub() {
                // An event is deleted after its outcome is written.
                if writesWaitingOutcomes(in: daemon) { repeatDeleted() } else { answer(in: daemon) }
            }
        } catch {
            refuse(error, in: daemon)
        }
        return .zero
    }

    private func deletePortion(of job: inout ForgetJob, in daemon: Daemon) throws(Refusal) {
        guard let position = job.position else { return }
        unconfirmedDeletion = (job.topic, job.upTo)
        let portion = try daemon.storage.forget(job.topic, after: position, upTo: job.upTo, limit: Self.portion)
        unconfirmedDeletion = nil
        job.count += portion.ids.count
        job.position = portion.position
        let remembered = portion.ids.filter { daemon.remembers($0) }
        if !remembered.isEmpty { daemon.handle(.forgotten(remembered)) }
    }

    /// Writes outcomes that are kept in memory, if deletions have made room for some.
    private func writesWaitingOutcomes(in daemon: Daemon) -> Bool {
        let count = daemon.storage.backlog.count
        guard count > 0 else { return false }
        daemon.jobs.retry.retry(daemon)
        return daemon.storage.backlog.count < count
    }

    private func answer(in daemon: Daemon) {
        let storage = daemon.storage
        for job in takeDeleted() {
            let isComplete = (try? !storage.hasWaitingOutcomes(job.topic, upTo: job.upTo)) ?? false
            let refusal = incomplete(job, storage.degradation)
            daemon.sendAfterCommit(isComplete ? .reply(.count(job.count), to: job.call) : .error(refusal, to: job.call))
        }
        // Once the caller has its answer, new events are accepted.
        daemon.jobs.retry.retry(daemon)
    }

    private func refuse(_ refusal: Refusal, in daemon: Daemon) {
        for job in deleted + deleting + waiting {
            var refusal = refusal
            if case .storageUnavailable(let reason) = refusal { refusal = incomplete(job, reason) }
            daemon.sendAfterCommit(.error(refusal, to: job.call))
        }
        (deleted, deleting, waiting, calls) = ([], [], [], CallCounter())
    }

    /// Why events stay, and how many were deleted before.
    private func incomplete(_ job: ForgetJob, _ reason: String) -> Refusal {
        guard job.count > 0 else { return .storageUnavailable(reason) }
        let deleted = job.count == 1 ? "1 event was" : "\(job.count) events were"
        return .storageUnavailable("\(deleted) deleted, and perhaps not all: \(reason)")
    }

    /// Called when the journal can be written again. A deletion that failed may be in the file all the same: then its
    /// events are dropped from memory too.
    func confirmDeletion(in daemon: Daemon) {
        guard let deletion = unconfirmedDeletion.take() else { return }
        let gone = daemon.router.decidedIDs(deletion.topic, upTo: deletion.last).filter { id in
            (try? daemon.storage.read { try $0.holds(id) }) == false
        }
        if !gone.isEmpty { daemon.handle(.forgotten(gone)) }
    }
}

extension Daemon {
    /// Enqueues a call of `Forget`, which is answered when the events are not in the file any more. With all events the
    /// claims of those that have not come are forgotten.
    ///
    /// - Parameter last: events with higher ids stay; 0 means none. Later events stay in any case.
    /// - Throws: `.storageUnavailable`, or `.limitExceeded` for too many calls.
    func forget(
        _ topic: TopicPrefix, upTo last: EventID, by caller: String, for call: RetainedMessage
    ) throws(Refusal) {
        guard storage.canDelete else { throw .storageUnavailable(storage.degradation) }
        try restoreBanners()
        // An event that has not come has no topic yet, so only all of them can be meant.
        let isAll = topic == .all && last == EventID(0)
        let last = last == EventID(0) ? router.lastID : min(last, router.lastID)
        try jobs.forgets.add(
            ForgetJob(
                topic: topic, upTo: last, owner: host.owner(of: caller), call: call,
                position: Journal.UnreadPosition(before: topic)))
        if isAll, router.awaitedCount > 0 { handle(.forgotten([], awaited: true)) }
        host.endTurnWhenIdle()
    }
}
