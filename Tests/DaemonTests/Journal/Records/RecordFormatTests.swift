import Routing
import Testing

@testable import Journal

/// The bytes themselves. If one of these tests fails, the coding has changed: then it needs a new version, and code
/// that reads the old one.
struct RecordFormatTests {
    private static let id = EventID(1_000)
    private static let origin = Origin(source: "s", eventID: "e", via: "v")
    private static let place = ClaimPlace(device: "d", via: "v")
    private static let end = StoredQuiet.End(moment: Expiry(wall: 1, uptime: -2, boot: "b"), left: 300)
    private static let banner = StoredBanner(number: 7, server: ":1.2", first: id, isSummary: true)
    private static let digest = OwedDigest(ActiveSchedule.Period(.all, began: .min), name: id, first: EventID(2))
    private static let claim = ClaimRecord(
        claimant: ":1.3", latency: .milliseconds(1), form: .named, verdict: .recorded, program: "p")

    private static func event() throws -> StoredEvent {
        StoredEvent(
            id: id, topic: try Topic("/a"), title: "t", body: "영", fields: [Field(name: "f", value: .byte(9))],
            published: 999, sender: ":1.1", origin: origin, urgency: .critical, collapse: "c", retained: true,
            appearance: [Field(name: "i", value: .string("x"))], route: "r", key: "k", window: 100, accepted: 1_001,
            expires: Expiry(wall: 2_000, uptime: 3_000, boot: "b"))
    }

    private static func decision() -> StoredDecision {
        var decision = StoredDecision(outcome: .dismissed, resolved: 1_005)
        (decision.opened, decision.deadline, decision.latency, decision.lateness) = (1_001, 1_101, 4, -1)
        (decision.claimant, decision.form, decision.program, decision.cause) = (":1.3", .snooze, "p", "c")
        (decision.banner, decision.server, decision.shownWith, decision.count) = (7, ":1.2", id, 2)
        (decision.isReplayed, decision.isOfEarlierBoot, decision.isRead) = (true, true, true)
        (decision.action, decision.place) = ("a", place)
        return decision
    }

    private static func quiet() throws -> StoredQuiet {
        StoredQuiet(topic: TopicPrefix(try Topic("/a")), cause: .muted, end: end, began: 5)
    }

    private static func awaited() -> StoredAwaited {
        StoredAwaited(
            NamedClaim(
                name: .origin(origin), origin: origin, kind: .withdrawn, claimant: ":1.3", place: place, program: "p"),
            end: end)
    }

    private static func tombstone() throws -> Tombstone {
        Tombstone(
            topic: try Topic("/a"), version: ValueVersion(published: 999, id: id, origin: origin),
            removal: EventID(1_001))
    }

    private static func removal() throws -> StoredRemoval {
        StoredRemoval(
            id: id, topic: try Topic("/a"), origin: origin, published: 999, removed: 1_001, cause: .publisher)
    }

