import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Orderly ends, and those of others.
@Suite(.timeLimit(.minutes(2)))
struct EndingTests {
    @Test func whoIsAskedToStopUnderLoadStopsWithinASecondAndLosesNothing() async throws {
        try await withFaultRig(Load.configuration) { rig in
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
    }

    @Test func theEndOfTheBusIsTheEndOfTheDaemonAndNothingIsLost() async throws {
        try await withFaultRig { rig in
            var ids: [UInt64] = []
            for number in 1...20 { ids.append(try await rig.send("/note/\(number)", "\(number)")) }
            await rig.bus.kill()
            #expect(await rig.daemon.waitForExit() == .code(75))
            try await rig.bus.start()
            try await rig.daemon.start()
            let client = try await NotifyClient(address: rig.bus.address)
            let connection = try await Connection.open(rig.bus.address)
            defer { connection.close() }
            let reply = try await connection.call(
                .call(
                    "History", of: Router.interface, at: Router.path, on: Router.name,
                    ["/", .uint64(0), .uint32(1000)]))
            let kept = (reply.arguments[0].elements ?? []).compactMap { FaultRig.Entry($0) }
            #expect(kept.map(\.id) == ids)
            await client.close()
        }
    }

    @Test func aSecondDaemonOnTheBusIsTurnedAway() async throws {
        try await withFaultRig { rig in
            let id = try await rig.publish("/note/1", "news", ["window": .uint32(60_000)])
            let second = try DaemonProcess(BuiltPrograms.notifyd, on: rig.bus)
            let start = await #expect(throws: RehearsalError.self) { try await second.start() }
            #expect(start?.description.contains("is taken") == true)
            #expect(await second.waitForExit() == .code(69))
            #expect(try await rig.claim(id) == "suppressed")
        }
    }

    @Test func aSecondDaemonOnTheStateGoesOnWhenTheFirstHasLeft() async throws {
        try await withFaultRig { first in
            let id = try await first.publish("/note/1", "news", ["window": .uint32(60_000)])
            let home = String(first.state.dropLast("/notifyd".count))
            try await withFaultRig(state: home) { second in
                #expect(try await second.degradation().contains("another process"))
                let refusal = await #expect(throws: NotifyError.self) { try await second.send("/note/2") }
                #expect(refusal?.name == "org.notifyd.Router1.Error.StorageUnavailable")
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
