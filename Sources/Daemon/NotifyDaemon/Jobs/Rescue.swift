import Journal
import Routing

/// What screens claimed while the user was away already, of routes with `rescue`.
///
/// A session is called idle some minutes after the last input, and until then its screens claim as if somebody looked
/// at them. When the user comes back, one banner reports the events that were claimed in those minutes by screens
/// alone.
final class Rescue: Job {
    /// The search for these events, from the newest on.
    private struct Search {
        /// Events looked at per turn.
        static var portion: Int { 256 }

        /// Events that were accepted before are not looked at; microseconds since the epoch.
        var since: Int64
        /// The last event that was looked at.
        var position = EventID(.max)
        var tally = DigestTally(.away)
    }

    /// When the last input was, in microseconds since the epoch; `nil` while the session is watched.
    private var absence: Int64?
    private var search: Search?
    /// What could not be published yet.
    private var waiting: Publication?
    /// What was published in this turn.
    private var published: (id: EventID, publication: Publication)?

    func sessionIsUnwatched(since: Int64?) { absence = since }

    /// - Parameter isWanted: whether there are routes with `rescue`.
    func sessionIsWatched(isWanted: Bool) {
        guard let since = absence.take(), isWanted else { return }
        search = Search(since: search.map { min($0.since, since) } ?? since)
    }

    /// After a commit: what it refused is published again later.
    func committed(refusing refused: [EventID]) {
        guard let (id, publication) = published.take() else { return }
        if refused.contains(id) { waiting = waiting ?? publication }
    }

    /// All outcomes of the turn are in the journal.
    func step(in daemon: Daemon, at clock: WallClock) throws(Refusal) -> Duration? {
        let storage = daemon.storage
        if let waiting, storage.acceptsEvents { try publish(waiting, in: daemon) }
        guard var search, daemon.isRestored, storage.isWritable else { return nil }
        let portion = try storage.read { [search] journal in
            try journal.newest(below: search.position, limit: Search.portion)
        }
        let recent = portion.prefix { $0.accepted >= search.since }
        for stored in recent where try isRescued(stored, in: daemon) { search.tally.add(daemon.event(stored)) }
        if recent.count == Search.portion, let last = recent.last {
            search.position = last.id
            self.search = search
            return .zero
        }
        self.search = nil
        if search.tally.count > 0 { try publish(search.tally.publication(received: daemon.clock.wall), in: daemon) }
        return nil
    }

    /// Whether only screens claimed an event, and no program or person besides.
    private func isRescued(_ stored: StoredEvent, in daemon: Daemon) throws(Refusal) -> Bool {
        guard let decision = stored.decision, decision.outcome == .claimed, decision.form == .screen,
            daemon.event(stored).route.rescues
        else { return false }
        let state = try daemon.storage.read { try $0.state(of: stored.id) }
        return state?.claims.allSatisfy { $0.form == .screen } ?? true
    }

    private func publish(_ publication: Publication, in daemon: Daemon) throws(Refusal) {
        waiting = publication
        guard case .success(.accepted(let id)) = daemon.handle(.published(publication)) else { return }
        waiting = nil
        published = (id, publication)
    }
}

extension Daemon {
    func sessionChanged(_ state: SessionState) {
        switch state {
        case .unwatched(let idleSince):
            handle(.attentionChanged(isWatched: false))
            jobs.rescue.sessionIsUnwatched(since: idleSince.map { $0 - configuration.screens.idleAfter.microseconds })
        case .watched:
            handle(.attentionChanged(isWatched: true))
            jobs.rescue.sessionIsWatched(isWanted: configuration.routes.routes.contains(where: \.rescues))
            host.endTurnWhenIdle()
        }
    }
}
