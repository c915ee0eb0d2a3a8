import NotifyClient
import Testing

@testable import notifyctl

/// What `notifyctl status` and `doctor` say of the journal's log.
struct JournalLogTests {
    private static let now: Int64 = 1_790_000_000_000_000

    private func log(sync: UInt64, waiting: UInt64 = 0, ago: Int64 = 3) throws -> JournalLog {
        try #require(
            JournalLog([
                "log-sync-microseconds": sync, "log-waiting-bytes": waiting,
                "log-written": UInt64(Self.now - ago * 1_000_000),
            ]))
    }

    @Test(
        arguments: [
            (1_200, 14 << 10, 3, "1.2 ms a write, 14 KiB wait for the index, written 3 s ago"),
            (98, 0, 0, "98 µs a write, nothing waits for the index, written now"),
            (2_500_000, 1, 90, "2.50 s a write, 1 byte waits for the index, written 1 min ago"),
            (1_000, 1_023, 1, "1.0 ms a write, 1023 bytes wait for the index, written 1 s ago"),
            (1_000, 4 << 20, 1, "1.0 ms a write, 4 MiB wait for the index, written 1 s ago"),
        ] as [(UInt64, UInt64, Int64, String)])
    func whatTheLogDoesIsASentence(_ sync: UInt64, _ waiting: UInt64, _ ago: Int64, _ sentence: String) throws {
        #expect(try log(sync: sync, waiting: waiting, ago: ago).sentence(at: Self.now) == sentence)
    }

    @Test func aLogThatWasNeverWrittenCostsNothing() throws {
        let log = try #require(JournalLog(["log-sync-microseconds": 0, "log-waiting-bytes": 0, "log-written": 0]))
        #expect(log.sentence(at: Self.now) == "not written yet")
        #expect(log.finding(at: Self.now) == .ok("journal", "its log: not written yet"))
    }

    @Test func numbersBeyondAllMeasureAreSaidToo() {
        let largest: [String: UInt64] = [
            "log-sync-microseconds": .max, "log-waiting-bytes": .max, "log-written": .max,
        ]
        #expect(JournalLog(largest)?.sentence(at: Self.now).contains("wait for the index") == true)
    }

    @Test func aDiskThatNeedsLongForAWriteIsAWarning() throws {
        #expect(try log(sync: 20_000).finding(at: Self.now).level == .ok)
        let slow = try log(sync: 20_001).finding(at: Self.now)
        #expect(slow.level == .warning)
        #expect(slow.state == "its log: 20.0 ms a write, nothing waits for the index, written 3 s ago")
        #expect(slow.advice?.contains("/proc/pressure/io") == true)
        var check = JournalCheck(folder: "/s", mode: 0o600, room: 1 << 30)
        #expect(check.findings.map(\.level) == [.ok])
        check.statistics = ["log-sync-microseconds": 30_000, "log-waiting-bytes": 0, "log-written": 1]
        #expect(check.findings.map(\.level) == [.ok, .warning])
    }

    @Test func aDaemonThatTellsNothingOfItsLogHasNoLine() {
        #expect(JournalLog(["published": 7]) == nil)
        let status = status(["published": 7])
        #expect(status.contains("published"))
        #expect(!status.contains("Log"))
    }

    @Test func theLogIsAmongWhatIsAndNotAmongWhatHappened() {
        let status = status([
            "published": 7, "log-sync-microseconds": 1_200, "log-waiting-bytes": 2_048, "log-written": 1_000_000,
        ])
        #expect(status.contains("1.2 ms a write, 2 KiB wait for the index, written 1970-01-0"))
        #expect(!status.contains("log-"))
    }

    private func status(_ statistics: [String: UInt64]) -> String {
        let counters = Dictionary(uniqueKeysWithValues: statistics.map { (Value.string($0), Value.uint64($1)) })
        return Status(
            properties: ["Version": "1.0", "Statistics": .dictionary(counters, keys: .string, values: .uint64)],
            screens: [], programs: [:], canShow: true,
            recent: RecentClaims([]), bridges: []
        ).text
    }
}
