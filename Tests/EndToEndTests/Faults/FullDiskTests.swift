import Foundation
import Journal
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Routing
import Testing

/// The state directory is a small disk of its own, which only root can make.
@Suite(.timeLimit(.minutes(2)), .enabled(if: geteuid() == 0, "mounting a small disk needs root"))
struct FullDiskTests {
    private let rig: FaultRig! = Fixture.current()

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

    /// Publishes until nothing is accepted any more. What SQLite's log took may be room again when the file is opened
    /// again.
    ///
    /// - Returns: what was accepted.
    @discardableResult
    private func fill(_ rig: FaultRig, bodies: Int) async throws -> [UInt64] {
        let body = String(repeating: "x", count: bodies)
        var accepted: [UInt64] = []
        repeat {
            do throws(NotifyError) {
                let reply = try await rig.call("Send", ["/run/r1/mate/Mina", "accepted", .string(body)])
                accepted.append(reply.arguments[0].integer() ?? 0)
            } catch {
                try #require(error.name == "org.notifyd.Router1.Error.StorageUnavailable")
                try #require(error.message.contains("full") && error.message.contains("notifyctl forget"))
                if try await isStillFull(rig) { return accepted }
            }
        } while accepted.count < 10_000
        Issue.record("the disk is not full after \(accepted.count) events")
        return accepted
    }

    /// Whether the journal takes no events after two more tries.
    private func isStillFull(_ rig: FaultRig) async throws -> Bool {
        let retries = try await rig.statistic("journal-retries")
        try await rig.until("it has tried again twice, or goes on") {
            if try await rig.degradation() == "" { return true }
            return try await rig.statistic("journal-retries") >= retries + 2
        }
        return try await rig.degradation() != ""
    }

    @Test func aFullDiskRefusesNamesItAndGoesOnWhenThereIsRoom() async throws {
        let disk = disk(size: "2m", "head -c 600k /dev/zero > \"$T/filler\"")
        try await withFaultRig(through: disk) { rig in
            try await rig.connection.addMatch(MatchRule(interface: "org.freedesktop.DBus.Properties"))
            let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
            let accepted = [open] + (try await fill(rig, bodies: 4_000))
            #expect(try await rig.degradation().contains("full"))
            // What was accepted is still decided.
            #expect(try await rig.claim(open) == "suppressed")
            // For as long as it is full it does not say otherwise.
            let told = hasTold(rig)
            #expect(told.last == true)
            _ = try await isStillFull(rig)
            #expect(hasTold(rig) == told)
            #expect(await refusal { try await rig.send("/note/1", "refused") }?.shortName == "StorageUnavailable")

            try FileManager.default.removeItem(atPath: try inside(rig) + "/filler")
            try await rig.until("there is room") { try await rig.degradation() == "" }
            let after = try await rig.send("/note/1", "after")
            let history = try await rig.history()
            #expect(history.map(\.id) == accepted + [after])
            #expect(history.first?.outcome == "claimed")
            #expect(hasTold(rig) == told + [false])
        }
    }

    /// From the second start on, the state is on a disk without any room.
    private static let fullAtSecondStart = [
        "unshare", "--mount", "sh", "-ec",
        """
        T="$XDG_STATE_HOME/notifyd"
        if [ -e "$T" ]
        then
            cp -r "$T" "$XDG_STATE_HOME/saved"
            # The log grows while the daemon is idle.
            used=$(du --apparent-size -sk "$XDG_STATE_HOME/saved" | cut -f 1)
            mount -t tmpfs -o "size=$((used + 512))k,mode=700" none "$T"
            cp "$XDG_STATE_HOME/saved"/* "$T/"
            cat /dev/zero > "$T/filler" 2> /dev/null || true
        fi
        exec "$0"
        """,
    ]

    @Test(.faultRig(through: fullAtSecondStart), arguments: [false, true])
    func onADiskThatIsFullAtTheStartEverythingIsReadDecidedAndKept(_ isStoppedInOrder: Bool) async throws {
        let value = try await rig.publish("/run/r1/mate/Mina", "value", ["retain": true])
        let shown = try await rig.publish("/note/1", "shown", ["window": .uint32(60_000)])
        let claimed = try await rig.publish("/note/2", "claimed", ["window": .uint32(60_000)])
        try await rig.daemon.restart(inOrder: isStoppedInOrder)
        #expect(try await rig.replay(of: shown) != nil)
        #expect(try await rig.claim(claimed) == "suppressed")
        #expect(try await rig.outcome(of: claimed) == "claimed")
        #expect(try await rig.history().map(\.outcome) == ["silent", "", "claimed"])
        #expect(try await rig.call("Unread", ["/note"]).arguments.first?.integer() == 1)
        let values = try await rig.call("Snapshot", ["/run"]).arguments[1].elements ?? []
        #expect(values.compactMap { FaultRig.Entry($0) }.map(\.id) == [value])
        try FileManager.default.removeItem(atPath: try inside(rig) + "/filler")
        try await rig.until("there is room") { try await rig.degradation() == "" }
        #expect(try await rig.history().map(\.outcome) == ["silent", "", "claimed"])
    }

