import Foundation
import Glibc
import NotifyClient
import NotifyRehearsal
import Testing

/// A full disk of any size can be cleared, and nothing that was acknowledged is lost. `NOTIFYD_DISKS=all` takes every
/// size of 2 to 32 MiB, and more kinds of events.
@Suite(.timeLimit(.minutes(120)), .serialized, .enabled(if: geteuid() == 0, "mounting a small disk needs root"))
struct SmallDiskTests {
    /// What fills a disk.
    struct Load: CustomTestStringConvertible {
        /// In MiB.
        let disk: Int
        /// Of an event.
        let bytes: Int
        var isValue = false

        var testDescription: String { "\(disk) MiB, \(isValue ? "values" : "events") of \(bytes) bytes" }
    }

    private static let isLong = getenv("NOTIFYD_DISKS") != nil
    static let sizes = isLong ? Array(2...32) : [2, 12]
    static let loads =
        isLong
        ? sizes.flatMap { size in
            [300, 4_000, 60_000].map { Load(disk: size, bytes: $0) } + [Load(disk: size, bytes: 2_000, isValue: true)]
        }
        : [
            Load(disk: 2, bytes: 1_000), Load(disk: 2, bytes: 60_000), Load(disk: 3, bytes: 4_000, isValue: true),
            Load(disk: 12, bytes: 60_000),
        ]

    @Test(arguments: loads) func aDiskThatTheJournalFillsIsClearedAtOnceByForget(_ load: Load) async throws {
        try await withDisk(load.disk) { disk, rig in
            var kept = try await Kept(rig)
            for round in 1...4 {
                let accepted = try await fill(rig, load)
                try #require(accepted.count > 8, "round \(round)")
                try #require(try await rig.degradation().contains("the disk is full"))
                kept.ids += accepted
                switch round {
                case 2: try await rig.daemon.restart(inOrder: true)
                case 3: try await rig.daemon.restart()
                case 4:
                    // The call has no answer: it is killed somewhere in between.
                    async let call: Message = rig.call(
                        "Forget", ["/fill", .uint64(accepted[accepted.count / 4])], timeout: .seconds(300))
                    try await rig.until("it has begun") {
                        try await rig.statistic("stored-events") < kept.ids.count + kept.others
                    }
                    try await rig.daemon.restart()
                    _ = try? await call
                default: break
                }
                try await forget(half: accepted, &kept, rig, "round \(round)")
                try await expectAll(kept, rig, "round \(round)")
            }
        }
    }

    @Test(arguments: loads) func aDiskThatAnotherProgramFillsIsClearedAtOnceByForget(_ load: Load) async throws {
        try await withDisk(load.disk) { disk, rig in
            var kept = try await Kept(rig)
            let first = try await publish(max(8, min(400, load.disk << 17 / load.bytes)), rig, load)
            kept.ids += first
            for round in 1...2 {
                // What waits in the log can be deleted when the index has it.
                try await rig.until("the index has everything") { try await rig.statistic("log-waiting-bytes") == 0 }
                let filler = try disk.takeRest()
                let accepted = try await fill(rig, load)
                kept.ids += accepted
                #expect(try await rig.degradation().contains("the disk is full"))
                if round == 2 { try await rig.daemon.restart() }
                let left = kept.ids
                let last = left[left.count / 2]
                let reply = try await rig.call("Forget", ["/fill", .uint64(last)], timeout: .seconds(300))
                #expect(reply.arguments.first?.integer() ?? 0 > 0, "round \(round)")
                kept.ids.removeAll { $0 <= last }
                try await expectAll(kept, rig, "round \(round)")
                try FileManager.default.removeItem(atPath: filler)
                try await rig.until("there is room") { try await rig.degradation() == "" }
                kept.ids.append(try await rig.send("/note/1", "a turn"))
                try await expectAll(kept, rig, "round \(round)")
            }
        }
    }

