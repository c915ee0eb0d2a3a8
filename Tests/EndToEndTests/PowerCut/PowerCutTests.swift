import Glibc
import NotifyClient
import NotifyRehearsal
import Testing

/// The power goes at any moment, and only what was synced is there afterwards.
@Suite(.timeLimit(.minutes(60)))
struct PowerCutTests {
    @Test func whatWasAcknowledgedOutlivesEveryPowerCut() async throws {
        let cuts = getenv("NOTIFYD_CUTS").flatMap { Int(String(cString: $0)) } ?? 8
        let disk = try await FaultyDisk()
        let environment = disk.environment(keepsWhatIsSynced: true)
        try await withFaultRig(Load.configuration, state: disk.home, environment: environment) { rig in
            let load = Load(on: rig.bus)
            try await load.run {
                for _ in 1...cuts {
                    try await Task.sleep(for: .milliseconds(Int.random(in: 10...250)))
                    await rig.daemon.kill()
                    try disk.cutPower()
                    // It checks the whole file when it starts.
                    try await rig.daemon.start()
                    #expect(rig.daemon.errors.all.allSatisfy { !$0.contains("damaged") })
                    #expect(try await rig.degradation() == "")
                }
            }
            try await rig.untilSettled()
            let history = try await rig.history()
            let faults = load.witness.faults(history, rig.server.banners.all)
            #expect(faults.prefix(10) == [])
            #expect(load.witness.acknowledged > cuts)
            print(
                "\(cuts) power cuts: \(load.witness.acknowledged) acknowledged, \(history.count) kept,",
                "\(faults.count) faults")
        }
    }
}
