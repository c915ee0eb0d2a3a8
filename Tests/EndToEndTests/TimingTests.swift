import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The one promise that people feel: claimed in time means no banner, unclaimed means a banner when the window ends.
@Suite(.serialized, .timeLimit(.minutes(2))) struct TimingTests {
    /// Of most banners, not of all: the machine may stand still for longer than that, and does not do so all the time.
    /// What was measured is printed.
    private static let bound: Duration = .milliseconds(150) * Timeouts.factor
    private static let window: Duration = .milliseconds(100)

    @Test(arguments: [30, 60, 90])
    func aClaimWithinTheWindowSuppresses(_ milliseconds: Int) async throws {
        try await withRig { rig in
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
    }

    @Test func anUnclaimedEventIsABannerAfterTheWindowAndNeverBefore() async throws {
        try await withRig { rig in
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
    }

    @Test func hundredsOfWindowsAtOnceEndOnTime() async throws {
        try await withRig(configuration: "[banner]\nmax_per_second = 0\n") { rig in
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
    }

    @Test func everyoneHearsEverythingClaimedOrNot() async throws {
        try await withRig { rig in
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
}

extension Sequence where Element: Sendable {
}
