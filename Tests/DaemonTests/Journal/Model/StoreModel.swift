import Routing

@testable import Journal

/// What a store must hold: everything in dictionaries, each record applied as soon as it comes.
struct StoreModel {
    private(set) var events: [EventID: EventState] = [:]
    private(set) var quiet: [StoredQuiet] = []
    private(set) var snoozes: [StoredSnooze] = []
    private(set) var digests: [OwedDigest] = []
    private(set) var banners: [UInt32: StoredBanner] = [:]
    private(set) var awaited: [Origin: StoredAwaited] = [:]
    private(set) var tombstones: [Topic: Tombstone] = [:]
    /// Those of removals and of forgotten events.
    private(set) var globalIDs: [EventID: Origin] = [:]
    /// The highest id that belongs to no event.
    private(set) var lastID = EventID(0)
    /// The highest number that a change has, or the time of the start.
    private(set) var newestChange: Int64
    private var lastNumber: Int64 = 0
    private(set) var oldestChange: Int64
    private var lastHole: Int64?
    private var newestID = EventID(0)
    private var rows: [Row] = []
    /// The highest number before this process; `nil`: it has written that it has started.
    private var unwrittenStart: Int64?

    /// A change that is neither an event nor an outcome.
    private struct Row {
        enum Content {
            case accepted(EventID)
            case read(EventID, by: String, at: Int64, from: ClaimPlace)
            case removed(StoredRemoval)
            case start(last: Int64)
        }
        var number: Int64
        var content: Content
    }

    /// - Parameter now: when it was made.
    init(at now: Int64) {
        oldestChange = now + 1
        newestChange = 0
        open(at: now)
    }

    mutating func open(at now: Int64) {
        unwrittenStart = lastNumber
        newestChange = max(lastNumber, now)
    }

    mutating func probe() {
        guard let last = unwrittenStart else { return }
        unwrittenStart = nil
        add(.start(last: last))
    }

    // MARK: Records

    mutating func commit(_ records: [Record]) {
        for record in records { apply(record, of: records) }
    }

    private mutating func apply(_ record: Record, of turn: [Record]) {
        switch record {
        case .accepted(let event): accept(event, of: turn)
        case .decided(let id, let decision): decide(id, decision)
        case .claimed(let id, let claim):
            if events[id]?.claims.count ?? .max < Journal.claimsOfOneEvent { events[id]?.claims.append(claim) }
        case .named(let claimant, let program, let id): name(claimant, program, on: id)
        case .read(let id, let reader, let moment, let place): read(id, by: reader, at: moment, from: place)
        case .quietReplaced(let all): quiet = all
        case .snoozesReplaced(let all): snoozes = all
        case .digestsReplaced(let all): digests = all
        case .bannerUp(let banner): banners[banner.number] = banner
        case .bannerGone(let number): banners[number] = nil
        case .allBannersGone: banners = [:]
        case .awaited(let claim):
            lastHole = take()
            awaited[claim.origin] = claim
        case .awaitedGone(let origin): awaited[origin] = nil
        case .allAwaitedGone: awaited = [:]
        case .removed(let removal, let version): remove(removal, leaving: version)
        case .tombstone(let tombstone):
            if tombstones[tombstone.topic].map({ $0.removal < tombstone.removal }) ?? true {
                tombstones[tombstone.topic] = tombstone
            }
        default: break
        }
    }

    private mutating func take() -> Int64 {
        newestChange += 1
        lastNumber = newestChange
        return newestChange
    }

    private mutating func add(_ content: Row.Content) { rows.append(Row(number: take(), content: content)) }

    private mutating func accept(_ event: StoredEvent, of turn: [Record]) {
        let isLate = event.id < newestID
        newestID = max(newestID, event.id)
        if event.retained { removeValue(of: event.topic) }
        let number = take()
        events[event.id] = EventState(event: event, number: isLate ? nil : number, isValue: event.retained)
        if isLate { rows.append(Row(number: number, content: .accepted(event.id))) }
        guard let key = event.collapse else { return }
        for earlier in sorted where earlier.event.collapse == key && earlier.event.topic == event.topic {
            let id = earlier.event.id
            guard id < event.id, earlier.event.decision?.markedRead != nil, !turn.replace(id) else { continue }
            read(id, by: event.sender, at: event.accepted, from: ClaimPlace())
        }
    }

    private mutating func decide(_ id: EventID, _ given: StoredDecision) {
        let isOutcome = !given.isRead || events[id].map { $0.event.decision == nil } ?? false
        let number = isOutcome ? take() : nil
        var decision = given
        if given.followsShown, let shown = events[id]?.event.decision { decision = given.following(shown) }
        if events[id]?.isMarkedRead ?? false, let marked = decision.markedRead { decision = marked }
        events[id]?.event.decision = decision
        if let number { events[id]?.decided = number }
        if events[id] == nil { lastHole = number ?? lastHole }
        if isOutcome, given.isRead { read(id, by: "", at: given.resolved, from: ClaimPlace()) }
    }

