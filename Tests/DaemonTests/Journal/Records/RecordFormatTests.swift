import Foundation
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// The bytes themselves, which are those from which the fuzzer sets out. If a record has others, the coding has
/// changed: then it needs a new version, and `NOTIFYD_CORPUS=write` writes the files.
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
        (decision.delay, decision.verdict, decision.successor) = (.absent, .recorded, EventID(1_003))
        (decision.wasMuted, decision.brokenThrough) = (true, "q")
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

    private static func records() throws -> [(name: String, record: LogRecord)] {
        var event = try event()
        event.decision = StoredDecision(outcome: .claimed, resolved: 1_005)
        let state = EventState(
            event: event, number: 1_002, decided: 1_006, claims: [claim], isMarkedRead: true, isValue: true)
        let clock = RetentionClock.State(age: 1, uptime: 2, boot: "b", lead: 3, isAbsenceCounted: false)
        return [
            ("accepted", LogRecord(.accepted(try Self.event()), number: 1_002)),
            ("decided", LogRecord(.decided(id, decision()), number: 1_006)),
            ("decided-plain", LogRecord(.decided(id, StoredDecision(outcome: .shown, resolved: 1_005)))),
            ("read", LogRecord(.read(id, by: ":1.3", at: 1_001, from: place), number: 1_002)),
            ("claimed", LogRecord(.claimed(id, claim))),
            ("named", LogRecord(.named(":1.3", "p", id))),
            ("quiet", LogRecord(.quietReplaced([try quiet()]))),
            ("snoozes", LogRecord(.snoozesReplaced([StoredSnooze(event: id, end: end)]))),
            ("digests", LogRecord(.digestsReplaced([digest]))),
            ("banner", LogRecord(.bannerUp(banner))),
            ("banner-gone", LogRecord(.bannerGone(.max))),
            ("banners-gone", LogRecord(.allBannersGone)),
            ("awaited", LogRecord(.awaited(awaited()), number: 1_002)),
            ("awaited-gone", LogRecord(.awaitedGone(origin))),
            ("awaited-all-gone", LogRecord(.allAwaitedGone)),
            ("removed", LogRecord(.removed(try removal(), leaving: try tombstone().version), number: 1_002)),
            ("tombstone", LogRecord(.tombstone(try tombstone()))),
            ("start", LogRecord(.start(last: .max, at: 1_001), number: .min)),
            ("late", LogRecord(.late(id), number: 1_002)),
            ("event", LogRecord(.event(state))),
            ("global-id", LogRecord(.globalID(NamedPush(origin: origin, id: id)))),
            ("seed", LogRecord(.seed("0a"))),
            ("retention", LogRecord(.retention(clock, [RetentionMarks.Mark(id: 4, age: 5)], events: 6, last: 7))),
            ("counter", LogRecord(.counter(.lastHole, -1))),
        ]
    }

    /// The first byte of a file tells the fuzzer what it is: records, a sealed one, or one that it seals.
    @Test func theCorpusHasEveryRecordInThisCoding() throws {
        let folder = URL(filePath: Project.path("Tests/Fuzzing/Corpora/Record"))
        let records = try Self.records()
        var expected = Dictionary(uniqueKeysWithValues: records.map { ($0.name, [0] + written($0.record)) })
        expected["all"] = [0] + records.flatMap { written($0.record) }
        for (name, record) in records.suffix(6) {
            expected["sealed-\(name)"] = [1] + sealed(record)
            expected["unsealed-\(name)"] = [2] + written(record)
        }
        if ProcessInfo.processInfo.environment["NOTIFYD_CORPUS"] == "write" {
            try? FileManager.default.removeItem(at: folder)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for (name, bytes) in expected { try Data(bytes).write(to: folder.appending(path: name)) }
        }
        #expect(try Set(files(in: folder.path)) == Set(expected.keys))
        for (name, bytes) in expected {
            #expect(try [UInt8](Data(contentsOf: folder.appending(path: name))) == bytes, "\(name)")
        }
        let codes = Set(records.map { written($0.record)[1] })
        #expect(codes == Set(1...23))
    }

    @Test func theChecksumIsTheOneThatIsWellKnown() {
        #expect(Array("123456789".utf8).withUnsafeBytes { $0.crc32 } == 0xCBF4_3926)
    }

    /// Cases are stored as these words, which never change.
    @Test func casesHaveTheseWords() {
        func words<Case: CaseIterable & RawRepresentable<String>>(_: Case.Type) -> String {
            Case.allCases.map(\.rawValue).sorted().joined(separator: " ")
        }
        #expect(words(Outcome.self) == "claimed dismissed expired muted replaced retracted shown silent withdrawn")
        #expect(words(Verdict.self) == "awaited recorded retracted suppressed")
        #expect(
            words(ClaimForm.self)
                == "Claim ClaimNamed ClaimProvisionally ClaimTopic Complete MarkRead OpenScreen Release Snooze left "
                + "ranout"
        )
        #expect(words(BannerDelay.self) == "absent busy failed limited resting")
        #expect(words(NamedClaim.Kind.self) == "claimed dismissed read withdrawn")
        #expect(words(Quiet.Cause.self) == "desktop muted paused schedule")
        #expect(words(ValueRemoval.Cause.self) == "expired publisher replaced")
        #expect(words(Record.Counter.self) == "applied lastHole lastID oldestChange")
    }
}
