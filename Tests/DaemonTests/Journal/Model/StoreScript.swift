import NotifyTestSupport
import Routing

@testable import Journal

/// Makes turns such as a router could write, and some that it would not.
struct StoreScript {
    private var random: SplitMix64
    private var lastID: UInt64 = 1_790_000_000_000_000
    /// All events, deleted ones included.
    private(set) var ids: [EventID] = []
    /// The first events of the last banners.
    private var firsts = [EventID(1)]

    private static let topics = ["/post", "/post!", "/post/1", "/post/1/a", "/post0", "/chat", "/chat/x"]
    private static let claimants = [":1.7", ":1.8", ":1.9"]

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    private mutating func maybe<Element>(_ element: Element) -> Element? {
        chance(50) ? element : nil
    }

    mutating func turn(_ model: StoreModel) throws -> [Record] {
        var turn: [Record] = []
        for _ in 0..<pick([1, 1, 1, 2, 3, 5, 40]) { turn += try records(model) }
        // So that the log uses its segments again.
        if chance(10) { turn.append(digests(20_000)) }
        // What somebody has seen to does not become unseen.
        var seen = Set(model.events.values.filter { $0.event.decision?.code ?? 0 >= 10 }.map(\.event.id))
        return turn.filter { record in
            guard case .decided(let id, let decision) = record else { return true }
            if decision.code >= 10 { seen.insert(id) }
            return decision.code >= 10 || !seen.contains(id)
        }
    }

    private mutating func records(_ model: StoreModel) throws -> [Record] {
        switch below(32) {
        case 0..<12: return [.accepted(try event())]
        case 12..<20: return [.decided(target(), decision())]
        case 20: return try [.accepted(event()), .decided(ids.last ?? EventID(0), decision())]
        case 21:
            let (id, claim) = (target(), claim())
            return [.claimed(id, claim)] + (chance(30) ? [.named(claim.claimant, "firefox", id)] : [])
        case 22: return [.named(pick(Self.claimants), pick(["firefox", "feed.service"]), target())]
        case 23: return [.read(target(), by: pick(Self.claimants), at: number(), from: place())]
        case 24: return mark(model)
        case 25: return [try state()]
        case 26, 27: return [banner()]
        case 28: return [awaited()]
        case 29: return [.removed(try removal(), leaving: chance(80) ? version() : nil)]
        case 30: return [.tombstone(try tombstone()), .tombstone(try tombstone())]
        default: return try replacement(model)
        }
    }

    // MARK: Events

    private mutating func newID() -> EventID {
        lastID += UInt64(10 + below(1_000))
        return EventID(lastID)
    }

    private mutating func event() throws -> StoredEvent {
        // Some come after those that were accepted later.
        let isLate = chance(3) && ids.count > 20
        let id = isLate ? EventID(ids[ids.count - 1 - below(20)].rawValue - 1 - UInt64(below(8))) : newID()
        ids.removeAll { $0 == id }
        ids.append(id)
        let name = chance(3) ? "often" : "\(id)"
        var event = StoredEvent(
            id: id, topic: try Topic(pick(Self.topics)), title: "title \(id)", body: "body \(id)", fields: [],
            published: number(), sender: pick(Self.claimants),
            origin: chance(50) && !isLate ? Origin(source: "test", eventID: name, via: maybe("mqtt")) : Origin(),
            urgency: maybe(.critical), collapse: chance(20) ? pick(["k", "l"]) : nil, retained: chance(20), route: "r",
            key: "k", window: number(), accepted: number(),
            expires: Expiry(wall: number(), uptime: number(), boot: "boot"))
        if chance(1) { event.body = String(repeating: "x", count: 150_000) }
        if chance(10) { event.fields = [Field(name: "f", value: .string(String(repeating: "y", count: below(6_000))))] }
        return event
    }

    /// Mostly a recent event, and sometimes one that is deleted or was never there.
    private mutating func target() -> EventID {
        guard !ids.isEmpty, !chance(2) else { return EventID(UInt64(below(1_000))) }
        return chance(80) ? ids[max(0, ids.count - 1 - below(12))] : pick(ids)
    }

