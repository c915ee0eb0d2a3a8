import Foundation
import Glibc
import Journal
import NotifyClient
import NotifyRehearsal
import Routing
import Testing

/// An earlier run left a lot undecided: it is announced again a portion at a time, and nobody waits for that.
/// `NOTIFYD_BACKLOG=99000` makes it as many as there can be.
@Suite(.timeLimit(.minutes(5)))
struct BacklogTests {
    private static let count = getenv("NOTIFYD_BACKLOG").flatMap { Int(String(cString: $0)) } ?? 4_000

    @Test func whoCallsMeanwhileIsAnsweredAndEveryEventHasItsWindow() async throws {
        try await withFaultRig(isStarted: false) { rig in
            let ids = try write(Self.count, to: rig.state)
            let begin = ContinuousClock.now
            try await rig.daemon.start()
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
            #expect(announced.first == last)
            #expect(announced.dropFirst() == ids.dropLast())
            #expect(shortest >= .milliseconds(1_999))
            try await rig.untilSettled()
            let outcomes = Set(try await rig.history().filter { $0.id != last }.map(\.outcome))
            #expect(outcomes == ["shown"])
            print(
                "\(Self.count) events: first answer after \(answered), all announced after \(whole) with \(peak),",
                "all shown with \(try rig.peakMemory())")
        }
    }

    @Test func aTopicClaimTakesWhatHasNotBeenAnnouncedAgain() async throws {
        try await withFaultRig(isStarted: false) { rig in
            let ids = try write(Self.count, to: rig.state)
            try await rig.daemon.start()
            let reply = try await rig.call("ClaimTopic", ["/backlog", .uint32(0)], timeout: .seconds(60))
            #expect(reply.arguments.first == .uint32(UInt32(ids.count)))
            try await rig.untilSettled()
            #expect(Set(try await rig.history().map(\.outcome)) == ["claimed"])
            #expect(rig.server.banners.all.isEmpty)
        }
    }

    @Test func aScreenThatOpensMeanwhileClaimsWhatIsStillToCome() async throws {
        try await withFaultRig(isStarted: false) { rig in
            let ids = try write(Self.count, to: rig.state)
            try await rig.daemon.start()
            try await rig.call("OpenScreen", ["/backlog", .variants([:])])
            try await rig.untilSettled()
            let history = try await rig.history()
            #expect(history.map(\.id) == ids)
            #expect(Set(history.map(\.outcome)) == ["claimed"])
        }
    }

    /// A journal of undecided events of a hundred topics.
    private func write(_ count: Int, to directory: String) throws -> [UInt64] {
        let journal = try Journal(directory: directory)
        defer { journal.close() }
        let now = Int64(Date.now.timeIntervalSince1970 * 1_000_000)
        let first = now - 60_000_000
        var ids: [UInt64] = []
        for start in stride(from: 0, to: count, by: 1000) {
            var entries: [JournalEntry] = []
            for number in start..<min(start + 1000, count) {
                ids.append(UInt64(first) + UInt64(number))
                let event = StoredEvent(
                    id: Routing.EventID(ids.last!), topic: try Topic("/backlog/\(number % 100)"), title: "news",
                    body: String(repeating: "x", count: 100), fields: [], published: first, sender: ":1.1",
                    origin: Origin(source: "backlog", eventID: "\(number)"), urgency: nil, retained: false,
                    route: "default", key: "/backlog/\(number % 100)", window: 30_000, accepted: first,
                    expires: Expiry(wall: now + 3_600_000_000, uptime: 0, boot: "earlier"))
                entries.append(.accepted(event))
            }
            try journal.commit(entries)
        }
        return ids
    }
}

extension FaultRig {
    /// The most memory that the daemon has had, as the kernel says: `VmHWM` of proc_pid_status(5).
    fileprivate func peakMemory() throws -> String {
        let process = try #require(daemon.identifier)
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return line.dropFirst(6).trimmingCharacters(in: .whitespaces)
    }
}
