import Foundation
import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Somebody deletes what the daemon has open.
@Suite(.timeLimit(.minutes(2)))
struct LossTests {
    private let rig: FaultRig! = Fixture.current()

    @Test(.faultRig) func theJournalBeginsAfreshWithWhatIsInMemoryWhenTheStateDirectoryIsDeleted() async throws {
        let snoozed = try await rig.send("/later/1", "news")
        try await rig.until("it is shown") { try await rig.outcome(of: snoozed) == "shown" }
        _ = try await rig.call("Snooze", [.uint64(snoozed), .uint32(3600)])
        let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
        try await shell("rm -rf \"$0\"", rig.state)
        try await expectTold(rig)
        try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
        var ids = [snoozed, open]
        for number in 1...5 { ids.append(try await rig.send("/note/\(number)", "\(number)")) }
        try await rig.daemon.restart()
        #expect(try await rig.history().map(\.id) == ids)
        #expect(try await rig.outcome(of: snoozed) == "shown")
        let inbox = try await rig.call("Inbox", [.string("/later"), .uint64(0), .uint32(1)])
        #expect("\(inbox.arguments)".contains("\"snoozed\""))
        #expect(try await rig.claim(open) == "suppressed")
    }

    /// What was acknowledged before anybody could notice is in no file that has a name. What is older went with the
    /// index.
    @Test(.faultRig, arguments: 1...5) func nothingIsLostThatIsAcknowledgedAfterTheFilesWereDeleted(_ round: Int)
        async throws
    {
        var ids: [UInt64] = []
        for number in 1...60 {
            if number == 20 * (round % 3) + 7 {
                try await shell("rm -rf \"$0\"", rig.state)
                ids = []
            }
            // It is refused for a moment, or goes on.
            if let id = try? await rig.send("/note/\(number)", "\(number)") { ids.append(id) }
        }
        try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
        try await rig.daemon.restart()
        #expect(try await rig.history().map(\.id).suffix(ids.count) == ids[...])
    }

    /// What takes the place of the state directory for a while, as a shell command with the path in `$0`.
    @Test(
        .faultRig,
        arguments: ["touch \"$0\"", "mkfifo \"$0\"", "mkdir -p \"$0/index.db\"", "ln -s /proc/1/nothing \"$0\""])
    func whatIsUndecidedOutlivesAPlaceThatIsTaken(_ taking: String) async throws {
        let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
        try await shell("mv \"$0\" \"$0.away\"; \(taking)", rig.state)
        try await rig.expectRefused()
        let retries = try await rig.statistic("journal-retries")
        try await rig.until("it has tried twice") { try await rig.statistic("journal-retries") >= retries + 2 }
        try await rig.expectRefused()
        try await shell("rm -rf \"$0\"", rig.state)
        try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
        try await expectTold(rig)
        let next = try await rig.send("/note/1")
        try await rig.daemon.restart()
        #expect(try await rig.history().map(\.id) == [open, next])
        #expect(try await rig.claim(open) == "suppressed")
    }

    @Test(.faultRig, arguments: ["index.db", "log-0"])
    func aFileThatIsReplacedIsNoticed(_ name: String) async throws {
        let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
        try await shell("cp \"$0/\(name)\" \"$0/copy\"; mv \"$0/copy\" \"$0/\(name)\"", rig.state)
        try await expectTold(rig)
        try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
        let next = try await rig.send("/note/1")
        try await rig.daemon.restart()
        #expect(try await rig.history().map(\.id) == [open, next])
        #expect(try await rig.claim(open) == "suppressed")
    }

    /// inotify does not report it.
    @Test(
        .faultRig(through: ["unshare", "--mount", "sh", "-ec", "exec \"$0\""]),
        .enabled(if: geteuid() == 0, "mounting needs root"))
    func aMountOverTheStateDirectoryIsNoticedAndTheNextEventsAreThere() async throws {
        let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
        let process = try #require(rig.daemon.identifier)
        try await shell("nsenter --target \(process) --mount mount -t tmpfs -o size=32m none \"$0\"", rig.state)
        // It is refused, or is there afterwards.
        let next = try? await rig.send("/note/1")
        try await expectTold(rig)
        try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
        let last = try await rig.send("/note/2")
        #expect(try await rig.history().map(\.id) == [open, next, last].compactMap(\.self))
    }

    @Test(.faultRig) func anIndexThatIsOverwrittenIsSetAsideAtTheNextStart() async throws {
        let open = try await rig.publish("/open/1", "open", ["window": .uint32(60_000)])
        await rig.daemon.kill()
        try await shell("head -c 500000 /dev/urandom > \"$0/index.db\"; : > \"$0/index.db-wal\"", rig.state)
        try await rig.daemon.start()
        // The log has it.
        #expect(try await rig.history().map(\.id) == [open])
        #expect(try await rig.claim(open) == "suppressed")
        let word = await rig.daemon.errors.next(within: FaultRig.patience) {
            $0.contains("The index of the journal was damaged and is set aside")
        }
        #expect(word != nil)
    }

    /// `Forget` erases the log, so that nothing has what the index had.
    @Test(.faultRig) func anIndexThatIsMissingAfterACleanStopIsTold() async throws {
        let ids = [try await rig.send("/note/1"), try await rig.send("/note/2")]
        try await rig.untilSettled()
        _ = try await rig.call("Forget", ["/note/1", .uint64(0)])
        await rig.daemon.stop()
        try await shell("rm \"$0\"/index.db*", rig.state)
        try await rig.daemon.start()
        let word = await rig.daemon.errors.next(within: FaultRig.patience) {
            $0.contains("The index of the journal was missing")
        }
        #expect(word != nil)
        let rows = try await rig.call("Diagnose", []).arguments.first?.elements
        #expect(rows?.first?.elements?.first?.string == "journal")
        #expect(rows?.first?.elements?[1].string?.hasPrefix("its index was missing") == true)
        #expect(try await rig.history().map(\.id).filter(ids.contains) == [])
    }

    @Test func anUndecidedEventThatIsWrittenAgainIsNotTheValueOfItsTopicAgain() async throws {
        let configuration = faultDefaults + "[[route]]\ntopic = \"/value/{x}\"\nwindow = \"60s\"\nretain = true\n"
        try await withFaultRig(configuration) { rig in
            let old = try await rig.publish("/value/1", "old", [:])
            let current = try await rig.publish("/value/1", "current", [:])
            let removed = try await rig.publish("/value/2", "removed", [:])
            _ = try await rig.publish("/value/2", "", ["remove": true])
            try await shell("rm -rf \"$0\"", rig.state)
            try await expectTold(rig)
            try await rig.until("it has begun afresh") { try await rig.degradation() == "" }
            try await rig.daemon.restart()
            #expect(try await rig.history().map(\.id) == [old, current, removed])
            let values = try await rig.call("Snapshot", ["/value"]).arguments[1].elements ?? []
            #expect(values.compactMap { FaultRig.Entry($0) }.map(\.id) == [current])
        }
    }

    private func expectTold(_ rig: FaultRig) async throws {
        let word = await rig.daemon.errors.next(within: FaultRig.patience) {
            $0.contains("The journal was deleted, moved or replaced while it was in use")
        }
        #expect(word != nil)
    }
}
