import Journal
import Routing

/// A count of what was held back, which is done in portions, one per turn.
struct DigestJob {
    /// Events looked at per turn.
    static var portion: Int { 256 }

    let digests: [OwedDigest]
    private let names: Set<EventID>
    /// The last event that was looked at.
    var position: EventID
    var tally = DigestTally()
    /// Whether a banner of one of the counted events could appear now.
    var isAnyHeard = false

    init?(_ digests: [OwedDigest]) {
        guard let first = digests.map(\.first).min() else { return nil }
        self.digests = digests
        names = Set(digests.map(\.name))
        position = EventID(first.rawValue - min(1, first.rawValue))
    }

    /// Whether one of the digests counts an event with this outcome.
    func counts(_ decision: StoredDecision?) -> Bool {
        guard let name = decision?.cause.flatMap({ MuteCause($0) })?.digest else { return false }
        return names.contains(name)
    }
}

/// The digest: the router says when one is due, the journal says what it tells of.
extension Daemon {
    /// The router asks for a count, which begins at the end of this turn.
    func countDigests() {
        isDigestDue = true
        digestJob = nil
        host.endTurnWhenIdle()
    }

    /// Counts a portion after the commit of a turn, when all outcomes are in the journal. While that cannot be written, the
    /// count waits.
    func countNextDigests() {
        guard isDigestDue, isRestored, storage.isWritable else { return }
        guard var job = digestJob ?? DigestJob(router.dueDigests) else { return endDigestJob([], .none) }
        do throws(Refusal) {
            let found = try storage.read { [job] journal throws(JournalError) in
                try journal.muted(after: job.position, limit: DigestJob.portion)
            }
            for event in found.events where isCounted(event, by: job) {
                job.tally.add(self.event(event))
                if !router.isQuiet(TopicPrefix(event.topic)) { job.isAnyHeard = true }
            }
            if let position = found.position {
                job.position = position
                digestJob = job
                host.endTurnWhenIdle()
            } else {
                try finish(job)
            }
        } catch {
            // The retry timer is armed, and the count begins anew.
            digestJob = nil
        }
    }

    /// A snoozed event comes back by itself.
    private func isCounted(_ event: StoredEvent, by job: DigestJob) -> Bool {
        event.isUnread && router.snoozeEnd(of: event.id) == nil && job.counts(event.decision)
    }

    private func finish(_ job: DigestJob) throws(Refusal) {
        guard job.tally.count > 0 else { return endDigestJob(job.digests, .none) }
        guard job.isAnyHeard else { return endDigestJob(job.digests, .quiet) }
        let publication = job.tally.publication(received: clock.wall)
        try loadReplaced(by: publication)
        endDigestJob(job.digests, .found(publication))
    }

    private func endDigestJob(_ digests: [OwedDigest], _ result: DigestCount.Result) {
        isDigestDue = false
        digestJob = nil
        handleWithoutReply(.digestsCounted(DigestCount(digests, result)))
        host.endTurnWhenIdle()
    }
}