    private mutating func name(_ claimant: String, _ program: String, on id: EventID) {
        guard var state = events[id] else { return }
        if state.event.decision?.claimant == claimant { state.event.decision?.program = program }
        for index in state.claims.indices where state.claims[index].claimant == claimant {
            state.claims[index].program = program
        }
        events[id] = state
    }

    private mutating func read(_ id: EventID, by reader: String, at moment: Int64, from place: ClaimPlace) {
        events[id]?.isMarkedRead = true
        if var marked = events[id]?.event.decision?.markedRead {
            marked.place = place
            events[id]?.event.decision = marked
        }
        add(.read(id, by: reader, at: moment, from: place))
    }

    private mutating func remove(_ removal: StoredRemoval, leaving version: ValueVersion?) {
        lastID = max(lastID, removal.id)
        add(.removed(removal))
        if let version {
            removeValue(of: removal.topic)
            tombstones[removal.topic] = Tombstone(topic: removal.topic, version: version, removal: removal.id)
        }
        if removal.origin.isGlobalID { globalIDs[removal.id] = removal.origin }
    }

    private mutating func removeValue(of topic: Topic) {
        for id in events.keys where events[id]?.event.topic == topic { events[id]?.isValue = false }
    }

    // MARK: Deletions

    /// The events that may be deleted because of their age, the oldest first.
    var deletable: [EventID] {
        let last = events.keys.max() ?? EventID(0)
        return sorted.filter { $0.event.decision != nil && !$0.isValue && $0.event.id < last }.map(\.event.id)
    }

    mutating func expire(_ ids: [EventID]) {
        guard !ids.isEmpty else { return }
        keepNewestChange()
        let last = ids.compactMap { events[$0]?.number }.max() ?? 0
        for id in ids { events[id] = nil }
        guard last >= oldestChange else { return }
        oldestChange = last + 1
        rows.removeAll { $0.number <= last }
    }

    private mutating func keepNewestChange() {
        lastHole = newestChange
        lastNumber = newestChange
    }

    /// - Returns: the events that were deleted.
    mutating func forget(_ topic: TopicPrefix, upTo last: EventID) -> [EventID] {
        let gone = sorted.filter {
            $0.event.decision != nil && !$0.isValue && $0.event.id <= last && topic.covers($0.event.topic)
        }.map(\.event)
        guard let newest = gone.last else { return [] }
        keepNewestChange()
        lastID = max(lastID, newest.id)
        for event in gone {
            events[event.id] = nil
            if event.origin.isGlobalID { globalIDs[event.id] = event.origin }
        }
        return gone.map(\.id)
    }

    // MARK: Reading

    /// All events in the order of their ids.
    var sorted: [EventState] { events.values.sorted { $0.event.id < $1.event.id } }

    func changes(after number: UInt64) -> [StoredChange] {
        let after = Int64(clamping: number)
        var changes = rows.compactMap { change(of: $0) }
        for state in events.values {
            if let number = state.number { changes.append(StoredChange(number, .event(state.event))) }
            if let decided = state.decided { changes.append(StoredChange(decided, .outcome(state.event))) }
        }
        changes = changes.filter { $0.number > number }.sorted { $0.number < $1.number }
        if let lastHole, lastHole > changes.last.map({ Int64($0.number) }) ?? after {
            changes.append(StoredChange(lastHole, .hole))
        }
        return changes
    }

    private func change(of row: Row) -> StoredChange? {
        switch row.content {
        case .accepted(let id): events[id].map { StoredChange(row.number, .event($0.event)) }
        case .read(let id, let reader, let moment, let place):
            events[id].map { StoredChange(row.number, .read($0.event, by: reader, at: moment, from: place)) }
        case .removed(let removal): StoredChange(row.number, .removed(removal))
        case .start(let last): StoredChange(row.number, .start(last: UInt64(last)))
        }
    }

    /// The highest id that was ever assigned.
    var highestID: EventID {
        let shown = events.values.compactMap { state in
            state.event.decision?.outcome == .shown ? state.event.decision?.shownWith : nil
        }
        return (Array(events.keys) + banners.values.map(\.first) + shown + [lastID]).max() ?? EventID(0)
    }

    /// Events, removals and forgotten events with a global id.
    var named: [NamedPush] {
        let events = events.values.filter(\.event.origin.isGlobalID).map {
            NamedPush(origin: $0.event.origin, id: $0.event.id)
        }
        return (events + globalIDs.map { NamedPush(origin: $1, id: $0) }).sorted { $0.id < $1.id }
    }
}

extension [Record] {
    /// Whether an event becomes `replaced`.
    fileprivate func replace(_ id: EventID) -> Bool {
        contains { if case .decided(id, let decision) = $0 { decision.outcome == .replaced } else { false } }
    }
}
