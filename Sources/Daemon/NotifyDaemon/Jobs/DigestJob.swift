import Journal
import Routing

/// Counts what digests report: the router says when one is due, the journal what was held back.
final class DigestJob: Job {
    /// Events looked at per turn.
    private static let portion = 256

    private struct Count {
        let digests: [OwedDigest]
        let names: Set<EventID>
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
    }

    /// Whether the router awaits a count.
    private var isDue = false
    /// The count, once it has begun.
    private var count: Count?

    /// A new count begins at the end of this turn.
    func begin() { (isDue, count) = (true, nil) }

    /// All outcomes of the turn are in the journal. While that cannot be written, the count waits.
    func step(in daemon: Daemon, at clock: WallClock) throws(Refusal) -> Duration? {
        guard isDue, daemon.isRestored, daemon.storage.isWritable else { return nil }
        // After a failure the count begins again.
        guard var count = self.count.take() ?? Count(daemon.router.dueDigests) else { return end([], .none, daemon) }
        let found = try daemon.storage.read { [count] journal in
            try journal.muted(after: count.position, limit: Self.portion)
        }
        for event in found.events where isCounted(event, by: count, daemon) {
            count.tally.add(daemon.event(event))
            if !daemon.router.isQuiet(TopicPrefix(event.topic)) { count.isAnyHeard = true }
        }
        if let position = found.position {
            count.position = position
            self.count = count
            return .zero
        }
        guard count.tally.count > 0 else { return end(count.digests, .none, daemon) }
        guard count.isAnyHeard else { return end(count.digests, .quiet, daemon) }
        let publication = count.tally.publication(received: daemon.clock.wall)
        return end(count.digests, .found(publication), daemon)
    }

    /// A snoozed event comes back by itself.
    private func isCounted(_ event: StoredEvent, by count: Count, _ daemon: Daemon) -> Bool {
        guard event.isUnread, daemon.snoozeEnd(of: event.id) == nil,
            let name = event.decision?.cause.flatMap({ MuteCause($0) })?.digest
        else { return false }
        return count.names.contains(name)
    }

    private func end(_ digests: [OwedDigest], _ result: DigestCount.Result, _ daemon: Daemon) -> Duration {
        isDue = false
        daemon.handle(.digestsCounted(DigestCount(digests, result)))
        return .zero
    }
}
