import Foundation
import Glibc
import Journal
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Routing
import Testing

/// An earlier run left a lot undecided: it is announced again a portion at a time, and nobody waits for that.
/// `NOTIFYD_BACKLOG=99000` makes it as many as there can be.
@Suite(.timeLimit(.minutes(5)))
struct BacklogTests {
    private let rig: FaultRig! = Fixture.current()
    private static let count = environmentNumber("NOTIFYD_BACKLOG") ?? 4_000

    @Test(.faultRig(isStarted: false)) func whoCallsMeanwhileIsAnsweredAndEveryEventHasItsWindow() async throws {
        let ids = try rig.writeBacklog(of: Self.count)
        let begin = ContinuousClock.now
        try await rig.daemon.start()
        let atStart = try rig.peakMemory()
        // The last one's turn is far away.
        let last = try #require(ids.last)
        #expect(try await rig.claim(last) == "suppressed")
        let answered = ContinuousClock.now - begin
        #expect(try await rig.property("Pending")?.integer() == Self.count - 1)

        var announced: [UInt64] = []
        var shortest = Duration.seconds(60)
        while announced.count < Self.count {
            let signal = try #require(await rig.signals.next(within: FaultRig.patience) { $0.member == "Event" })
            let information = signal.arguments.last?.entries ?? [:]
            #expect(information["replayed"]?.boolean == true)
            announced.append(signal.arguments[1].integer() ?? 0)
            let window: UInt32 = information["window"]?.integer() ?? 0
            shortest = min(shortest, .milliseconds(window))
        }
        let whole = ContinuousClock.now - begin
        let peak = try rig.peakMemory()
        // It is announced as it is claimed, and that is before its turn: how long before depends on the machine.
        #expect(announced.filter { $0 != last } == ids.dropLast())
        // Two seconds, less what its turn took until it left: an event must not find its window half over.
        #expect(shortest >= .milliseconds(1_000))
        try await rig.untilSettled()
        let outcomes = Set(try await rig.history().filter { $0.id != last }.map(\.outcome))
        #expect(outcomes == ["shown"])
        let highest = try rig.peakMemory()
        // What is taken grows with what is kept, as reckoned, and not with what was read; a sanitizer adds its own.
        if ChildProcess.sanitizerEnvironment.isEmpty {
            #expect(highest - atStart <= Self.count * FaultRig.backlogFootprint + 10 << 20)
        }
        print(
            "\(Self.count) events: first answer after \(answered), all announced after "
                + "\(whole) with \(peak >> 20) MiB,",
            "all shown with \(highest >> 20) MiB")
    }

    @Test(.faultRig(isStarted: false)) func aTopicClaimTakesWhatHasNotBeenAnnouncedAgain() async throws {
        let ids = try rig.writeBacklog(of: Self.count)
        try await rig.daemon.start()
        let reply = try await rig.call("ClaimTopic", ["/backlog", .uint32(0)], timeout: .seconds(60))
        #expect(reply.arguments.first == .uint32(UInt32(ids.count)))
        try await rig.untilSettled()
        #expect(Set(try await rig.history().map(\.outcome)) == ["claimed"])
        #expect(rig.server.banners.all.isEmpty)
    }

    @Test(.faultRig(isStarted: false)) func aScreenThatOpensMeanwhileClaimsWhatIsStillToCome() async throws {
        let ids = try rig.writeBacklog(of: Self.count)
        try await rig.daemon.start()
        try await rig.call("OpenScreen", ["/backlog", .variants([:])])
        try await rig.untilSettled()
        let history = try await rig.history()
        #expect(history.map(\.id) == ids)
        #expect(Set(history.map(\.outcome)) == ["claimed"])
    }

    @Test(
        .faultRig(isStarted: false),
        arguments: [
            ("ClaimTopic", ["/", .uint32(0)]), ("OpenScreen", ["/", .variants([:])]), ("MarkRead", ["/", .uint64(0)]),
        ] as [(String, [Value])])
    func aCallThatClaimsAllEventsTakesLittleMemoryBesideThem(_ member: String, _ arguments: [Value]) async throws {
        let count = max(Self.count, 20_000)
        let ids = try rig.writeBacklog(of: count)
        try await rig.daemon.start()
        try await rig.until("all are announced again", within: .seconds(60)) {
            rig.signals.all.count { $0.member == "Event" } >= count
        }
        try rig.resetPeakMemory()
        let before = try rig.peakMemory()
        let begin = ContinuousClock.now
        try await rig.call(member, arguments, timeout: .seconds(60))
        let answered = ContinuousClock.now - begin
        try await rig.until("all are claimed", within: .seconds(60)) {
            rig.signals.all.count { $0.member == "Resolved" } >= count
        }
        let peak = try rig.peakMemory()
        // On a slow machine some windows have ended before, and their events are resolved in another order.
        let resolved = rig.signals.all.filter { $0.member == "Resolved" }.compactMap { signal -> UInt64? in
            if case .uint64(let id) = signal.arguments[1] { id } else { nil }
        }
        #expect(resolved.sorted() == ids)
        if ChildProcess.sanitizerEnvironment.isEmpty {
            // What a start leaves free in the heap is used first, and counts in `before`; it is about 4 MiB.
            #expect(peak - before <= count * 250 + 4 << 20)
            try await rig.until("what the events took is free again") {
                try rig.residentMemory() <= before - count * 250
            }
        }
        print(
            "\(member) of \(count) events: answered after \(answered);",
            "\(before >> 20) MiB before, \(peak >> 20) MiB at most, "
                + "\(try rig.residentMemory() >> 20) MiB afterwards"
        )
    }
}

