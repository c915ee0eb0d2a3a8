import Foundation
import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Orderly ends, and those of others.
@Suite(.timeLimit(.minutes(2)))
struct EndingTests {
    private let rig: FaultRig! = Fixture.current()

    @Test(.faultRig(Load.configuration)) func whoIsAskedToStopUnderLoadStopsWithinASecondAndLosesNothing() async throws
    {
        let load = Load(on: rig.bus)
        try await load.run {
            for _ in 1...3 {
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...200)))
                let begin = ContinuousClock.now
                #expect(await rig.daemon.stop() == .code(0))
                #expect(ContinuousClock.now - begin < .seconds(1) * Timeouts.factor)
                try await rig.daemon.start()
            }
        }
        try await rig.untilSettled()
        #expect(load.witness.faults(try await rig.history(), rig.server.banners.all).prefix(10) == [])
        #expect(load.witness.acknowledged > 3)
    }

    @Test(.faultRig) func theEndOfTheBusIsTheEndOfTheDaemonAndNothingIsLost() async throws {
        var ids: [UInt64] = []
        for number in 1...20 { ids.append(try await rig.send("/note/\(number)", "\(number)")) }
        await rig.bus.kill()
        #expect(await rig.daemon.waitForExit() == .code(75))
        try await rig.bus.start()
        try await rig.daemon.start()
        let client = try await NotifyClient(address: rig.bus.address)
        let connection = try await Connection.open(rig.bus.address)
        defer { connection.close() }
        let reply = try await connection.call(.toRouter("History", ["/", .uint64(0), .uint32(1000)]))
        let kept = (reply.arguments[0].elements ?? []).compactMap { FaultRig.Entry($0) }
        #expect(kept.map(\.id) == ids)
        await client.close()
    }

    @Test(.faultRig) func aSecondDaemonOnTheBusIsTurnedAway() async throws {
        let id = try await rig.publish("/note/1", "news", ["window": .uint32(60_000)])
        let second = try DaemonProcess(BuiltPrograms.notifyd, on: rig.bus)
        let start = await #expect(throws: RehearsalError.self) { try await second.start() }
        #expect(start?.description.contains("is taken") == true)
        #expect(await second.waitForExit() == .code(69))
        #expect(try await rig.claim(id) == "suppressed")
    }

    @Test func aSecondDaemonOnTheStateGoesOnWhenTheFirstHasLeft() async throws {
        try await withFaultRig { first in
            let id = try await first.publish("/note/1", "news", ["window": .uint32(60_000)])
            let home = String(first.state.dropLast("/notifyd".count))
            try await withFaultRig(state: home) { second in
                #expect(try await second.degradation().contains("another process"))
                #expect(await refusal { try await second.send("/note/2") }?.shortName == "StorageUnavailable")
                #expect(try await first.degradation() == "")
                #expect(try await first.claim(id) == "suppressed")
                let open = try await first.publish("/note/1", "open", ["window": .uint32(60_000)])
                await first.daemon.kill()
                try await second.until("the journal is free") { try await second.degradation() == "" }
                #expect(try await second.replay(of: open) != nil)
                #expect(try await second.send("/note/2") > open)
            }
        }
    }
}

/// The daemon dies at any moment, and nobody who was promised something notices.
@Suite(.timeLimit(.minutes(60)))
struct KillTests {
    @Test func whatWasAcknowledgedOutlivesEveryKill() async throws {
        let kills = environmentNumber("NOTIFYD_KILLS") ?? 10
        try await withFaultRig(Load.configuration) { rig in
            let load = Load(on: rig.bus)
            var starts: [Duration] = []
            try await load.run {
                for _ in 1...kills {
                    // Not to wait for anything: this is the moment of the fault.
                    try await Task.sleep(for: .milliseconds(Int.random(in: 10...250)))
                    await rig.daemon.kill()
                    let begin = ContinuousClock.now
                    try await rig.daemon.start()
                    starts.append(ContinuousClock.now - begin)
                }
            }
            try await rig.untilSettled()
            let history = try await rig.history()
            let banners = rig.server.banners.all
            let faults = load.witness.faults(history, banners)
            #expect(faults.prefix(10) == [])
            let repeats = Witness.repeats(banners)
            #expect(repeats.withinOneLife == 0)
            #expect(repeats.most <= 1)
            #expect(repeats.all <= kills)
            #expect(load.witness.acknowledged > kills)
            starts.sort()
            print(
                "\(kills) kills: \(load.witness.acknowledged) acknowledged, \(history.count) "
                    + "kept, \(faults.count) faults,",
                "\(banners.count) banners, \(repeats.all) repeated, at most \(repeats.most) by one kill;",
                "ready after \(starts[starts.count / 2]) (p99 \(starts[starts.count * 99 / 100]))")
        }
    }
}

