import Journal
import Routing

/// Going on where an earlier run stopped, and with a journal that failed.
extension Daemon {
    /// Goes on where an earlier run stopped, as soon as there is a journal to read that from.
    func restore() {
        guard !isRestored else { return }
        do throws(Refusal) {
            let clock = clock
            var restoration = try storage.restoration(at: clock)
            var recovery = try Recovery(
                from: storage, server: server.identity, limits: limits, portion: recoveryPortion)
            restoration.remaining = recovery.remaining
            restoration.banners = self.restoration(of: try recovery.banners(from: storage)).banners
            self.recovery = recovery
            isRestored = true
            take(.restored(restoration))
            host.endTurnWhenIdle()
        } catch {
            // Degraded says why, and it is tried again.
        }
    }

    /// Reads the next portion of what earlier runs left, unless the bus has not taken the last one.
    func announceMore() {
        guard recovery != nil else { return }
        guard fanOut.isEmpty, host.queuedMessages < Recovery.queue else {
            return host.armRecoveryTimer(at: host.now.instant + .milliseconds(5))
        }
        do throws(Refusal) {
            let restoration = try nextPortion()
            if recovery!.isOver { endRecovery() }
            take(.restored(restoration))
            host.endTurnWhenIdle()
        } catch {
            host.armRecoveryTimer(at: host.now.instant + .seconds(1))
        }
    }

    private func nextPortion() throws(Refusal) -> Restoration {
        if recovery!.hasBanners { return restoration(of: try recovery!.banners(from: storage)) }
        guard recovery!.hasNames else { return restoration(of: try recovery!.events(from: storage)) }
        return storage.restoration(of: try recovery!.names(from: storage), limits: limits, at: clock)
    }

    private func endRecovery() {
        if recovery!.isLong {
            releasesMemoryAt = host.now.instant + configuration.recoveryWindow + .seconds(1)
        }
        recovery = nil
    }

    func releaseMemory() {
        guard let moment = releasesMemoryAt else { return }
        guard moment <= host.now.instant else {
            // Signals that wait have the timer to themselves.
            if fanOut.isEmpty { host.armRecoveryTimer(at: moment) }
            return
        }
        releasesMemoryAt = nil
        host.releaseMemory()
    }

    private func restoration(of banners: [(banner: StoredBanner, events: [StoredEvent])]) -> Restoration {
        server.inherit(banners.map { BannerID($0.banner.number) })
        return storage.restoration(of: banners, routes: configuration.routes, at: clock)
    }

    /// Sees to it that the router knows of all banners that are up, before a claim that may be about one of them.
    func recallBanners() throws(Refusal) {
        guard recovery?.hasBanners == true else { return }
        take(.restored(restoration(of: try recovery!.banners(from: storage, all: true))))
    }

    private func restoration(of events: [StoredEvent]) -> Restoration {
        var restoration = storage.restoration(
            of: events, routes: configuration.routes, minimumWindow: configuration.recoveryWindow, at: clock)
        restoration.remaining = recovery?.remaining
        return restoration
    }

    /// Those who ask again and again must not put it off.
    func armRetry() {
        guard !isRetryArmed else { return }
        isRetryArmed = true
        host.armRetryTimer(at: host.now.instant + .seconds(1))
    }

    /// To be called by the timer for it.
    func retryStorage() {
        isRetryArmed = false
        storage.retry(at: clock)
        guard storage.degradation.isEmpty else { return armRetry() }
        if isRestored, let values = try? storage.restoredValues(at: clock) { take(.restored(values)) }
        restore()
        // It may be another file, which knows nothing of this run.
        quietNews.isUnwritten = true
        examineJournal()
        // Retention goes on in turns.
        host.endTurnWhenIdle()
    }

    /// Has a large journal looked at beside everything else.
    func examineJournal() {
        guard !isExamining, let file = storage.beginExamination() else { return }
        isExamining = true
        host.examine(file) { [unowned self] result in
            isExamining = false
            storage.endExamination(result)
            // It may have been opened anew meanwhile.
            examineJournal()
            // Retention knows now how many events there are.
            host.endTurnWhenIdle()
        }
    }

    /// Where an event belongs: one in memory, one that this turn brought, or one in the journal. Nothing changes.
    func topic(of id: EventID) throws(Refusal) -> Topic? {
        if let topic = router.topic(of: id) ?? storage.pendingTopic(of: id) { return topic }
        guard storage.isWritable else { return nil }
        return try storage.read { journal throws(JournalError) in try journal.event(id)?.topic }
    }

    /// Sees to it that the router knows of an event to which somebody refers: one that was shown long ago, or by an earlier
    /// run, is taken into memory again when it is claimed.
    ///
    /// It is not to stay there otherwise: whether it is the last one behind its banner may change.
    func recall(_ id: EventID, isClaimed: Bool) throws(Refusal) {
        guard !router.remembers(id) else { return }
        // Nothing is known of it without the journal: it may be undecided, and a claim of it must not be lost.
        guard storage.isWritable else { throw .storageUnavailable(storage.degradation) }
        endTurn()
        if isClaimed { try recallBanners() }
        guard !router.remembers(id) else { return }
        guard let event = try storage.read({ journal throws(JournalError) in try journal.event(id) }) else {
            throw .unknownEvent("there is no event \(id); ids come from Send, Publish and the signal Event")
        }
        guard let decision = event.decision else {
            // An earlier run left it undecided, and its turn to be announced again has not come.
            return announceOutOfTurn([event])
        }
        if isClaimed, let marked = decision.markedRead {
            storage.note(.decided(id, marked))
            markedRead += 1
            return host.endTurnWhenIdle()
        }
        guard isClaimed, decision.outcome == .shown else { return }
        take(
            .recalled(
                storage.event(event, routes: configuration.routes), age: clock.age(of: event),
                banner: try storage.bannerStillUp(event.id, decision, server: server)))
    }

    /// Sees to it that the router knows of everything that was named, before something that may be a repeat.
    func recallNames() throws(Refusal) {
        guard recovery?.hasNames == true else { return }
        let names = try recovery!.names(from: storage, atMost: .max)
        take(.restored(storage.restoration(of: names, limits: limits, at: clock)))
    }

    /// Sees to it that the router knows of everything undecided at or below a topic to which somebody refers.
    func recall(_ topic: TopicPrefix) throws(Refusal) {
        guard recovery != nil else { return }
        endTurn()
        try recallBanners()
        announceOutOfTurn(try storage.read { journal throws(JournalError) in try journal.undecided(topic) })
    }

    private func announceOutOfTurn(_ events: [StoredEvent]) {
        let events = recovery?.take(events, except: { router.remembers($0) }) ?? []
        take(.restored(restoration(of: events)))
    }

    /// When the window of an undecided event ends, in microseconds since the epoch.
    func deadline(of id: EventID) -> Int64? {
        router.deadline(of: id).map { clock.moment($0) }
    }
}
