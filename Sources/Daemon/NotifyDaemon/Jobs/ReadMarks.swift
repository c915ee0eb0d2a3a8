import DequeModule
import Journal
import Routing
import Systemd

/// A mark of events up to an id as read.
struct MarkReadJob {
    let topic: TopicPrefix
    let upTo: EventID
    /// Who marks, and by which call.
    let claimant: String
    let form: ClaimForm
    /// Whose limit it counts for.
    let owner: String
    /// The call that waits for the count.
    let call: RetainedMessage?
    /// Unread events found so far.
    var count: Int
    var position: Journal.UnreadPosition
}

/// Marks events as read that are only in the journal: muted and expired events, and events shown long ago. That may be
/// the whole history, so it is done in batches; the marks are served round robin.
final class ReadMarks: Job {
    /// Events marked per turn.
    static var portion: Int { 128 }
    static var limit: Int { 10_000 }
    static var limitPerProgram: Int { 1_000 }

    private var marks = Deque<MarkReadJob>()
    private var calls = CallCounter()
    /// The call of `MarkRead` that the router has just handled, and its count so far. The reply follows its mark.
    private var waiting: (call: RetainedMessage, count: Int)?
    /// Events that were marked.
    private(set) var marked: UInt64 = 0

    /// - Throws: `.storageUnavailable`, or `.limitExceeded` for too many marks.
    func requireRoom(for call: Call, in daemon: Daemon) throws(Refusal) {
        switch call {
        case .topicClaimed(_, .read, let claimant):
            guard daemon.storage.isWritable else { throw .storageUnavailable(daemon.storage.degradation) }
            try requireRoom(for: daemon.host.owner(of: claimant))
        case .topicClaimed(_, .grace, let claimant), .screenOpened(_, _, let claimant),
            .screenChanged(_, .some, let claimant):
            try requireRoom(for: daemon.host.owner(of: claimant))
        default: break
        }
    }

    /// - Throws: `Refusal.limitExceeded` at a limit.
    func requireRoom(for owner: String) throws(Refusal) {
        guard marks.count < Self.limit, calls[owner] < Self.limitPerProgram else {
            throw .limitExceeded(
                "topics that are being marked as read: \(Self.limit), or \(Self.limitPerProgram) of one program, are "
                    + "waiting already; try again in a moment")
        }
    }

    /// The mark that the router makes next has the count of this call.
    func answer(_ call: RetainedMessage, counting count: Int) { waiting = (call, count) }

    /// Enqueues a mark, which begins at the end of this turn.
    func add(_ topic: TopicPrefix, upTo last: EventID, by claimant: String, as form: ClaimForm, owner: String) {
        let waiting = waiting.take()
        enqueue(
            MarkReadJob(
                topic: topic, upTo: last, claimant: claimant, form: form, owner: owner, call: waiting?.call,
                count: waiting?.count ?? 0, position: Journal.UnreadPosition(before: topic)))
    }

    func enqueue(_ mark: MarkReadJob) {
        marks.append(mark)
        calls.add(mark.owner)
    }

    func takeNext() -> MarkReadJob? {
        guard let mark = marks.popFirst() else { return nil }
        calls.remove(mark.owner)
        return mark
    }

    /// An event was marked.
    func count() { marked += 1 }

    // MARK: Steps

    /// Events that were shown are announced as retracted.
    var needsBus: Bool { !marks.isEmpty }

    func step(in daemon: Daemon, at clock: WallClock) -> Duration? {
        guard !marks.isEmpty else { return nil }
        guard daemon.storage.isWritable else {
            refuse(in: daemon)
            return nil
        }
        let begin = daemon.host.now.instant
        var portion = Batch()
        while portion.size < Self.portion, daemon.host.now.instant - begin < .milliseconds(2), var mark = takeNext() {
            do throws(Refusal) {
                if try markBatch(&mark, &portion, in: daemon) {
                    if let call = mark.call { daemon.sendAfterCommit(.reply(.count(mark.count), to: call)) }
                } else {
                    enqueue(mark)
                }
            } catch {
                if let call = mark.call { daemon.sendAfterCommit(.error(error, to: call)) }
            }
        }
        return .zero
    }

    /// While the journal cannot be written, calls of `MarkRead` fail; other marks wait.
    private func refuse(in daemon: Daemon) {
        for _ in 0..<marks.count {
            guard let mark = takeNext() else { return }
            guard let call = mark.call else {
                enqueue(mark)
                continue
            }
            daemon.sendAfterCommit(.error(.storageUnavailable(daemon.storage.degradation), to: call))
        }
    }

    /// What was marked since the last commit.
    private struct Batch {
        var size = 0
        var ids: Set<EventID> = []
        /// Banners with a claimed event, by first event, because a server may renumber a banner; from older journals,
        /// by number.
        var banners: Set<UInt64> = []
    }

    /// - Returns: whether the mark is done.
    private func markBatch(
        _ mark: inout MarkReadJob, _ portion: inout Batch, in daemon: Daemon
    ) throws(Refusal) -> Bool {
        let storage = daemon.storage
        let limit = Self.portion - portion.size
        let found = try storage.read { [mark] journal in
            try journal.unseen(mark.topic, after: mark.position, upTo: mark.upTo, limit: limit)
        }
        portion.size += max(1, found.events.count)
        for event in found.events where portion.ids.insert(event.id).inserted {
            if daemon.remembers(event.id) {
                // A call recalled it from the journal after this one came, such as `Snooze`, also one that was refused.
                // What was in memory before has been claimed, and is on disk.
                daemon.handle(.claimed(event.id, by: mark.claimant))
            } else if event.decision?.markedRead != nil {
                storage.append(.read(event.id, by: mark.claimant, at: daemon.clock.wall))
            } else if let decision = event.decision, decision.outcome == .shown {
                try claimLate(event, decision, mark, &portion, in: daemon)
            } else {
                continue
            }
            mark.count += 1
            count()
        }
        guard let position = found.position else { return true }
        mark.position = position
        return false
    }

    /// Claims an event that was shown long ago or by an earlier run; its banner may still be up.
    private func claimLate(
        _ event: StoredEvent, _ decision: StoredDecision, _ mark: MarkReadJob, _ portion: inout Batch, in daemon: Daemon
    ) throws(Refusal) {
        let cold: ColdEvent
        if let number = decision.banner, decision.server == daemon.server.holder {
            // Whether it is the last event of the banner depends on the entries of the others.
            let name = decision.shownWith?.rawValue ?? UInt64(number)
            if !portion.banners.insert(name).inserted { daemon.endTurn() }
            cold = try daemon.cold(event)
        } else {
            cold = ColdEvent(daemon.routed(event), age: daemon.clock.age(of: event), .shown(nil, isShared: false))
        }
        daemon.handle(.claimedCold(cold, by: mark.claimant, as: mark.form))
    }
}
