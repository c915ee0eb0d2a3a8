@testable import Journal
@testable import NotifyDaemon
@testable import Routing

/// What the world outside was told, over any number of the daemon's lives, and what it was promised by that.
final class Witness {
    struct Counts {
        var acknowledged = 0
        var refused = 0
        var announced = 0
        var replayed = 0
        var suppressed = 0
        var retracted = 0
        var banners = 0
        /// Events of an earlier run that were announced before their turn, because somebody referred to them.
        var outOfTurn = 0
        /// Calls that came while events of an earlier run were still to be announced again.
        var duringRecovery = 0
        /// Ends of a run at such a moment.
        var endsOfRecovery = 0
        var deaths = 0
        /// Outcomes that were told while the journal could not be written.
        var onTrust = 0
        var replaced = 0
        /// Snoozes that were acknowledged.
        var snoozed = 0
        /// Names that were acknowledged as awaited, and events that came with such a name.
        var awaited = 0
        var come = 0
        /// Digests that were published, and the events that they told about.
        var digests = 0
        var toldByDigests = 0
        var read = 0
        /// Marks as read that were acknowledged.
        var marked = 0
        /// Events that were deleted when a call of `Forget` was answered.
        var forgotten = 0
        /// Rows of `Changes` that a follower read, those that report starts, and values that came too late.
        var followed = 0
        var starts = 0
        var outdated = 0
    }

    struct Account {
        /// The end of its window, as far as it was announced.
        var windowEnds: Instant?
        var waitsForAnyone = true
        var heard: [Outcome] = []
        /// Somebody was told that there will be no banner for it.
        var isClaimed = false
        /// It was claimed before it came.
        var wasAwaited = false
        /// What was told about it could not be kept yet.
        var isOnTrust = false
    }

    static let memory = Limits().deduplicationTime.microseconds

    let disk: SimulatedDisk
    let server: SimulatedServer
    var complaint: String?
    var counts = Counts()
    var accounts: [EventID: Account] = [:]
    var acknowledged: [EventID] = []
    /// The events whose banners the server was asked for.
    var asked: Set<EventID> = []
    var removals: Set<EventID> = []
    var follower = Follower()
    /// The events whose snooze was acknowledged. A disk that is broken may not have kept that.
    var snoozed: Set<EventID> = []
    var lastAnnounced = EventID(0)
    /// What the present run has announced again, and the highest id of it.
    var replayed: Set<EventID> = []
    var lastReplayed = EventID(0)
    /// The first event of each origin, as long as it has to be remembered.
    var origins: [Origin: (id: EventID, until: Int64)] = [:]
    /// When something was first published under each origin: a daemon that dies before it can say so may have kept it.
    var attempts: [Origin: Int64] = [:]
    /// Whether repeats are recognised for as long as they should be, whoever sets the wall clock.
    var remembersOrigins = true
    /// What is awaited by its name, and until when at least.
    var awaited: [Origin: Int64] = [:]
    /// How long a name is awaited at least, as long as nobody sets the wall clock.
    var awaitTime: Int64 = 0
    var remembersAwaited = true
    /// Whether a run has had more banners up than it keeps in memory.
    var hasLetGo = false

    /// The number of the journal, by which events without a name are named.
    var device = ""
    /// What somebody asked to have deleted.
    var forgettable: [(topic: TopicPrefix, last: EventID)] = []
    var topics: [EventID: Topic] = [:]
    /// What was decided when somebody deleted the files, and what was not.
    var deleted: Set<EventID> = []
    var inMemoryOnly: Set<EventID> = []
    /// What digests may report, once each.
    var heldBack: Set<HeldBack> = []

    /// An event that was held back. One that was snoozed may be held back again, by a later period with another digest.
    struct HeldBack: Hashable {
        let event: EventID
        let digest: EventID
    }

    init(disk: SimulatedDisk, server: SimulatedServer) {
        self.disk = disk
        self.server = server
    }

    /// Only the first broken promise counts: others may follow from it.
    func complain(_ text: String) {
        if complaint == nil { complaint = text }
    }

    /// Whether it was deleted because somebody asked for that.
    func isForgotten(_ id: EventID) -> Bool {
        if deleted.contains(id) { return true }
        guard let topic = topics[id] ?? follower.events[id]?.topic else { return false }
        return forgettable.contains { id <= $0.last && $0.topic.covers(topic) } && disk.event(id) == nil
    }
    func outcome(_ id: EventID) -> Outcome? { disk.event(id)?.decision?.outcome }

    // MARK: What the daemon says

