import Foundation
import Journal
import NotifyClient
import NotifyRehearsal
import Routing
import Testing

/// The state directory is a small disk of its own, which only root can make.
@Suite(.timeLimit(.minutes(2)), .enabled(if: geteuid() == 0, "mounting a small disk needs root"))
struct FullDiskTests {
    /// Mounts a disk for the state, and has `$T` filled; the rest of the room is taken by the file `filler`.
    private func disk(size: String, _ prepare: String) -> [String] {
        let script = """
            T="$XDG_STATE_HOME/notifyd"
            mkdir -p "$T"
            mount -t tmpfs -o size=\(size),mode=700 none "$T"
            \(prepare)
            exec "$0"
            """
        return ["unshare", "--mount", "sh", "-ec", script]
    }

    /// The disk, which only the daemon has mounted, from outside.
    private func inside(_ rig: FaultRig) throws -> String {
        "/proc/\(try #require(rig.daemon.identifier))/root\(rig.state)"
    }

    private func hasTold(_ rig: FaultRig) -> [Bool] {
        rig.signals.all.filter { $0.member == "PropertiesChanged" }
            .compactMap { $0.arguments[1].entries?["Degraded"]?.string }.map { !$0.isEmpty }
    }

    @Test func aFullDiskRefusesNamesItAndGoesOnWhenThereIsRoom() async throws {
        let disk = disk(size: "2m", "head -c 600k /dev/zero > \"$T/filler\"")
        try await withFaultRig(through: disk) { rig in
            try await rig.connection.addMatch(MatchRule(interface: "org.freedesktop.DBus.Properties"))
            let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
            var accepted = [open]
            var refusal: NotifyError?
            let body = String(repeating: "x", count: 4000)
            while refusal == nil, accepted.count < 2000 {
                do throws(NotifyError) {
                    let reply = try await rig.call("Send", ["/run/r1/mate/Mina", "accepted", .string(body)])
                    accepted.append(reply.arguments[0].integer() ?? 0)
                } catch {
                    refusal = error
                }
            }
            #expect(refusal?.name == "org.notifyd.Router1.Error.StorageUnavailable")
            #expect(refusal?.message.contains("full") == true)
            #expect(try await rig.degradation().contains("full"))
            // What was accepted is still decided.
            #expect(try await rig.claim(open) == "suppressed")
            // For as long as it is full it does not say otherwise.
            let retries = try await rig.statistic("journal-retries")
            try await rig.until("it has tried again twice") {
                try await rig.statistic("journal-retries") >= retries + 2
            }
            #expect(hasTold(rig) == [true])
            let again = await #expect(throws: NotifyError.self) { try await rig.send("/note/1", "refused") }
            #expect(again?.name == "org.notifyd.Router1.Error.StorageUnavailable")

            try FileManager.default.removeItem(atPath: try inside(rig) + "/filler")
            try await rig.until("there is room") { try await rig.degradation() == "" }
            let after = try await rig.send("/note/1", "after")
            let history = try await rig.history()
            #expect(history.map(\.id) == accepted + [after])
            #expect(history.first?.outcome == "claimed")
            #expect(hasTold(rig) == [true, false])
        }
    }

    @Test func theBallastLetsOldEventsMakeRoom() async throws {
        let folder = try TemporaryFolder()
        try write(3_000, to: folder.path + "/old")
        let fill = """
            cp '\(folder.path)'/old/* "$T/"
            head -c 4M /dev/zero > "$T/ballast"
            cat /dev/zero > "$T/filler" 2> /dev/null || true
            """
        try await withFaultRig(through: disk(size: "24m", fill)) { rig in
            // Retention is a matter of idle turns, and nobody has made the daemon turn yet.
            _ = try? await rig.send("/note/1", "first")
            // Nobody makes room but the daemon.
            try await rig.until("it has made room") {
                guard try await rig.degradation() == "" else { return false }
                return try await rig.statistic("stored-events") <= 1
            }
            let id = try await rig.send("/note/1", "after")
            #expect(try await rig.history().last?.id == id)
            let names = try FileManager.default.contentsOfDirectory(atPath: try inside(rig))
            #expect(names.contains("filler") && !names.contains("ballast"))
        }
    }

    /// A journal of decided events, which an earlier boot has aged by 40 days.
    private func write(_ count: Int, to directory: String) throws {
        let journal = try Journal(directory: directory)
        let accepted = Int64(Date.now.timeIntervalSince1970 * 1_000_000) - 40 * 24 * 3_600_000_000
        for start in stride(from: 0, to: count, by: 500) {
            var entries: [JournalEntry] = []
            for number in start..<start + 500 {
                let id = Routing.EventID(UInt64(accepted) + UInt64(number))
                let event = StoredEvent(
                    id: id, topic: try Topic("/old/\(number)"), title: "old", body: String(repeating: "x", count: 500),
                    fields: [], published: accepted, sender: ":1.1", origin: Origin(source: nil, eventID: nil),
                    urgency: nil, retained: false, route: "default", key: "/old/\(number)", window: 0,
                    accepted: accepted, expires: Expiry(wall: accepted, uptime: 0, boot: "earlier"))
                let decision = StoredDecision(outcome: Routing.Outcome.shown, resolved: accepted)
                entries += [.accepted(event), .decided(id, decision)]
            }
            try journal.commit(entries)
        }
        let last = try journal.history(.all, after: Routing.EventID(0), limit: 1)[0]
        for days in [0, 40] as [Int64] {
            journal.advance(to: ClockReading(wall: 0, uptime: days * 24 * 3_600_000_000, boot: "earlier"))
            _ = try journal.expire(olderThan: .seconds(90 * 24 * 3_600), keeping: .max)
            try journal.commit([.decided(last.id, try #require(last.decision))])
        }
        journal.close()
    }
}
