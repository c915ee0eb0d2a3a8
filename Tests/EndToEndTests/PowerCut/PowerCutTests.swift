import Foundation
import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The power goes at any moment, and only what was synced is there afterwards.
@Suite(.timeLimit(.minutes(60)))
struct PowerCutTests {
    @Test func whatWasAcknowledgedOutlivesEveryPowerCut() async throws {
        let cuts = environmentNumber("NOTIFYD_CUTS") ?? 8
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

/// A disk of which a power cut leaves only what was synced, and which can break: `disk.c` in this folder, compiled and
/// preloaded into the daemon.
final class FaultyDisk: Sendable {
    private let folder: TemporaryFolder
    /// For `XDG_STATE_HOME`.
    let home: String

    init() async throws {
        folder = try TemporaryFolder()
        home = try folder.folder("home")
        try folder.folder("kept/synced")
        try folder.folder("kept/disk")
        let source = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "disk.c").path
        let compiler = try await ChildProcess.run(
            "cc", ["-shared", "-fPIC", "-O1", "-o", library, source], environment: ["PATH": ChildProcess.path],
            within: .seconds(60))
        guard compiler.code == 0 else { throw RehearsalError("disk.c cannot be compiled: \(compiler.errors)") }
    }

    private var library: String { folder.path + "/disk.so" }
    private var state: String { home + "/notifyd" }
    private var kept: String { folder.path + "/kept" }
    private var broken: String { folder.path + "/broken" }

    /// What the daemon needs in its environment.
    func environment(keepsWhatIsSynced: Bool) -> [String: String] {
        var environment = ["LD_PRELOAD": library, "DISK_STATE": state, "DISK_BROKEN": broken]
        if keepsWhatIsSynced { environment["DISK_KEPT"] = kept }
        return environment
    }

    func breakDown() throws { try folder.write("", to: "broken") }
    func mend() throws { try FileManager.default.removeItem(atPath: broken) }

    /// The power is gone, and is back: the state directory holds what was synced.
    func cutPower() throws {
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: state) { try files.removeItem(atPath: "\(state)/\(name)") }
        for name in try files.contentsOfDirectory(atPath: "\(kept)/synced") {
            try files.removeItem(atPath: "\(kept)/synced/\(name)")
        }
        for name in try files.contentsOfDirectory(atPath: "\(kept)/disk") {
            // A copy that was not finished was not synced.
            if name.hasSuffix(".new") {
                try files.removeItem(atPath: "\(kept)/disk/\(name)")
                continue
            }
            try files.copyItem(atPath: "\(kept)/disk/\(name)", toPath: "\(state)/\(name)")
            try files.copyItem(atPath: "\(kept)/disk/\(name)", toPath: "\(kept)/synced/\(name)")
        }
    }
}