    @Test(.faultRig(through: fullAtSecondStart)) func onADiskThatIsFullAtTheStartTheBannerComesInTime() async throws {
        let id = try await rig.publish("/note/1", "shown", ["window": .uint32(3_000)])
        try await rig.daemon.restart()
        let details = try await rig.signal("Resolved", about: id).arguments
        #expect(details[2] == "shown")
        #expect(rig.banners("shown") == 1)
        #expect(try await rig.outcome(of: id) == "shown")
    }

    @Test func whatWasPromisedOutlivesAFullDiskThatIsClearedByDeletingTheState() async throws {
        let disk = [
            "unshare", "--mount", "sh", "-ec",
            """
            T="$XDG_STATE_HOME"
            [ -e "$T/notifyd" ] || { mount -t tmpfs -o size=2m none "$T"; head -c 600k /dev/zero > "$T/filler"; }
            exec "$0"
            """,
        ]
        try await withFaultRig(through: disk) { rig in
            let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
            let body = String(repeating: "x", count: 4_000)
            for _ in 1...1_000 {
                let reply = try? await rig.call(
                    "Publish",
                    ["/run/r1/cancelled", "fill", .string(body), .variants([:]), .variants(["banner": false])])
                guard reply != nil else { break }
            }
            #expect(try await rig.degradation().contains("full"))
            // The daemon deletes files there too.
            try await shell("rm -rf \"$0\"", try inside(rig))
            try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
            let kept = try await rig.history().map(\.id)
            #expect(kept.contains(open))
        }
    }

    @Test func theSpareSegmentLetsOldEventsMakeRoom() async throws {
        let folder = try TemporaryFolder()
        try write(3_000, to: folder.path + "/old")
        let fill = """
            cp '\(folder.path)'/old/* "$T/"
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
            #expect(names.contains("filler"))
        }
    }

    /// Publishes until something is refused.
    ///
    /// - Returns: what was accepted.
    private func fillOnce(_ rig: FaultRig, bytes: Int) async throws -> [UInt64] {
        let text = String(repeating: "x", count: bytes)
        var accepted: [UInt64] = []
        while let reply = try? await rig.call(
            "Publish",
            [
                "/run/r1/cancelled", "accepted", "", .variants(["text": .string(text)]), .variants(["banner": false]),
            ])
        {
            accepted.append(reply.arguments[0].integer() ?? 0)
        }
        return accepted
    }

    @Test func theSpareSegmentIsMadeAgainAsSoonAsThereIsRoom() async throws {
        try await withFaultRig(through: disk(size: "20m", "head -c 12M /dev/zero > \"$T/filler\"")) { rig in
            _ = try await fillOnce(rig, bytes: 8_000)
            #expect(
                try await rig.call("Forget", ["/run", .uint64(0)], timeout: .seconds(300)).arguments.first?.integer()
                    ?? 0 > 100)
            try await rig.until("there is room") { try await rig.degradation() == "" }
            try? FileManager.default.removeItem(atPath: try inside(rig) + "/filler")
            let folder = try inside(rig)
            try await rig.until("there are two segments") {
                _ = try await rig.send("/note/1", "a turn")
                return try FileManager.default.contentsOfDirectory(atPath: folder).count { $0.hasPrefix("log-") } >= 2
            }
        }
    }

    /// A journal of decided events, which an earlier boot has aged by 40 days.
    private func write(_ count: Int, to directory: String) throws {
        let journal = try Journal(directory: directory)
        let accepted = Int64(Date.now.timeIntervalSince1970 * 1_000_000) - 40 * 24 * 3_600_000_000
        for start in stride(from: 0, to: count, by: 500) {
            var entries: [Record] = []
            for number in start..<start + 500 {
                let id = EventID(UInt64(accepted) + UInt64(number))
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
        let last = try journal.history(.all, after: EventID(0), limit: 1)[0]
        for days in [0, 40] as [Int64] {
            journal.advance(to: ClockReading(wall: 0, uptime: days * 24 * 3_600_000_000, boot: "earlier"))
            _ = try journal.expire(olderThan: .seconds(90 * 24 * 3_600), keeping: .max)
            try journal.commit([.decided(last.id, try #require(last.decision))])
        }
        while try journal.work() == .zero {}
        journal.close()
    }
}