    @Test func recordsHaveTheseBytes() throws {
        let expected: [(LogRecord, String)] = [
            (
                LogRecord(.accepted(try Self.event()), number: 1_002, isLate: true),
                "010103d40f0fe807022f61017403ec988101010000006601000000790901043a312e31070173016501760201"
                    + "63010100000069010000007301000000780172016bc80102d00ff02e0162"
            ),
            (
                LogRecord(.decided(Self.id, Self.decision()), number: 1_006),
                "010201dc0fe80706ffff0f0a02ca01043a312e33080b0170016307043a312e32e80704010161016401" + "76"
            ),
            (LogRecord(.decided(Self.id, StoredDecision(outcome: .shown, resolved: 1_005))), "010200e80701000a"),
            (
                LogRecord(.read(Self.id, by: ":1.3", at: 1_001, from: Self.place), number: 1_002),
                "010301d40fe807043a312e33020301640176"
            ),
            (LogRecord(.claimed(Self.id, Self.claim)), "010400e80703043a312e33d00f05030170"),
            (LogRecord(.named(":1.3", "p", Self.id)), "010500043a312e330170e807"),
            (LogRecord(.quietReplaced([try Self.quiet()])), "0106000103022f610202030162d8040a"),
            (
                LogRecord(.snoozesReplaced([StoredSnooze(event: Self.id, end: Self.end)])),
                "01070001e80702030162d804"
            ),
            (LogRecord(.digestsReplaced([Self.digest])), "01080001012fffffffffffffffffff01e80702"),
            (LogRecord(.bannerUp(Self.banner)), "0109000107043a312e32e807"),
            (LogRecord(.bannerGone(.max)), "010a00ffffffff0f"),
            (LogRecord(.allBannersGone), "010b00"),
            (
                LogRecord(.awaited(Self.awaited()), number: 1_002),
                "010c01d40f0701730165017603043a312e330301640176010700000070726f6772616d01000000730100000070"
                    + "02030162d804"
            ),
            (LogRecord(.awaitedGone(Self.origin)), "010d0007017301650176"),
            (LogRecord(.allAwaitedGone), "010e00"),
            (
                LogRecord(.removed(try Self.removal(), leaving: try Self.tombstone().version), number: 1_002),
                "010f01d40f0101e807022f61070173016501760102" + "01e8070107017301650176"
            ),
            (LogRecord(.tombstones([try Self.tombstone()])), "01100001022f61e8070107017301650176e907"),
            (
                LogRecord(.start(last: .max, at: 1_001), number: .min),
                "011101ffffffffffffffffff01ffffffffffffffffff01d20f"
            ),
        ]
        for (record, bytes) in expected { #expect(hexadecimal(written(record)) == bytes) }
    }

    @Test func storedValuesHaveTheseBytes() throws {
        var event = try Self.event()
        event.decision = StoredDecision(outcome: .claimed, resolved: 1_005)
        let state = EventState(
            event: event, number: 1_002, decided: 1_006, claims: [Self.claim], isMarkedRead: true, isValue: true)
        #expect(
            hexadecimal(written(state))
                == "01400f1fe807022f61017403ec988101010000006601000000790901043a312e31070173016501760201"
                + "63010100000069010000007301000000780172016bc80102d00ff02e016204000a040c0103043a312e33"
                + "d00f0503017061ba99f2")
        let clock = RetentionClock.State(age: 1, uptime: 2, boot: "b", lead: 3, isAbsenceCounted: false)
        let row = ChangeRow(
            number: 1_002, kind: .replaced, event: Self.id, topic: try Topic("/a"), claimant: ":1.3", moment: 1_001,
            published: 999, origin: Self.origin, device: "d")
        let expected: [(StateValue, String)] = [
            (.quiet([try Self.quiet()]), "01410103022f610202030162d8040ad68bf64d"),
            (.snoozes([StoredSnooze(event: Self.id, end: Self.end)]), "014201e80702030162d8045685a405"),
            (.digests([Self.digest]), "014301012fffffffffffffffffff01e80702bd45ed97"),
            (.banner(Self.banner), "01440107043a312e32e807f640c882"),
            (
                .awaited(Self.awaited()),
                "01450701730165017603043a312e330301640176010700000070726f6772616d01000000730100000070"
                    + "02030162d804878cc260"
            ),
            (.tombstone(try Self.tombstone()), "0146022f61e8070107017301650176e907d7f2084d"),
            (
                .removal(NamedPush(origin: Self.origin, id: Self.id), accepted: 1_001),
                "0147e8070701730165017602082062d9"
            ),
            (.seed("0a"), "01480230612c1d9543"),
            (
                .retention(clock, [RetentionMarks.Mark(id: 4, age: 5)], events: 6, last: 7),
                "014901020401620601080a0c0e5a142b5f"
            ),
            (.change(row), "014a0fd40f05e807022f61043a312e33d20fce0f07017301650176016493713650"),
            (.number(-1), "014b017d15099a"),
        ]
        for (value, bytes) in expected { #expect(hexadecimal(written(value)) == bytes) }
    }

    @Test func theChecksumIsTheOneThatIsWellKnown() {
        #expect(Array("123456789".utf8).withUnsafeBytes { $0.crc32 } == 0xCBF4_3926)
    }

    /// Each case has a byte of its own, which never changes.
    @Test func casesHaveTheseBytes() {
        #expect(
            codes(Outcome.self) == [
                "shown 1", "muted 2", "expired 3", "claimed 4", "retracted 5", "dismissed 6", "silent 7", "withdrawn 8",
                "replaced 9",
            ])
        #expect(codes(Verdict.self) == ["suppressed 1", "retracted 2", "recorded 3", "awaited 4"])
        #expect(
            codes(ClaimForm.self) == [
                "claim 1", "provisional 2", "topic 3", "screen 4", "named 5", "read 6", "completed 7", "released 8",
                "ranOut 9", "left 10", "snooze 11",
            ])
        #expect(codes(NamedClaim.Kind.self) == ["claimed 1", "dismissed 2", "withdrawn 3", "read 4"])
        #expect(codes(Quiet.Cause.self) == ["paused 1", "muted 2", "schedule 3", "desktop 4"])
        #expect(codes(ValueRemoval.Cause.self) == ["publisher 1", "expired 2", "replaced 3"])
        #expect(codes(ChangeRow.Kind.self) == ["accepted 1", "read 2", "removed 3", "start 4", "replaced 5"])
    }

    private func codes<Case: ByteCoded>(_: Case.Type) -> [String] {
        Case.allCases.sorted { $0.byteCode < $1.byteCode }.map { "\($0) \($0.byteCode)" }
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
