@testable import Journal
@testable import NotifyDaemon
@testable import Routing

/// What must be so, at a start, at an end and in between.
extension Witness {
    /// Somebody calls.
    ///
    /// - Parameter moment: as for `heard`.
    func called(_ call: Call?, isRecovering: Bool, at moment: Int64) {
        if isRecovering { counts.duringRecovery += 1 }
        guard case .published(let publication) = call, publication.options.origin.isGlobalID else { return }
        let origin = publication.options.origin
        if attempts[origin] == nil { attempts[origin] = moment }
    }

    /// The daemon has been started, perhaps after a power cut.
    func started(_ journal: Journal) {
        device = journal.seed ?? device
        if journal.damagedRows > 0 || journal.setAside != nil { complain("the journal is damaged after a start") }
        guard journal.isOpen, !acknowledged.isEmpty else { return }
        for id in acknowledged where disk.event(id) == nil && !isForgotten(id) {
            complain("event \(id) was acknowledged, and is not there after a start")
        }
        disk.contents.events.values.forEach(noteHeldBack)
    }

    /// Somebody asks to have the decided events at or below a topic deleted.
    func mayForget(_ topic: TopicPrefix, upTo last: EventID) {
        forgettable.append((topic, last))
        // Nobody may have heard of an event of a daemon that died.
        for (id, event) in disk.contents.events { topics[id] = event.topic }
    }

    func noteHeldBack(_ event: StoredEvent) {
        guard let digest = event.decision?.cause.flatMap({ MuteCause($0) })?.digest else { return }
        heldBack.insert(HeldBack(event: event.id, digest: digest))
    }

    /// The name of an event without source and event-id.
    func ownName(of id: EventID) -> Origin { Origin(source: "notifyd:\(device)", eventID: "\(id)") }

    /// The files are deleted while the daemon runs: it goes on with what is in memory.
    func filesVanish(keeping undecided: [EventID]) {
        inMemoryOnly = Set(undecided)
        deleted.formUnion((disk.contents.ids + origins.values.map(\.id)).filter { !inMemoryOnly.contains($0) })
        follower = Follower()
    }

    func daemonDied(isRecovering: Bool, isDegraded: Bool) {
        // It had no time to write them again.
        if isDegraded { deleted.formUnion(inMemoryOnly) }
        inMemoryOnly = []
        origins = origins.filter { !deleted.contains($0.value.id) }
        counts.deaths += 1
        if isRecovering { counts.endsOfRecovery += 1 }
        lastReplayed = EventID(0)
        replayed = []
        // What the daemon kept of an event before it died, it need not have said.
        if !awaited.isEmpty {
            for event in disk.contents.events.values where event.decision != nil {
                awaited[event.globalName ?? ownName(of: event.id)] = nil
            }
        }
        for id in accounts.keys {
            accounts[id]!.windowEnds = nil
            guard accounts[id]!.isOnTrust else { continue }
            // A disk that was broken to the end has not kept it, and nobody could have said so.
            accounts[id]!.isOnTrust = false
            if outcome(id) != accounts[id]!.heard.last { accounts[id]!.heard = [] }
            accounts[id]!.isClaimed = outcome(id) == .claimed
        }
    }

    /// Whether the journal says that a banner is up. It cannot where the daemon was killed before it could write that.
    func isRecorded(_ banner: SimulatedServer.Banner) -> Bool {
        disk.contents.banners[banner.id.rawValue] != nil
    }

    /// What a run of the daemon can know of what a banner shows: what it was told, or what is written of an earlier
    /// run.
    func knownEvents(of banner: SimulatedServer.Banner, _ life: Life) -> [EventID] {
        if banner.knownTo === life { return banner.events }
        guard let first = disk.contents.banners[banner.id.rawValue]?.first else { return [] }
        return banner.events.filter { disk.event($0)?.decision?.shownWith == first }
    }

    /// The journal knows the banners that the router knows, while nothing is still to be written.
    func checkBanners(_ router: Router) {
        let kept = disk.contents.banners
        for (id, key) in router.banners.keys where kept[id.rawValue]?.first != router.banners[key]?.first {
            let (first, stored) = (router.banners[key]?.first, kept[id.rawValue]?.first)
            if let first, deleted.contains(first) { continue }
            // A start takes over no more of them, those of the newest events.
            if stored == nil, kept.count >= router.settings.limits.retractableEvents { continue }
            complain(
                "banner \(id) of \(key) begins with \(String(describing: first)), on disk with "
                    + "\(String(describing: stored))"
            )
        }
        guard !router.banners.hasUnknown,
            let other = kept.keys.first(where: { router.banners.keys[BannerID($0)] == nil })
        else { return }
        complain("the journal says that banner \(other) is up, which it is not")
    }

    /// The daemon has been started again, and everything was claimed by its topic.
    func checkClaimedTopic(_ router: Router) {
        guard !router.banners.hasUnknown else { return }
        for banner in server.up where !banner.isLost && isRecorded(banner) && !isUnknown(banner) {
            complain("all topics are claimed, and banner \(banner.id) of \(banner.events) is still up")
        }
    }