    /// - Parameters:
    ///   - moment: on a clock that nobody sets, microseconds.
    ///   - boot: the present one.
    ///   - turn: how long the daemon's turn has taken.
    func heard(
        _ message: Simulation.Message, isDegraded: Bool, at moment: Int64, in boot: String, turn: Duration
    ) {
        switch message {
        case .reply(.success(.accepted(let id)), let call):
            if case .published(let publication) = call.call { accepted(id, publication, at: moment) }
        case .reply(.success(.verdict(let verdict)), let call):
            if case .claimed(let id, let peer, _) = call.call {
                claimed(id, verdict, isDegraded)
                if !isDegraded { checkStep(id, by: peer, verdict, in: boot) }
            }
            if case .claimedNamed(let claim, _) = call.call {
                // The wait for its name began when the call was handled.
                heard(verdict, on: claim, event: call.known, isDegraded, at: moment - turn.microseconds)
            }
        case .reply(.success(.done), let call):
            if case .answered(let id, .completed, _) = call.call { claimed(id, .suppressed, isDegraded) }
            if case .snoozed(let id, _, _) = call.call {
                counts.snoozed += 1
                snoozed.insert(id)
            }
        case .reply(.failure, _): counts.refused += 1
        case .reply, .action: break
        case .event(let event, let announcement, let windowEnds):
            checkAwaited(event, announcement, at: moment)
            announced(event, announcement, windowEnds, turn)
        case .resolved(let id, let resolution):
            resolved(id, resolution.outcome, isDegraded)
            checkSuccessor(of: id, resolution.outcome, resolution.successor)
        case .removed(let topic, let id):
            if let value = disk.contents.values[topic], value < id, !isDegraded {
                complain("the value \(value) of \(topic) is on disk after its removal \(id)")
            }
        }
    }

    func accepted(_ id: EventID, _ publication: Publication, at moment: Int64) {
        counts.acknowledged += 1
        let origin = publication.options.origin
        let isNamed = origin.eventID != nil
        if isNamed, remembersOrigins, let first = origins[origin], first.id != id, moment < first.until {
            complain("a repeat of event \(first.id) became \(id)")
        }
        let stored = disk.event(id)
        // A repeat may name another topic.
        topics[id] = stored?.topic ?? topics[id] ?? publication.topic
        if let event = stored {
            acknowledged.append(id)
            if event.body == publication.body, event.collapse != nil { checkReplaced(by: event) }
            if isNamed { remember(id, origin, at: moment) }
            let isTheSame = event.body == publication.body || isNamed && event.origin == origin
            if !isTheSame { complain("\(publication.body) was given the id \(id) of \(event.body)") }
        } else if publication.options.remove {
            removals.insert(id)
            if isNamed { remember(id, origin, at: moment) }
        } else if isNamed && isForgotten(id) {
            remember(id, origin, at: moment)
        } else if !(isNamed && (removals.contains(id) || disk.contents.removals.contains(id))) {
            // A removal may be on disk although the daemon died before it could say so to the first who asked.
            complain("event \(id) is acknowledged, and is not on disk")
        }
    }

    func remember(_ id: EventID, _ origin: Origin, at moment: Int64) {
        let attempt = attempts.removeValue(forKey: origin) ?? moment
        if origins[origin]?.id != id { origins[origin] = (id, until: attempt + Self.memory) }
    }

    func claimed(_ id: EventID, _ verdict: Verdict, _ isDegraded: Bool) {
        switch verdict {
        case .suppressed:
            counts.suppressed += 1
            accounts[id, default: Account()].isClaimed = true
            expect(.claimed, of: id, isDegraded)
        case .retracted:
            counts.retracted += 1
            let isShown = asked.contains(id) || disk.event(id).map(\.isOwnBanner) == true
            if !isShown, !isForgotten(id) { complain("event \(id) is retracted, and its banner was never asked for") }
            expect(.retracted, of: id, isDegraded)
        case .recorded: break
        case .awaited: complain("event \(id) is claimed by its id, and is awaited")
        }
    }

    /// What a claim by name did, or that its event is awaited.
    func heard(
        _ verdict: Verdict, on claim: NamedClaim, event id: EventID?, _ isDegraded: Bool, at moment: Int64
    ) {
        switch verdict {
        case .awaited:
            counts.awaited += 1
            // The event may have come in the same turn.
            let hasCome = disk.contents.events.values.contains {
                ($0.globalName ?? ownName(of: $0.id)) == claim.origin
            }
            if !disk.contents.awaited.contains(claim.origin), !hasCome {
                complain("\(claim.origin) is awaited, and is not on disk")
            }
            awaited[claim.origin] = max(awaited[claim.origin] ?? 0, moment + awaitTime)
        case .suppressed:
            guard let id else { return complain("\(claim.origin) is claimed in time, and is not known") }
            accounts[id, default: Account()].isClaimed = true
            expect(claim.kind == .withdrawn ? .withdrawn : .claimed, of: id, isDegraded)
        case .retracted:
            guard let id else { return complain("\(claim.origin) is claimed, and is not known") }
            switch claim.kind {
            case .withdrawn: expect(.withdrawn, of: id, isDegraded)
            // What is on its way to the server has not been shown.
            case .dismissed where outcome(id) != .retracted: expect(.dismissed, of: id, isDegraded)
            case .claimed, .dismissed, .read: expect(.retracted, of: id, isDegraded)
            }
        case .recorded: break
        }
    }