/// Signals that come because a write fails end nothing.
@Suite(.timeLimit(.minutes(2)))
struct SignalTests {
    private let rig: FaultRig! = Fixture.current()

    @Test func theReaderOfTheLogMayLeave() async throws {
        // The reader ends at once, and everything after that is written to a pipe that nobody reads.
        let command = ["bash", "-c", "exec \"$0\" --log-level debug 2> >(exec true)"]
        try await withFaultRig(through: command) { rig in
            for number in 1...20 { _ = try await rig.send("/note/\(number)") }
            #expect(rig.daemon.exit == nil)
        }
    }

    @Test(arguments: [8, 12, 20]) func aLimitOfOpenFilesThatIsTooLowIsNamed(_ limit: Int) async throws {
        try await withFaultRig(through: ["bash", "-c", "ulimit -n \(limit); exec \"$0\""], isStarted: false) { rig in
            await #expect(throws: RehearsalError.self) { try await rig.daemon.start() }
            #expect(rig.daemon.exit == .code(71))
            #expect(rig.daemon.log.contains("LimitNOFILE="))
        }
    }

    @Test(.faultRig(through: ["bash", "-c", "ulimit -n 64; exec \"$0\""]))
    func withAsManyOpenFilesAsItNeedsNotifydWorks() async throws {
        let id = try await rig.send("/note/1")
        try await rig.untilSettled()
        #expect(try await rig.history().map(\.id) == [id])
        #expect(rig.banners("news") == 1)
    }

    /// In units of 1024 bytes: the first one is too little for an empty journal.
    @Test(arguments: [100, 512]) func aLimitOfFileSizesIsNamedAndLosesNothing(_ limit: Int) async throws {
        try await withFaultRig(through: ["bash", "-c", "ulimit -f \(limit); exec \"$0\""]) { rig in
            let body = String(repeating: "x", count: 4_000)
            var accepted: [UInt64] = []
            var refusal: NotifyError?
            while refusal == nil, accepted.count < 1_000 {
                do throws(NotifyError) {
                    let reply = try await rig.call("Send", ["/run/r1/mate/Mina", "accepted", .string(body)])
                    accepted.append(reply.arguments[0].integer() ?? 0)
                } catch {
                    refusal = error
                }
            }
            #expect(refusal?.name == "org.notifyd.Router1.Error.StorageUnavailable")
            #expect(refusal?.message.contains("LimitFSIZE=") == true)
            #expect(rig.daemon.exit == nil)
            try await rig.daemon.restart()
            let kept = accepted.isEmpty ? [] : Set(try await rig.history().map(\.id))
            #expect(Set(accepted).subtracting(kept) == [])
        }
    }

    @Test func theCommandOfAButtonEndsByTheseSignalsAsItExpects() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let configuration = """
            [[route]]
            topic = "/button"
            window = "0ms"
            actions = [{ key = "go", label = "Go", exec = ["sh", "-c", "grep SigIgn /proc/self/status > \
            \(folder.path)/out.new && mv \(folder.path)/out.new \(folder.path)/out"] }]
            """
        try await withFaultRig(configuration) { rig in
            let id = try await rig.send("/button")
            let banner: UInt32? = try await rig.signal("Resolved", about: id).arguments[3].entries?["banner"]?.integer()
            rig.server.invoke("go", on: try #require(banner))
            try await rig.until("the command has ended") {
                FileManager.default.fileExists(atPath: folder.path + "/out")
            }
            let line = try String(contentsOfFile: folder.path + "/out", encoding: .utf8)
            let mask = try #require(UInt64(line.split(whereSeparator: \.isWhitespace).last ?? "", radix: 16))
            for number in [SIGPIPE, SIGXFSZ] { #expect(mask & (1 << UInt64(number - 1)) == 0, "\(number)") }
        }
    }
}
