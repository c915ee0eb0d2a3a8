import NotifyTestSupport
import Routing

@testable import Journal

/// Makes records of any content, with values at the ends of their ranges more often than others.
struct RandomRecords {
    /// How many cases `Record` has.
    static let recordCases = 23

    private var generator: SplitMix64
    /// The length of the longest texts, in characters.
    var longest = 200

    init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    // MARK: Records

    mutating func record(_ index: Int) throws -> LogRecord {
        LogRecord(try content(index), number: maybe { $0.number() })
    }

    private mutating func content(_ index: Int) throws -> Record {
        switch index {
        case 0: .accepted(try event())
        case 1: .decided(id(), decision())
        case 2: .read(id(), by: text(), at: number(), from: place())
        case 3: .claimed(id(), claim())
        case 4: .named(text(), text(), id())
        case 5: .quietReplaced(try list { try $0.quiet() })
        case 6: .snoozesReplaced(try list { $0.snooze() })
        case 7: .digestsReplaced(try list { try $0.digest() })
        case 8: .bannerUp(banner())
        case 9: .bannerGone(UInt32(truncatingIfNeeded: number()))
        case 10: .allBannersGone
        case 11: .awaited(awaited())
        case 12: .awaitedGone(origin())
        case 13: .allAwaitedGone
        case 14: .removed(try removal(), leaving: maybe { $0.version() })
        case 15: .tombstone(try tombstone())
        case 16: .start(last: id().rawValue, at: number())
        case 17: .late(id())
        case 18: .event(try state())
        case 19: .globalID(NamedPush(origin: origin(), id: id()))
        case 20: .seed(text())
        case 21:
            .retention(
                RetentionClock.State(
                    age: number(), uptime: number(), boot: text(), lead: maybe { $0.number() },
                    isAbsenceCounted: flag()),
                try list { RetentionMarks.Mark(id: $0.number(), age: $0.number()) }, events: number(), last: number())
        default: .counter(pick(Record.Counter.allCases), number())
        }
    }

    private mutating func state() throws -> EventState {
        EventState(
            event: try event(), number: maybe { $0.number() }, decided: maybe { $0.number() },
            claims: try list { $0.claim() }, isMarkedRead: flag(), isValue: flag())
    }

    // MARK: Their parts

    private mutating func event() throws -> StoredEvent {
        StoredEvent(
            id: id(), topic: try topic(), title: text(), body: text(), fields: fields(), published: number(),
            sender: text(), origin: origin(), urgency: maybe { $0.pick(Urgency.allCases) },
            collapse: maybe { $0.text() }, retained: flag(), appearance: fields(), route: text(), key: text(),
            window: number(), accepted: number(), expires: expiry(), decision: maybe { $0.decision() })
    }

    private mutating func decision() -> StoredDecision {
        var decision = StoredDecision(outcome: pick(Outcome.allCases), resolved: number())
        decision.opened = maybe { $0.number() }
        decision.deadline = maybe { $0.number() }
        decision.claimant = maybe { $0.text() }
        decision.latency = maybe { $0.number() }
        decision.form = maybe { $0.pick(ClaimForm.allCases) }
        decision.banner = maybe { UInt32(truncatingIfNeeded: $0.number()) }
        decision.server = maybe { $0.text() }
        decision.shownWith = maybe { $0.id() }
        decision.count = maybe { Int($0.number()) }
        decision.lateness = maybe { $0.number() }
        decision.isReplayed = flag()
        decision.isOfEarlierBoot = flag()
        decision.isRead = flag()
        decision.cause = maybe { $0.text() }
        decision.delay = maybe { $0.pick(BannerDelay.allCases) }
        decision.verdict = maybe { $0.pick(Verdict.allCases) }
        decision.successor = maybe { $0.id() }
        decision.wasMuted = flag()
        decision.brokenThrough = maybe { $0.text() }
        decision.action = maybe { $0.text() }
        decision.program = maybe { $0.text() }
        decision.place = place()
        return decision
    }

    private mutating func claim() -> ClaimRecord {
        ClaimRecord(
            claimant: text(), latency: maybe { .microseconds($0.number()) }, form: pick(ClaimForm.allCases),
            verdict: pick(Verdict.allCases), program: maybe { $0.text() })
    }

    private mutating func quiet() throws -> StoredQuiet {
        StoredQuiet(
            topic: try prefix(), cause: pick(Quiet.Cause.allCases), end: maybe { $0.end() },
            began: maybe { $0.number() })
    }

