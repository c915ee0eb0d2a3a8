import Journal
import Routing

/// Marking as read what is kept and not in memory: muted and expired events, and those that were shown long ago.
extension Daemon {
    /// - Throws: what keeps a call from being written down, before anything is made of it.
    func requireRoomForMarks(of input: Input) throws(Refusal) {
        switch input {
        case .markedRead(_, _, let claimant):
            guard storage.isWritable else { throw .storageUnavailable(storage.degradation) }
            try marks.requireRoom(for: claimant)
        case .topicClaimed(_, _, let claimant), .screenOpened(_, _, let claimant), .screenUpdated(_, _, let claimant):
            try marks.requireRoom(for: claimant)
        default: break
        }
    }

    /// Has something marked, from the end of this turn on.
    func beginMark(_ topic: TopicPrefix, upTo last: EventID, by claimant: String, as form: ClaimForm) {
        let waiting = unansweredMark
        unansweredMark = nil
        marks.put(
            ReadMark(
                topic, upTo: last, by: claimant, as: form, call: waiting?.call, count: waiting?.count ?? 0))
        host.endTurnWhenIdle()
    }

    /// Marks a portion, after the commit of a turn. Calls and timers are handled before the next one.
    func markMore() {
        guard !marks.isEmpty, storage.isWritable else { return refuseMarks() }
        // Everybody is told of what was shown.
        guard fanOut.isEmpty, host.queuedMessages < Recovery.queue else {
            return host.armRecoveryTimer(at: host.now.instant + .milliseconds(5))
        }
        let begin = host.now.instant
        var portion = MarkedPortion()
        while portion.size < ReadMarks<Outside.Call>.portion, host.now.instant - begin < .milliseconds(2),
            var mark = marks.takeNext()
        {
            do throws(Refusal) {
                let isOver = try markSome(&mark, &portion)
                if !isOver { marks.put(mark) } else { endMark(mark) }
            } catch {
                refuse(mark, error)
            }
        }
        host.endTurnWhenIdle()
    }

    /// - Returns: whether that was all.
    private func markSome(
        _ mark: inout ReadMark<Outside.Call>, _ portion: inout MarkedPortion
    ) throws(Refusal) -> Bool {
        let limit = ReadMarks<Outside.Call>.portion - portion.size
        let found = try storage.read { [mark] journal throws(JournalError) in
            try journal.unseen(mark.topic, after: mark.position, upTo: mark.upTo, limit: limit)
        }
        portion.size += max(1, found.events.count)
        // What is in memory has been claimed before, and is written with this turn at the latest.
        for event in found.events where !router.remembers(event.id) && portion.ids.insert(event.id).inserted {
            guard let decision = event.decision else { continue }
            if let marked = decision.markedRead {
                storage.note(.decided(event.id, marked))
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

    /// A shown event of long ago or of an earlier run, whose banner may still be up.
    private func claimLate(
        _ event: StoredEvent, _ decision: StoredDecision, _ mark: ReadMark<Outside.Call>, _ portion: inout MarkedPortion
    ) throws(Refusal) {
        let age = clock.age(of: event)
        if let number = decision.banner, decision.server == server.holder {
            // Whether it is the last one behind the banner depends on what is written of the others.
            if !portion.banners.insert(number).inserted { endTurn() }
            if let banner = try storage.bannerStillUp(event.id, decision, server: server) {
                take(.recalled(storage.event(event, routes: configuration.routes), age: age, banner: banner))
                return takeUnanswered(.claimed(event.id, by: mark.claimant))
            }
        }
        var resolution = Resolution(.retracted, claimant: mark.claimant, latency: age)
        resolution.form = mark.form
        let clock = clock
        resolution.opened = decision.opened.map { clock.instant($0) }
        resolution.deadline = decision.deadline.map { clock.instant($0) }
        resolution.isReplayed = decision.isReplayed
        take(.claimedLate([LateClaim(event.id, event.topic, resolution)]))
    }

    private func endMark(_ mark: ReadMark<Outside.Call>) {
        guard let call = mark.call else { return }
        leave(host.reply(.count(mark.count), to: call), to: call)
    }

    /// While the journal cannot be written, those who wait for a count are told so; the other marks wait.
    private func refuseMarks() {
        for _ in 0..<marks.count {
            guard let mark = marks.takeNext() else { return }
            if mark.call == nil { marks.put(mark) } else { refuse(mark, .storageUnavailable(storage.degradation)) }
        }
    }

    private func refuse(_ mark: ReadMark<Outside.Call>, _ refusal: Refusal) {
        guard let call = mark.call else { return }
        leave(host.refusal(refusal, of: call), to: call)
    }
}

/// What was marked since the last commit.
struct MarkedPortion {
    var size = 0
    var ids: Set<EventID> = []
    /// The banners of which an event was claimed.
    var banners: Set<UInt32> = []
}
