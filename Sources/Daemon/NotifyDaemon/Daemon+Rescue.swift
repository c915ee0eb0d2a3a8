import Journal
import Routing

/// The banner for what happened while the user was away; see `Rescue`.
extension Daemon {
    func sessionChanged(_ state: SessionState) {
        switch state {
        case .unwatched(let idleSince):
            handle(.attentionChanged(isWatched: false))
            rescue.absence = idleSince.map { $0 - configuration.screens.idleAfter.microseconds }
        case .watched:
            handle(.attentionChanged(isWatched: true))
            guard let since = rescue.absence.take(), configuration.routes.routes.contains(where: \.rescues) else {
                return
            }
            rescue.search = Rescue.Search(since: rescue.search.map { min($0.since, since) } ?? since)
            host.endTurnWhenIdle()
        }
    }

    /// Looks at a portion after the commit of a turn, when all outcomes are in the journal.
    func rescueNextEvents() {
        if let publication = rescue.waiting, storage.acceptsEvents { publishRescue(publication) }
        guard var search = rescue.search, isRestored, storage.isWritable else { return }
        do throws(Refusal) {
            let portion = try storage.read { [search] journal throws(JournalError) in
                try journal.newest(below: search.position, limit: Rescue.Search.portion)
            }
            let recent = portion.prefix { $0.accepted >= search.since }
            for stored in recent where try isRescued(stored) { search.tally.add(event(stored)) }
            if recent.count == Rescue.Search.portion, let last = recent.last {
                search.position = last.id
                rescue.search = search
                host.endTurnWhenIdle()
            } else {
                rescue.search = nil
                if search.tally.count > 0 { publishRescue(search.tally.publication(received: clock.wall)) }
            }
        } catch {
            // It goes on when the journal can be read again.
        }
    }

    /// Whether only screens claimed an event, and no program or person besides.
    private func isRescued(_ stored: StoredEvent) throws(Refusal) -> Bool {
        guard let decision = stored.decision, decision.outcome == .claimed, decision.form == .screen,
            event(stored).route.rescues
        else { return false }
        let claims = try storage.read { journal throws(JournalError) in try journal.claims(on: stored.id) }
        return claims.allSatisfy { $0.form == .screen }
    }

    private func publishRescue(_ publication: Publication) {
        do throws(Refusal) {
            try loadReplaced(by: publication)
        } catch {
            return rescue.wait(publication)
        }
        if case .reply(.accepted(let id)) = handleWithoutReply(.published(publication)) {
            rescue.wasPublished(publication, as: id)
        } else {
            rescue.wait(publication)
        }
    }
}