    /// What was claimed before it came is announced as claimed.
    func checkAwaited(_ event: Event, _ announcement: Announcement, at moment: Int64) {
        let stored = disk.event(event.id)
        let name = stored?.globalName ?? ownName(of: event.id)
        guard let until = awaited.removeValue(forKey: name), remembersAwaited, moment < until else { return }
        counts.come += 1
        accounts[event.id, default: Account()].wasAwaited = true
        if !announcement.isClaimed, announcement.silence == nil {
            complain("event \(event.id) was claimed before it came, and is announced as not claimed")
        }
    }

    /// Every claim is kept with what its claimant was answered, and with its latency where a clock knows that.
    func checkStep(_ id: EventID, by peer: String, _ verdict: Verdict, in boot: String) {
        if isForgotten(id) { return }
        let event = disk.event(id)
        func isRight(hasLatency: Bool) -> Bool {
            // One that was written again has the times of this boot, and may have come before it.
            inMemoryOnly.contains(id) || hasLatency == (event?.expires.boot == boot)
        }
        if let decision = event?.decision, decision.claimant == peer, decision.verdict == verdict,
            isRight(hasLatency: decision.latency != nil)
        {
            return
        }
        let isKept = disk.claims(on: id).contains {
            $0.claimant == peer && $0.form == .claim && $0.verdict == verdict
                && isRight(hasLatency: $0.latency != nil)
        }
        if !isKept { complain("\(peer) was answered \(verdict) about event \(id), and that is not kept") }
    }

    /// What was announced is on disk, or will be when the disk is well again.
    func expect(_ outcome: Outcome, of id: EventID, _ isDegraded: Bool) {
        let kept = self.outcome(id)
        if isForgotten(id) || kept == outcome || outcome == .shown && kept.map(Self.followsShown) == true { return }
        // What comes back to be snoozed again may have yet another outcome in the same commit.
        if !isDegraded, kept != nil, [.shown, .muted].contains(outcome), wasSnoozed(id) { return }
        guard isDegraded else {
            return complain(
                "event \(id) is \(outcome) to the world, and \(kept.map(\.rawValue) ?? "undecided") on disk")
        }
        if !accounts[id, default: Account()].isOnTrust { counts.onTrust += 1 }
        accounts[id, default: Account()].isOnTrust = true
    }

    func announced(
        _ event: Event, _ announcement: Announcement, _ windowEnds: Instant?, _ turn: Duration
    ) {
        let id = event.id
        topics[id] = event.topic
        if disk.event(id) == nil { complain("event \(id) is announced, and is not on disk") }
        var account = accounts[id] ?? Account()
        let isNew = accounts[id].map { $0.wasAwaited && $0.heard.isEmpty } ?? true
        if event.topic == DigestTally.topic, !announcement.isReplayed { checkDigest(event) }
        if announcement.isReplayed {
            counts.replayed += 1
            if id < lastReplayed { counts.outOfTurn += 1 }
            lastReplayed = max(lastReplayed, id)
            if !replayed.insert(id).inserted { complain("event \(id) is announced again a second time") }
            if !account.heard.isEmpty { complain("event \(id) is \(account.heard), and is announced again") }
            // What the turn took, to its last commit, is over when everybody hears of it.
            if event.route.wait == .anyone, let window = announcement.window, window + turn < Simulation.recoveryWindow
            {
                complain("event \(id) is announced again with a window of only \(window)")
            }
        } else {
            counts.announced += 1
            if !isNew { complain("event \(id) is announced as new twice") }
            if id <= lastAnnounced { complain("event \(id) comes after \(lastAnnounced)") }
            lastAnnounced = id
        }
        account.windowEnds = windowEnds
        account.waitsForAnyone = event.route.wait == .anyone
        if announcement.silence != nil {
            account.heard = [.silent]
            disk.event(id).map(noteHeldBack)
        }
        accounts[id] = account
    }

    static let allowed: [[Outcome]] = [
        [.claimed], [.muted], [.expired], [.shown], [.shown, .retracted], [.shown, .dismissed], [.retracted],
        [.withdrawn], [.replaced], [.shown, .withdrawn], [.shown, .replaced],
    ]

