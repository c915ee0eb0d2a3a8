import Journal
import Routing

/// Marks events as read that are only in the journal: muted and expired events, and events shown long ago.
extension Daemon {
    /// - Throws: `.storageUnavailable`, or `.limitExceeded` for too many jobs.
    func requireRoomForMarks(of input: Input) throws(Refusal) {
        switch input {
        case .markedRead(_, _, let claimant):
            guard storage.isWritable else { throw .storageUnavailable(storage.degradation) }
            try marks.requireRoom(for: host.owner(of: claimant))
        case .topicClaimed(_, _, let claimant), .screenOpened(_, _, let claimant), .screenUpdated(_, _, let claimant):
            try marks.requireRoom(for: host.owner(of: claimant))
        default: break
        }
    }

    /// Enqueues a job, which begins at the end of this turn.
    func enqueueMark(_ topic: TopicPrefix, upTo last: EventID, by claimant: String, as form: ClaimForm) {
        let waiting = markReadCall
        markReadCall = nil
        marks.put(
            MarkReadJob(
                topic, upTo: last, by: claimant, as: form, owner: host.owner(of: claimant), call: waiting?.call,
                count: waiting?.count ?? 0))
        host.endTurnWhenIdle()
    }

    /// Marks a batch after the commit of a turn. Calls and timers are handled before the next batch.
    func markNextBatch() {
        guard !marks.isEmpty, storage.isWritable else { return refuseMarks() }
        // Events that were shown are announced as retracted.
        guard signalQueue.isEmpty, host.queuedMessages < RecoveryCursor.queue else {
            return host.armRecoveryTimer(at: host.now.instant + .milliseconds(5))
        }
        let begin = host.now.instant
        var portion = MarkReadBatch()
        while portion.size < MarkReadQueue.portion, host.now.instant - begin < .milliseconds(2),
            var mark = marks.takeNext()
        {
            do throws(Refusal) {
                let isOver = try markBatch(&mark, &portion)
                if !isOver { marks.put(mark) } else { finishMark(mark) }
            } catch {
                refuse(mark, error)
            }
        }
        host.endTurnWhenIdle()
    }

    /// - Returns: whether the job is done.
    private func markBatch(
        _ mark: inout MarkReadJob, _ portion: inout MarkReadBatch
    ) throws(Refusal) -> Bool {
        let limit = MarkReadQueue.portion - portion.size
        let found = try storage.read { [mark] journal throws(JournalError) in
            try journal.unseen(mark.topic, after: mark.position, upTo: mark.upTo, limit: limit)
        }
        portion.size += max(1, found.events.count)
        for event in found.events where portion.ids.insert(event.id).inserted {
            if remembers(event.id) {
                markRecalled(event.id, &mark)
                continue
            }
            guard let decision = event.decision else { continue }
            if let marked = decision.markedRead {
                storage.append(.decided(event.id, marked))
                storage.append(.read(event.id, by: mark.claimant, at: clock.wall))
            } else if decision.outcome == .shown {
                try claimLate(event, decision, mark, &portion)
            } else {
                continue
            }
            mark.count += 1
            markedRead += 1
        }
        guard let position = found.position else { return true }
        mark.position = position
        return false
    }

    /// Claims an event that a call recalled from the journal after this one came, such as `Snooze`, also one that was refused. What
    /// was in memory before has been claimed, and is on disk.
    private func markRecalled(_ id: EventID, _ mark: inout MarkReadJob) {
        handleWithoutReply(.claimed(id, by: mark.claimant))
        mark.count += 1
        markedRead += 1
    }

    /// Claims an event that was shown long ago or by an earlier run; its banner may still be up.
    private func claimLate(
        _ event: StoredEvent, _ decision: StoredDecision, _ mark: MarkReadJob,
        _ portion: inout MarkReadBatch
    ) throws(Refusal) {
        let age = clock.age(of: event)
        if let number = decision.banner, decision.server == server.holder {
            // Whether it is the last event of the banner depends on the entries of the others.
            let name = decision.shownWith?.rawValue ?? UInt64(number)
            if !portion.banners.insert(name).inserted { endTurn() }
            if let banner = try storage.bannerStillUp(event.id, decision, server: server, router: router) {
                handle(.recalled(storage.event(event, routes: configuration.routes), age: age, banner: banner))
                handleWithoutReply(.claimed(event.id, by: mark.claimant))
                return
            }
        }
        var resolution = Resolution(.retracted, claimant: mark.claimant, latency: age)
        resolution.form = mark.form
        resolution.verdict = Appearance.isOwnBanner(event.appearance) ? .retracted : .recorded
        handle(.claimedLate([LateClaim(event.id, event.topic, resolution)]))
    }

    private func finishMark(_ mark: MarkReadJob) {
        guard let call = mark.call else { return }
        sendAfterCommit(.reply(.count(mark.count), to: call))
    }

    /// While the journal cannot be written, jobs of `MarkRead` fail; the others wait.
    private func refuseMarks() {
        for _ in 0..<marks.count {
            guard let mark = marks.takeNext() else { return }
            if mark.call == nil { marks.put(mark) } else { refuse(mark, .storageUnavailable(storage.degradation)) }
        }
    }

    private func refuse(_ mark: MarkReadJob, _ refusal: Refusal) {
        guard let call = mark.call else { return }
        sendAfterCommit(.error(refusal, to: call))
    }
}

/// What was marked since the last commit.
struct MarkReadBatch {
    var size = 0
    var ids: Set<EventID> = []
    /// Banners with a claimed event, by first event, because a server may renumber a banner; from older journals, by
    /// number.
    var banners: Set<UInt64> = []
}