    private mutating func decision() -> StoredDecision {
        var decision = StoredDecision(outcome: pick(Outcome.allCases), resolved: number())
        if chance(50) { (decision.opened, decision.deadline) = (number(), number()) }
        decision.claimant = maybe(pick(Self.claimants))
        decision.latency = maybe(number())
        decision.lateness = maybe(number())
        decision.program = chance(10) ? "notes" : nil
        decision.action = chance(10) ? "accept" : nil
        decision.delay = maybe(.absent)
        if decision.outcome == .shown { decision.shownWith = maybe(chance(60) ? pick(firsts) : target()) }
        if chance(5), let marked = decision.markedRead { decision = marked }
        return decision
    }

    private mutating func claim() -> ClaimRecord {
        ClaimRecord(
            claimant: pick(Self.claimants), latency: maybe(.microseconds(number())), form: pick(ClaimForm.allCases),
            verdict: pick(Verdict.allCases))
    }

    /// Marks as read what is muted or expired.
    private mutating func mark(_ model: StoreModel) -> [Record] {
        let id = target()
        guard model.events[id]?.event.decision?.markedRead != nil else { return [] }
        return [.read(id, by: pick(Self.claimants), at: number(), from: place())]
    }

    /// An event in the place of an earlier one.
    private mutating func replacement(_ model: StoreModel) throws -> [Record] {
        var event = try event()
        event.collapse = pick(["k", "l"])
        let earlier = model.sorted.last {
            $0.event.topic == event.topic && $0.event.collapse == event.collapse && $0.event.id < event.id
        }
        guard let earlier else { return [.accepted(event)] }
        var decision = StoredDecision(outcome: .replaced, resolved: number())
        decision.successor = event.id
        return [.accepted(event), .decided(earlier.event.id, decision)]
    }

    // MARK: What is not an event

    private mutating func state() throws -> Record {
        switch below(3) {
        case 0:
            let topic = try TopicPrefix(pick(Self.topics))
            return .quietReplaced([StoredQuiet(topic: topic, cause: .muted, end: maybe(end()))])
        case 1: return .snoozesReplaced([StoredSnooze(event: target(), end: end())])
        default: return digests(1)
        }
    }

    private mutating func digests(_ count: Int) -> Record {
        let digest = OwedDigest(ActiveSchedule.Period(.all, began: number()), name: target(), first: target())
        return .digestsReplaced(Array(repeating: digest, count: count))
    }

    private mutating func banner() -> Record {
        let number = UInt32(below(12))
        switch below(12) {
        case 0..<3: return .bannerGone(number)
        case 3: return .allBannersGone
        default:
            // No two banners begin with the same event.
            let first =
                chance(80) && !ids.isEmpty ? EventID(ids[ids.count - 1].rawValue + UInt64(number) * 1_000_000) : newID()
            firsts = (firsts + [first]).suffix(4)
            return .bannerUp(StoredBanner(number: number, server: "bus :1.2", first: first, isSummary: chance(10)))
        }
    }

    private mutating func awaited() -> Record {
        let origin = Origin(source: "chat", eventID: "\(below(10))")
        switch below(10) {
        case 0..<3: return .awaitedGone(origin)
        case 3: return .allAwaitedGone
        default:
            let claim = NamedClaim(
                name: .origin(origin), origin: origin, kind: pick(NamedClaim.Kind.allCases), claimant: ":1.7",
                place: place(), identity: [])
            return .awaited(StoredAwaited(claim, end: end()))
        }
    }

    private mutating func removal() throws -> StoredRemoval {
        let isNamed = chance(50)
        let id = newID()
        return StoredRemoval(
            id: id, topic: try Topic(pick(Self.topics)),
            origin: isNamed ? Origin(source: "test", eventID: "removal \(id)") : Origin(), published: number(),
            removed: number(), cause: pick([.publisher, .replaced]))
    }

    private mutating func version() -> ValueVersion {
        ValueVersion(published: number(), id: target(), origin: Origin())
    }

    private mutating func tombstone() throws -> Tombstone {
        Tombstone(
            topic: try Topic(pick(Self.topics)), version: version(),
            removal: chance(50) ? newID() : EventID(lastID - UInt64(below(50_000))))
    }

    private mutating func place() -> ClaimPlace { chance(30) ? ClaimPlace(device: "phone", via: "mqtt") : ClaimPlace() }

    private mutating func end() -> StoredQuiet.End {
        StoredQuiet.End(moment: Expiry(wall: number(), uptime: number(), boot: "boot"), left: number())
    }

    private mutating func number() -> Int64 { Int64.random(in: 0..<1 << 50, using: &random) }
}