/// A journal that is too large to be looked at before anybody is answered.
@Suite(.timeLimit(.minutes(2)))
struct LargeJournalTests {
    private func withLargeJournal(
        _ change: (inout Data) -> Void = { _ in }, _ body: (FaultRig, [UInt64]) async throws -> Void
    ) async throws {
        try await withFaultRig(isStarted: false) { rig in
            let ids = try rig.writeBacklog(of: 1_500, bodyBytes: 8_000)
            let url = URL(filePath: rig.state + "/index.db")
            var file = try Data(contentsOf: url)
            change(&file)
            try file.write(to: url)
            try await rig.daemon.start()
            try await body(rig, ids)
        }
    }

    @Test func itsEventsAreCountedAndNothingIsSaidWhenItIsSound() async throws {
        try await withLargeJournal { rig, ids in
            let id = try await rig.send("/note/1")
            try await rig.until("all events are counted") {
                try await rig.statistic("stored-events") == UInt64(ids.count + 1)
            }
            #expect(try await rig.degradation() == "")
            #expect(try await rig.history("/note").map(\.id) == [id])
            #expect(!rig.daemon.log.contains("Nobody could look"))
        }
    }

    @Test func damageFarFromEverythingThatIsReadIsFound() async throws {
        try await withLargeJournal {
            // A page of somebody's long body: only who follows the whole chain sees it.
            let middle = $0.count / 4096 / 2 * 4096
            $0.replaceSubrange(middle..<middle + 4096, with: Data(repeating: 0xFF, count: 4096))
        } _: { rig, ids in
            try await rig.until("the file is set aside") {
                try FileManager.default.contentsOfDirectory(atPath: rig.state).contains { $0.contains(".damaged-") }
            }
            try await rig.until("it goes on") { try await rig.degradation() == "" }
            let id = try await rig.send("/note/1")
            #expect(id > ids.last!)
            #expect(rig.daemon.log.contains("set aside"))
        }
    }
}

extension FaultRig {
    /// What the daemon may take for an event of the backlog and for its name, in bytes; see `MemoryCost` and `Limits`.
    static let backlogFootprint = 512 + 192 + 2 * 12 + 100 + 20

    /// What an earlier run left behind: a journal of undecided events of a hundred topics.
    func writeBacklog(of count: Int, bodyBytes: Int = 100) throws -> [UInt64] {
        let journal = try Journal(directory: state)
        defer { journal.close() }
        let now = Int64(Date.now.timeIntervalSince1970 * 1_000_000)
        let first = now - 60_000_000
        var ids: [UInt64] = []
        for start in stride(from: 0, to: count, by: 1000) {
            var entries: [Record] = []
            for number in start..<min(start + 1000, count) {
                ids.append(UInt64(first) + UInt64(number))
                let event = StoredEvent(
                    id: EventID(ids.last!), topic: try Topic("/backlog/\(number % 100)"), title: "news",
                    body: String(repeating: "x", count: bodyBytes), fields: [], published: first, sender: ":1.1",
                    origin: Origin(source: "backlog", eventID: "\(number)"), urgency: nil, retained: false,
                    route: "default", key: "/backlog/\(number % 100)", window: 30_000, accepted: first,
                    expires: Expiry(wall: now + 3_600_000_000, uptime: 0, boot: "earlier"))
                entries.append(.accepted(event))
            }
            try journal.commit(entries)
        }
        return ids
    }

    /// The most memory that the daemon has had, as the kernel says, in bytes.
    func peakMemory() throws -> Int { try memory("VmHWM") }

    /// The memory that the daemon has now, in bytes.
    func residentMemory() throws -> Int { try memory("VmRSS") }

    private func memory(_ line: String) throws -> Int {
        try ProcessStatistics(identifier: daemon.identifier ?? 0).kibibytes(line) * 1024
    }

    /// Makes `peakMemory` count from now: `clear_refs` of proc_pid_clear_refs(5).
    func resetPeakMemory() throws {
        let process = try #require(daemon.identifier)
        try "5".write(toFile: "/proc/\(process)/clear_refs", atomically: false, encoding: .utf8)
    }
}
