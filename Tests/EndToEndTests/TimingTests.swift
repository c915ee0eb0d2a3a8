import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The one promise that people feel: claimed in time means no banner, unclaimed means a banner when the window ends.
@Suite(.serialized, .timeLimit(.minutes(2))) struct TimingTests {
    private let rig: Rig! = Fixture.current()

    /// Of most banners, not of all: the machine may stand still for longer than that, and does not do so all the time.
    /// What was measured is printed.
    private static let bound: Duration = .milliseconds(150) * Timeouts.factor
    private static let window: Duration = .milliseconds(100)

    @Test(.rig, arguments: [30, 60, 90])
    func aClaimWithinTheWindowSuppresses(_ milliseconds: Int) async throws {
        let screen = try await NotifyClient(address: rig.bus.address)
        var inTime = 0
        var attempts = 0
        while inTime < 20, attempts < 200 {
            attempts += 1
            let sent = ContinuousClock.now
            let id = try await rig.client.send("/post/\(attempts)", title: "a")
            try await Pace.sleep(until: sent + .milliseconds(milliseconds))
            let verdict = try await screen.claim(id)
            // Where the machine held the claim up beyond the window it was late, and rightly refused.
            if verdict != .suppressed, ContinuousClock.now - sent > Self.window { continue }
            inTime += 1
            #expect(verdict == .suppressed)
            #expect(await rig.listener.resolution(of: id)?.outcome == "claimed")
        }
        print(
            "claims after \(milliseconds) ms: \(inTime) of \(attempts) could be made in "
                + "time, all of them suppressed"
        )
        #expect(inTime == 20, "this machine is too busy to claim at \(milliseconds) ms")
        #expect(rig.server.banners.all.count <= attempts - inTime)
        await screen.close()
    }

    @Test(.rig) func anUnclaimedEventIsABannerAfterTheWindowAndNeverBefore() async throws {
        var lateness: [Duration] = []
        for number in 1...60 {
            let sent = ContinuousClock.now
            try await rig.client.send("/post/\(number)", title: "a")
            let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
            lateness.append(banner.arrival - sent - Self.window)
        }
        let spread = try #require(LatencyDistribution(lateness))
        print("banners after a window of 100 ms, measured from before the call to Send: \(spread) late")
        #expect(spread.minimum >= .zero)
        #expect(spread.percentile(75) < Self.bound)
    }

    @Test(.rig(configuration: "[banner]\nmax_per_second = 0\n")) func hundredsOfWindowsAtOnceEndOnTime() async throws {
        var sent: [String: ContinuousClock.Instant] = [:]
        for number in 1...400 {
            sent["post \(number)"] = .now
            try await rig.client.send("/post/\(number)", title: "post \(number)")
        }
        var lateness: [Duration] = []
        for _ in 1...400 {
            let banner = try #require(await rig.server.banners.next(within: .seconds(5)))
            lateness.append(banner.arrival - (try #require(sent[banner.title])) - Self.window)
        }
        let spread = try #require(LatencyDistribution(lateness))
        print("400 windows at once: \(spread) late")
        #expect(spread.minimum >= .zero)
        #expect(spread.percentile(75) < Self.bound + .milliseconds(350))
    }

    @Test(.rig) func everyoneHearsEverythingClaimedOrNot() async throws {
        let others = [try await Listener(on: rig.bus), try await Listener(on: rig.bus)]
        var ids: [UInt64] = []
        for number in 1...30 {
            let id = try await rig.client.send("/run/r1/mate/영희/finished", title: "\(number)")
            if number % 3 == 0 { try await rig.client.claim(id) }
            ids.append(id.rawValue)
        }
        for listener in others {
            for id in ids { #expect(await listener.event(id) != nil) }
            let heard = listener.heard.all.compactMap { if case .event(let id, _) = $0.word { id } else { nil } }
            #expect(heard == ids)
            listener.close()
        }
    }
}

extension Sequence where Element: Sendable {
}

/// The program behind `make bench-scale`.
struct LoadTests {
    private let rig: Rig! = Fixture.current()

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

    @Test(.rig) func whatAStormTookIsGivenBackWhenItIsOver() async throws {
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
