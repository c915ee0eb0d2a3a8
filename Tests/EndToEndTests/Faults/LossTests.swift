import ChildProcesses
import Foundation
import NotifyClient
import NotifyRehearsal
import Testing

/// Somebody deletes what the daemon has open.
@Suite(.timeLimit(.minutes(2)))
struct LossTests {
    @Test func whatIsAcknowledgedAfterTheStateDirectoryWasDeletedIsFoundByTheNextRun() async throws {
        try await withFaultRig { rig in
            let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
            let value = try await rig.publish("/run/r1/mate/Mina", "value", ["retain": true])
            try FileManager.default.removeItem(atPath: rig.state)
            let refusal = await #expect(throws: NotifyError.self) { try await rig.send("/note/0") }
            #expect(refusal?.name == "org.notifyd.Router1.Error.StorageUnavailable")
            #expect(try await rig.degradation().contains("was deleted or moved while notifyd had it open"))
            try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
            try await expectTold(rig)
            var ids = [open, value]
            for number in 1...5 { ids.append(try await rig.send("/note/\(number)", "\(number)")) }
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.history().map(\.id) == ids)
            #expect(try await rig.claim(open) == "suppressed")
            let snapshot = try await rig.call("Snapshot", ["/run"]).arguments
            #expect(snapshot[1].elements?.compactMap { FaultRig.Entry($0) }.map(\.id) == [value])
        }
    }

    /// What takes the place of the state directory for a while, as a shell command with the path in `$0`.
    @Test(arguments: ["touch \"$0\"", "mkfifo \"$0\"", "mkdir -p \"$0/events.db\"", "ln -s /proc/1/nothing \"$0\""])
    func whatWasPromisedOutlivesAPlaceThatIsTaken(_ taking: String) async throws {
        try await withFaultRig { rig in
            let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
            let value = try await rig.publish("/run/r1/mate/Mina", "value", ["retain": true])
            try FileManager.default.removeItem(atPath: rig.state)
            try await shell(taking, rig.state)
            try await rig.expectRefused()
            let retries = try await rig.statistic("journal-retries")
            try await rig.until("it has tried twice") { try await rig.statistic("journal-retries") >= retries + 2 }
            try await rig.expectRefused()
            // What is open can still be read.
            #expect(try await rig.history().map(\.id) == [open, value])
            try await shell("rm -rf \"$0\"", rig.state)
            try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
            try await expectTold(rig)
            let next = try await rig.send("/note/1")
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.history().map(\.id) == [open, value, next])
            #expect(try await rig.claim(open) == "suppressed")
            let snapshot = try await rig.call("Snapshot", ["/run"]).arguments
            #expect(snapshot[1].elements?.compactMap { FaultRig.Entry($0) }.map(\.id) == [value])
        }
    }

    @Test(arguments: ["events.db", "events.db-wal"])
    func whatIsUndecidedOutlivesATruncatedFileAndItIsSaid(_ name: String) async throws {
        try await withFaultRig { rig in
            let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
            let value = try await rig.publish("/run/r1/mate/Mina", "value", ["retain": true])
            try await shell(": > \"$0/\(name)\"", rig.state)
            try await rig.expectRefused()
            #expect(try await rig.degradation().contains("\(name) was truncated"))
            try await rig.until("it goes on") { try await rig.degradation() == "" }
            try await expectTold(rig, of: name)
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.history().map(\.id) == [open, value])
            #expect(try await rig.claim(open) == "suppressed")
        }
    }

    /// An earlier copy, another journal, garbage, and the time alone; in the path of the shell's `$0`.
    @Test(arguments: [
        "cat \"$0/copy\" > \"$0/events.db\"",
        "dd if=/dev/urandom of=\"$0/events.db\" bs=4096 count=100 conv=notrunc 2> /dev/null",
        "rm -f \"$0/other\"; head -c 500000 /dev/zero > \"$0/other\"; cat \"$0/other\" > \"$0/events.db\"",
        "touch \"$0/events.db\"",
    ])
    func whatIsUndecidedOutlivesAFileThatIsOverwrittenAndItIsSaid(_ overwriting: String) async throws {
        try await withFaultRig { rig in
            // The name is on the bus before the file is there; an answer comes afterwards.
            #expect(try await rig.degradation() == "")
            try await shell("cp \"$0/events.db\" \"$0/copy\"", rig.state)
            let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
            // What happens during a transaction, such as that of the publisher's program, is not noticed.
            var acknowledged = [open]
            for _ in 1...10 {
                try await shell(overwriting, rig.state)
                guard let id = try? await rig.send("/refused/1", "refused") else { break }
                acknowledged.append(id)
            }
            try await expectTold(rig)
            try await rig.until("it goes on") { try await rig.degradation() == "" }
            let next = try await rig.publish("/open/2", "next", ["window": .uint32(60_000)])
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.history().map(\.id) == acknowledged + [next])
            #expect(try await rig.claim(open) == "suppressed")
        }
    }

    /// The last checkpoint of the file was made between the events and their claims.
    @Test func whatALogThatIsTruncatedHadDecidedStaysDecided() async throws {
        try await withFaultRig { rig in
            let body = String(repeating: "x", count: 3500)
            for number in 1...300 {
                let reply = try await rig.call("Send", [.string("/note/\(number)"), "title", .string(body)])
                _ = try await rig.claim(reply.arguments[0].integer() ?? 0)
            }
            try await shell(": > \"$0/events.db-wal\"", rig.state)
            try await rig.expectRefused()
            try await rig.until("it goes on") { try await rig.degradation() == "" }
            #expect(try await rig.history().allSatisfy { $0.outcome != "" })
            #expect(try await rig.call("Unread", ["/"]).arguments == [.uint32(0)])
        }
    }

    @Test func anUndecidedEventThatIsWrittenAgainIsNotTheValueOfItsTopicAgain() async throws {
        let configuration = faultDefaults + "[[route]]\ntopic = \"/value/{x}\"\nwindow = \"60s\"\nretain = true\n"
        try await withFaultRig(configuration) { rig in
            let old = try await rig.publish("/value/1", "old", [:])
            let current = try await rig.publish("/value/1", "current", [:])
            let removed = try await rig.publish("/value/2", "removed", [:])
            _ = try await rig.publish("/value/2", "", ["remove": true])
            // A damaged file is begun afresh, and nothing of it is carried over.
            try Data(repeating: 0x55, count: 200_000).write(to: URL(filePath: rig.state + "/events.db"))
            try await shell(": > \"$0/events.db-wal\"", rig.state)
            try await rig.expectRefused()
            try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.history().map(\.id) == [old, current, removed])
            let values = try await rig.call("Snapshot", ["/value"]).arguments[1].elements ?? []
            #expect(values.compactMap { FaultRig.Entry($0) }.map(\.id) == [current])
        }
    }

    private func expectTold(_ rig: FaultRig, of name: String = "events.db") async throws {
        let word = await rig.daemon.errors.next(within: FaultRig.patience) {
            $0.contains("deleted, replaced or truncated while it was in use") && $0.contains("\(name) ")
        }
        #expect(word != nil)
    }

    private func shell(_ script: String, _ path: String) async throws {
        let process = try ChildProcess(
            "sh", ["-c", script, path],
            environment: ["PATH": ChildProcess.currentEnvironment["PATH"] ?? "/usr/bin:/bin"])
        let exit = await process.waitForExit(within: .seconds(10))
        #expect(exit == .code(0), "\(script)")
    }

    @Test func aDirectoryThatCannotBeMadeAgainKeepsItDegraded() async throws {
        try await withFaultRig { rig in
            let first = try await rig.send("/note/0")
            _ = try await rig.signal("Resolved", about: first)
            try FileManager.default.removeItem(atPath: rig.state)
            try Data().write(to: URL(filePath: rig.state))
            try await rig.expectRefused()
            try await rig.until("it has tried again") { try await rig.statistic("journal-retries") >= 2 }
            try await rig.expectRefused()
            try FileManager.default.removeItem(atPath: rig.state)
            try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
            let id = try await rig.send("/note/1")
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.history().map(\.id) == [id])
        }
    }
}
