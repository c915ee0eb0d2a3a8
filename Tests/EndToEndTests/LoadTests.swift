import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The program behind `make bench-scale`.
struct LoadTests {
    @Test func aPointWithALittleOfEverythingIsMeasured() async throws {
        let around = ["--subscribers", "3", "--screens", "5", "--open", "7", "--history", "9", "--payload", "9000"]
        let process = try ChildProcess(
            BuiltPrograms.notifyload,
            ["--daemon", BuiltPrograms.notifyd, "--seconds", "0.1", "--waits", "0.1", "--rest", "0.1"] + around,
            environment: ChildProcess.currentEnvironment, capturing: [1])
        let lines = try #require(await process.allLines(of: 1, within: .seconds(30)))
        let figures = try JSONDecoder().decode([String: Double].self, from: Data(lines.joined().utf8))
        for name in ["failed", "late", "unfinished"] { #expect(figures[name] == 0, "\(name)") }
        for name in ["events_per_s", "daemon_us", "bus_us", "load_us", "signal_p99", "claim_p99", "rss_mib"]
            + ["rest_mib"] + ["", "flooded_", "serverless_", "served_", "hung_"].map({ "\($0)send_p99" })
        {
            #expect(figures[name] ?? 0 > 0, "\(name)")
        }
    }

    @Test func theLinkIsLoadedWithTheDaemonThatIsNamed() async throws {
        let process = try ChildProcess(
            BuiltPrograms.notifyload, ["link", "--daemon", "/nowhere/notifyd", "--part", "idle", "--quick"],
            environment: ChildProcess.currentEnvironment, capturing: [2])
        let lines = try #require(await process.allLines(of: 2, within: .seconds(30)))
        #expect(lines.contains { $0.contains("/nowhere/notifyd cannot be started") }, "\(lines)")
    }

    @Test func whatAStormTookIsGivenBackWhenItIsOver() async throws {
        try await withRig { rig in
            let daemon = ProcessStatistics(identifier: try #require(rig.daemon.identifier))
            let before = try await eventually("the start has given back its memory") {
                try await daemon.settle(within: .seconds(5))
                return daemon.memory < 0.8 * daemon.peakMemory ? daemon.memory : nil
            }
            for batch in 0..<40 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<50 {
                        group.addTask {
                            let id = try await rig.client.send("/storm/\(number)", body: "batch \(batch)")
                            if number % 2 == 0 { _ = try await rig.client.claim(id) }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            let after = daemon.memory
            _ = try await eventually("most of \(after - before) MiB is given back, and not \(after - daemon.memory)") {
                daemon.memory - before < (after - before) / 3 ? true : nil
            }
        }
    }
}