    /// What is decided and marked while nothing can be written is not lost, and does not take what deletions need.
    @Test(arguments: sizes)
    func onAFullDiskEveryCallIsTakenOrRefusedClearly(_ size: Int) async throws {
        try await withDisk(size) { disk, rig in
            let load = Load(disk: size, bytes: 4_000)
            let value = try await rig.publish("/value/1", "value", ["retain": true, "banner": false])
            let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
            let other = try await rig.publish("/open/2", "open", ["window": .uint32(60_000)])
            let first = try await publish(50, rig, load)
            let accepted = try await fill(rig, load)
            #expect(try await rig.claim(open) == "suppressed")
            _ = try await rig.call("Withdraw", [.uint64(other)])
            for _ in 1...200 {
                _ = await refusal { try await rig.call("MarkRead", ["/", .uint64(0)]) }
                _ = await refusal { try await rig.call("Mute", ["/fill", .uint32(60)]) }
                _ = await refusal { try await rig.call("Pause", [.uint32(60)]) }
            }
            // A removal makes room.
            _ = try await rig.publish("/value/1", "", ["remove": true])
            #expect(try await rig.call("Snapshot", ["/value"]).arguments[1].elements?.isEmpty == true)
            try disk.takeRest()
            _ = await refusal { try await rig.publish("/value/1", "", ["remove": true]) }
            _ = await refusal { try await rig.call("MarkRead", ["/", .uint64(0)]) }
            try await rig.daemon.restart()
            let reply = try await rig.call("Forget", ["/fill", .uint64(0)], timeout: .seconds(300))
            #expect(reply.arguments.first?.integer() ?? 0 >= first.count + accepted.count - 1)
            try await rig.until("there is room") { try await rig.degradation() == "" }
            _ = try await rig.send("/note/1", "after")
            #expect(try await rig.outcome(of: open) == "claimed")
            #expect(try await rig.outcome(of: other) == "withdrawn")
            let history = try await rig.history().map(\.id)
            #expect(history.contains(value))
        }
    }