    static func followsShown(_ outcome: Outcome) -> Bool {
        [.retracted, .dismissed, .withdrawn, .replaced].contains(outcome)
    }

    /// Whether its outcome may change although it was shown or muted.
    func wasSnoozed(_ id: EventID) -> Bool {
        snoozed.contains(id) || disk.claims(on: id).contains { $0.form == .snooze }
    }

    /// The event that took the place of another one is on disk.
    func checkSuccessor(of id: EventID, _ outcome: Outcome, _ successor: EventID?) {
        guard outcome == .replaced else { return }
        counts.replaced += 1
        guard let successor, disk.event(successor) != nil || isForgotten(successor) else {
            return complain("event \(id) is replaced by an event that is not on disk")
        }
    }

    /// Of the events with the same collapse at the same topic only the last can be unread.
    func checkReplaced(by event: StoredEvent) {
        for earlier in disk.contents.earlier(than: event) where earlier.isUnread {
            complain("event \(earlier.id) is unread, and \(event.id) takes its place")
        }
    }

    /// No event is reported twice.
    func checkDigest(_ event: Event) {
        guard event.sender == "org.notifyd.Router1", case .uint64(let count)? = event.fields.first?.value else {
            return complain("digest \(event.id) does not say how many events it reports")
        }
        counts.digests += 1
        counts.toldByDigests += Int(count)
        disk.contents.events.values.forEach(noteHeldBack)
        if counts.toldByDigests > heldBack.count {
            complain("digests report \(counts.toldByDigests) events, and \(heldBack.count) were held back")
        }
    }

    func resolved(_ id: EventID, _ outcome: Outcome, _ isDegraded: Bool) {
        var account = accounts[id] ?? Account()
        // A snoozed event comes back with another outcome, or with the same again.
        if let last = account.heard.last, last == .muted || last == .shown && !Self.followsShown(outcome),
            wasSnoozed(id)
        {
            account.heard.removeLast()
        }
        account.heard.append(outcome)
        // What is decided before the files are begun afresh is not written again.
        if isDegraded, inMemoryOnly.remove(id) != nil { deleted.insert(id) }
        if outcome == .muted { disk.event(id).map(noteHeldBack) }
        if outcome == .claimed { account.isClaimed = true }
        accounts[id] = account
        // That it was shown may have been left unsaid by a daemon that died.
        let isAllowed = Self.allowed.contains(account.heard) || counts.deaths > 0 && account.heard == [.dismissed]
        if !isAllowed { complain("event \(id) has the outcomes \(account.heard)") }
        expect(outcome, of: id, isDegraded)
    }

    // MARK: What the daemon asks for

    /// The notification server is asked for a banner.
    ///
    /// - Parameter carried: the events that it is to show and has not shown yet.
    func asked(_ request: BannerRequest, carried: [EventID], at now: Instant) {
        counts.banners += 1
        asked.formUnion(carried + [request.newest.id])
        for id in carried.contains(request.newest.id) ? carried : carried + [request.newest.id] {
            guard let account = accounts[id] else {
                // A daemon that died may have kept that it was muted, and not have announced it. Then somebody snoozed
                // it.
                if counts.deaths > 0, wasSnoozed(id), disk.event(id) != nil { continue }
                return complain("a banner for event \(id), of which nobody has heard")
            }
            // A commit that failed may be on the disk: that an event is replaced by one that was refused is taken back
            // later.
            let isRefused = disk.event(id)?.decision?.successor.map { accounts[$0] == nil } ?? false
            let kept = isRefused ? nil : outcome(id)
            if account.wasAwaited { complain("a banner for event \(id), which was claimed before it came") }
            // An update without a new event: another one was withdrawn or replaced.
            let wasShown = kept == .shown || account.heard.first == .shown
            if request.replaces != nil, !carried.contains(id), wasShown { continue }
            if isForgotten(id), !deleted.union(inMemoryOnly).contains(id) {
                complain("a banner for event \(id), which is forgotten")
            }
            // Where the disk is broken, it may not have kept that the event was shown or muted before.
            let before = kept ?? account.heard.last
            if before == .shown || before == .muted, wasSnoozed(id) { continue }
            if kept != nil { complain("a banner for event \(id), which is \(kept!)") }
            if !account.heard.isEmpty { complain("a banner for event \(id), which is \(account.heard) to the world") }
            if account.isClaimed { complain("a banner for event \(id), which was claimed in time") }
            if account.waitsForAnyone, let ends = account.windowEnds, now < ends {
                complain("a banner for event \(id) before its window's end")
            }
        }
    }
}

extension StoredEvent {
    /// Whether its publisher shows the banner.
    fileprivate var isOwnBanner: Bool { Appearance.isOwnBanner(appearance) }
}