    private mutating func snooze() -> StoredSnooze { StoredSnooze(event: id(), end: end()) }

    private mutating func digest() throws -> OwedDigest {
        OwedDigest(ActiveSchedule.Period(try prefix(), began: number()), name: id(), first: id())
    }

    private mutating func banner() -> StoredBanner {
        StoredBanner(
            number: UInt32(truncatingIfNeeded: number()), server: text(), first: id(), isSummary: flag())
    }

    private mutating func awaited() -> StoredAwaited {
        let origin = origin()
        return StoredAwaited(
            NamedClaim(
                name: .origin(origin), origin: origin, kind: pick(NamedClaim.Kind.allCases), claimant: text(),
                place: place(), identity: fields(), program: maybe { $0.text() }),
            end: end())
    }

    private mutating func removal() throws -> StoredRemoval {
        StoredRemoval(
            id: id(), topic: try topic(), origin: origin(), published: maybe { $0.number() }, removed: number(),
            cause: pick(ValueRemoval.Cause.allCases))
    }

    private mutating func version() -> ValueVersion { ValueVersion(published: number(), id: id(), origin: origin()) }

    private mutating func tombstone() throws -> Tombstone {
        Tombstone(topic: try topic(), version: version(), removal: id())
    }

    private mutating func end() -> StoredQuiet.End { StoredQuiet.End(moment: expiry(), left: number()) }

    private mutating func expiry() -> Expiry { Expiry(wall: number(), uptime: number(), boot: text()) }

    private mutating func origin() -> Origin {
        Origin(source: maybe { $0.text() }, eventID: maybe { $0.text() }, via: maybe { $0.text() })
    }

    private mutating func place() -> ClaimPlace { ClaimPlace(device: maybe { $0.text() }, via: maybe { $0.text() }) }

    private mutating func topic() throws -> Topic {
        try Topic(pick(["/post/27", "/a", "/run/r1/mate/영희/finished", "/" + String(repeating: "x", count: 64)]))
    }

    private mutating func prefix() throws -> TopicPrefix { flag() ? .all : TopicPrefix(try topic()) }

    private mutating func fields() -> [Field] {
        (0..<below(3)).map { _ in Field(name: text(), value: fieldValue(depth: 0)) }
    }

    private mutating func fieldValue(depth: Int) -> FieldValue {
        switch below(depth < 3 ? 9 : 6) {
        case 0: .boolean(flag())
        case 1: .double(Double(number()) / 3)
        case 2: .int64(number())
        case 3: .byte(UInt8(truncatingIfNeeded: number()))
        case 4: .objectPath("/a/b_2")
        case 5: .string(text())
        case 6: .array(of: "s", (0..<below(3)).map { _ in .string(text()) })
        case 7:
            .dictionary(
                key: "s", value: "v",
                (0..<below(3)).map { _ in
                    FieldValue.Pair(key: .string(text()), value: .variant(fieldValue(depth: depth + 1)))
                })
        default: .variant(fieldValue(depth: depth + 1))
        }
    }

    // MARK: Choices

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }

    private mutating func flag() -> Bool { Bool.random(using: &generator) }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    private mutating func maybe<Element>(_ make: (inout RandomRecords) -> Element) -> Element? {
        flag() ? make(&self) : nil
    }

    private mutating func list<Element>(_ make: (inout RandomRecords) throws -> Element) throws -> [Element] {
        var list: [Element] = []
        for _ in 0..<pick([0, 1, 2, 3]) { list.append(try make(&self)) }
        return list
    }

    private mutating func number() -> Int64 {
        switch below(3) {
        case 0: pick([0, 1, -1, 63, 64, -64, -65, 127, 128, .min, .max, .min + 1, .max - 1])
        case 1: 1_790_000_000_000_000 + Int64(below(1_000_000))
        default: Int64.random(in: .min ... .max, using: &generator)
        }
    }

    private mutating func id() -> EventID { EventID(UInt64(bitPattern: number())) }

    private mutating func text() -> String {
        let unit = pick(["a", "영희", "\u{1F469}\u{200D}\u{1F467}", "e\u{301}", "\n", "\u{FFFD}"])
        return String(repeating: unit, count: pick([0, 1, 2, 5, 127, 128, longest].filter { $0 <= longest }))
    }
}