    /// Events leave room for their outcomes, each of which may take another page. The sizes are those of events that
    /// just fit.
    @Test(arguments: isLong ? [200, 1_900, 3_908, 7_990, 7_995, 8_000] : [3_908, 7_990])
    func onADiskThatUndecidedEventsFillEveryClaimIsWritten(_ bytes: Int) async throws {
        try await withDisk(6) { _, rig in
            let open = try await fillWithOpen(rig, bytes)
            for id in open { #expect(try await rig.claim(id) == "suppressed") }
            try await expectClaimedAndForgettable(open, rig)
        }
    }

    /// A single call may decide all of them.
    @Test(arguments: isLong ? [4, 8, 12, 16] : [6, 12])
    func onADiskThatUndecidedEventsFillAllAreClaimedAtOnce(_ size: Int) async throws {
        try await withDisk(size) { _, rig in
            let open = try await fillWithOpen(rig, 8_000)
            _ = try await rig.call("ClaimTopic", ["/open", .uint32(0)], timeout: .seconds(60))
            try await expectClaimedAndForgettable(open, rig)
        }
    }

    /// Outcomes that wait in memory do not take what deletions need. Deletions make room for them, and then their
    /// events can be deleted too.
    @Test(arguments: isLong ? [200, 1_900, 3_908, 7_990] : [1_900, 7_990])
    func claimsOnADiskThatAnotherProgramFillsLeaveRoomForForget(_ bytes: Int) async throws {
        try await withDisk(12) { disk, rig in
            let open = try await fillWithOpen(rig, bytes)
            let filler = try disk.takeRest()
            for id in open { #expect(try await rig.claim(id) == "suppressed") }
            for round in 1...2 {
                let last = round == 1 ? open[open.count / 2] : 0
                let reply = try await rig.call("Forget", ["/open", .uint64(last)], timeout: .seconds(300))
                let expected = round == 1 ? open.count / 2 + 1 : open.count - open.count / 2 - 1
                #expect(reply.arguments.first?.integer() == UInt64(expected), "round \(round)")
            }
            try FileManager.default.removeItem(atPath: filler)
            try await rig.until("there is room") { try await rig.degradation() == "" }
            _ = try await rig.send("/note/1", "after")
        }
    }

    // MARK: Acts

    /// What has been acknowledged and not deleted.
    private struct Kept {
        var ids: [UInt64] = []
        let values: [UInt64]
        let open: UInt64
        var others: Int { values.count + 1 }

        init(_ rig: FaultRig) async throws {
            var values: [UInt64] = []
            for number in 1...3 {
                values.append(
                    try await rig.publish("/value/\(number)", "value", ["retain": true, "banner": false]))
            }
            self.values = values
            open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
        }
    }

    private func withDisk(_ size: Int, _ body: (SmallDisk, FaultRig) async throws -> Void) async throws {
        let disk = try SmallDisk(mebibytes: size)
        defer { disk.remove() }
        try await withFaultRig(state: disk.path) { rig in try await body(disk, rig) }
    }

    private func publish(_ count: Int, _ rig: FaultRig, _ load: Load) async throws -> [UInt64] {
        var accepted: [UInt64] = []
        for _ in 0..<count { accepted.append(try await publishOne(rig, load)) }
        return accepted
    }

    private func publishOne(_ rig: FaultRig, _ load: Load) async throws -> UInt64 {
        let options: [String: Value] = load.isValue ? ["banner": false, "retain": true] : ["banner": false]
        let reply = try await rig.call(
            "Publish",
            [
                .string("/fill/\(UInt64.random(in: 1...5))"), "accepted", "",
                .variants(["text": .string(String(repeating: "x", count: load.bytes))]), .variants(options),
            ])
        return try #require(reply.arguments.first?.integer())
    }

    /// Publishes events whose windows stay open until one is refused.
    ///
    /// - Parameter bytes: of the body of each.
    /// - Returns: what was accepted.
    private func fillWithOpen(_ rig: FaultRig, _ bytes: Int) async throws -> [UInt64] {
        var open: [UInt64] = []
        let body = String(repeating: "x", count: bytes)
        let refused = await refusal {
            while true {
                let reply = try await rig.call(
                    "Publish",
                    [
                        .string("/open/\(open.count)"), "open", .string(body), .variants([:]),
                        .variants(["window": .uint32(60_000)]),
                    ])
                open.append(try #require(reply.arguments.first?.integer()))
            }
        }
        #expect(refused != nil)
        return open
    }

    /// Publishes until something is refused.
    ///
    /// - Returns: what was accepted.
    private func fill(_ rig: FaultRig, _ load: Load) async throws -> [UInt64] {
        var accepted: [UInt64] = []
        while true {
            do {
                accepted.append(try await publishOne(rig, load))
            } catch let error as NotifyError {
                #expect(error.name == "org.notifyd.Router1.Error.StorageUnavailable")
                #expect(error.message.contains("the disk is full"))
                return accepted
            }
        }
    }

    /// A refusal says that the disk is full.
    private func refusal(_ call: () async throws -> some Any) async -> NotifyError? {
        do {
            _ = try await call()
            return nil
        } catch {
            let error = error as? NotifyError
            #expect(error?.name == "org.notifyd.Router1.Error.StorageUnavailable")
            #expect(error?.message.contains("the disk is full") == true)
            return error
        }
    }

    /// Deletes the older half of what was accepted. The next event is accepted without waiting.
    private func forget(half accepted: [UInt64], _ kept: inout Kept, _ rig: FaultRig, _ comment: Comment) async throws {
        let last = accepted[accepted.count / 2]
        let reply = try await rig.call("Forget", ["/fill", .uint64(last)], timeout: .seconds(300))
        #expect(reply.arguments.first?.integer() ?? 0 > 0, comment)
        kept.ids.removeAll { $0 <= last }
        #expect(try await rig.degradation() == "", comment)
        kept.ids.append(try await rig.send("/note/1", "after"))
    }

    /// After a kill.
    private func expectClaimedAndForgettable(_ open: [UInt64], _ rig: FaultRig) async throws {
        try await rig.daemon.restart()
        for id in open { #expect(try await rig.outcome(of: id) == "claimed") }
        let reply = try await rig.call("Forget", ["/open", .uint64(0)], timeout: .seconds(300))
        #expect(reply.arguments.first?.integer() == UInt64(open.count))
        #expect(try await rig.degradation() == "")
    }

    private func expectAll(_ kept: Kept, _ rig: FaultRig, _ comment: Comment) async throws {
        let history = try await rig.history()
        let missing = Set(kept.ids + kept.values + [kept.open]).subtracting(history.map(\.id)).sorted()
        #expect(missing.isEmpty, "\(comment): lost \(missing.count) of \(kept.ids.count): \(missing.suffix(3))")
        let values = try await rig.call("Snapshot", ["/value"]).arguments[1].elements ?? []
        #expect(values.compactMap { FaultRig.Entry($0) }.map(\.id) == kept.values, comment)
    }

}

/// A disk in memory, which outlives the daemons whose state is on it. Only root can make one.
final class SmallDisk {
    let path: String
    private let folder: TemporaryFolder

    init(mebibytes: Int) throws {
        folder = try TemporaryFolder()
        path = folder.path + "/disk"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        guard mount("none", path, "tmpfs", 0, "size=\(mebibytes)m,mode=700") == 0 else {
            throw RehearsalError("\(path) cannot be mounted: \(String(cString: strerror(errno)))")
        }
    }

    /// Has another program take all that is free.
    ///
    /// - Returns: what it wrote.
    @discardableResult
    func takeRest() throws -> String {
        let filler = path + "/filler"
        let file = open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw RehearsalError("\(filler) cannot be written") }
        defer { close(file) }
        let page = [UInt8](repeating: 1, count: 4096)
        while write(file, page, page.count) > 0 {}
        return filler
    }

    /// The free bytes.
    var free: Int {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return 0 }
        return Int(space.f_bavail) * Int(space.f_frsize)
    }

    func remove() {
        umount2(path, Int32(MNT_DETACH))
        folder.remove()
    }
}