    /// A banner that no run keeps in memory is found by its events only, and nothing closes it when they are deleted.
    func isUnknown(_ banner: SimulatedServer.Banner) -> Bool {
        hasLetGo && banner.events.allSatisfy(isForgotten)
    }

    // MARK: Changes

    func followed(_ change: StoredChange) {
        counts.followed += 1
        if case .start = change.content { counts.starts += 1 }
        if case .event(let event) = change.content, event.decision?.cause == Silence.newerValue.rawValue {
            counts.outdated += 1
        }
        if case .outcome(let event) = change.content, let new = event.decision?.outcome,
            let old = follower.outcomes[event.id], old != new, old != .shown || !Self.followsShown(new),
            !wasSnoozed(event.id)
        {
            complain("event \(event.id) was \(old) and is \(new)")
        }
        if let complaint = follower.take(change) { complain(complaint) }
    }

    /// Who has read all changes knows all events, their outcomes and the values.
    func checkFollower(device: String) {
        for id in acknowledged where follower.events[id] == nil && !isForgotten(id) {
            complain("event \(id) was acknowledged, and is not among the changes")
        }
        for (id, event) in disk.contents.events where follower.outcomes[id] != event.decision?.outcome {
            complain(
                "event \(id) is \(String(describing: event.decision?.outcome)) on disk, and "
                    + "\(String(describing: follower.outcomes[id])) to who follows the changes")
        }
        for (id, event) in disk.contents.events {
            guard let decision = event.decision, [.muted, .expired].contains(decision.outcome),
                follower.readMarks.contains(id) != decision.isRead
            else { continue }
            let state = decision.isRead ? "read" : "not read"
            complain("event \(id) is \(state) on disk, other than to who follows the changes")
        }
        let values = follower.values(on: device)
        if values != disk.contents.values {
            complain("the values are \(disk.contents.values), and \(values) to who follows the changes")
        }
    }

    func noteReading() { counts.marked += 1 }

    /// A call of `Forget` is answered, which was to delete these events.
    func forgot(_ ids: [EventID]) {
        counts.forgotten += ids.count
        for id in ids where !isForgotten(id) { complain("event \(id) was to be forgotten, and is there") }
    }

    func read(_ history: [EventID]) {
        counts.read += 1
        let ids = Set(history)
        for id in acknowledged where !ids.contains(id) && !isForgotten(id) {
            complain("event \(id) was acknowledged, and is not in the history")
        }
        if zip(history, history.dropFirst()).contains(where: { $0 >= $1 }) { complain("the history is not in order") }
    }

    /// No event is on screen twice, as far as the present run of the daemon can know.
    ///
    /// - Parameter router: of this run. What has been shown last is all that it keeps in memory; a banner whose events
    ///   are beyond that stays up, and is not known any longer.
    func checkScreen(_ life: Life, _ router: Router) {
        let known = server.up.filter { banner in
            let isLetGo = router.statistics[.forgotten] > 0 && router.banners.keys[banner.id] == nil
            return !banner.isLost && !isLetGo
        }
        for (index, banner) in known.enumerated() {
            for other in known[..<index] {
                let events = knownEvents(of: other, life)
                for id in knownEvents(of: banner, life) where events.contains(id) {
                    complain("event \(id) stands in the banners \(other.id) and \(banner.id)")
                }
            }
        }
    }

    /// A banner that was closed before the server answered is closed.
    func checkClosedEarly(_ router: Router) {
        guard let id = server.closedEarly.first(where: { router.banners.keys[$0] != nil }) else { return }
        complain("banner \(id) was closed before the server answered, and counts as up")
    }

    /// - Parameter life: the last run of the daemon, in which whatever had been shown was claimed.
    func checkEnd(_ life: Life) {
        for id in acknowledged where disk.event(id) == nil && !isForgotten(id) {
            complain("event \(id) was acknowledged, and is lost")
        }
        for id in disk.contents.ids {
            let kept = outcome(id)
            guard let kept else { return complain("event \(id) has no outcome") }
            checkSuccessor(of: id, kept, disk.contents.events[id]?.decision?.successor)
            if kept == .shown { complain("event \(id) was claimed and is still shown") }
            guard let told = accounts[id]?.heard.last, told != kept else { continue }
            let isUnheard = counts.deaths > 0 && (told == .shown && Self.followsShown(kept) || wasSnoozed(id))
            if !isUnheard { complain("event \(id) is \(kept), and was announced as \(told)") }
        }
        // Nobody knows of a banner that was asked for by a daemon that died before it could write that down.
        for banner in server.up
        where !banner.isLost && !isUnknown(banner) && (banner.knownTo === life || isRecorded(banner)) {
            complain("all is claimed, and banner \(banner.id) of \(banner.events) is still up")
        }
    }
}
