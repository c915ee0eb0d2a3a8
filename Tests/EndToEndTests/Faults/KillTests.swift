import Glibc
import NotifyClient
import NotifyRehearsal
import Testing

/// The daemon dies at any moment, and nobody who was promised something notices.
@Suite(.timeLimit(.minutes(60)))
struct KillTests {
    @Test func whatWasAcknowledgedOutlivesEveryKill() async throws {
        let kills = getenv("NOTIFYD_KILLS").flatMap { Int(String(cString: $0)) } ?? 10
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
