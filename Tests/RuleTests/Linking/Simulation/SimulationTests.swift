import NotifyTestSupport
import Testing

/// Devices, bridges and a broker that are made up, with every fault; see `Simulation`.
///
///     swift test --filter RuleTests.LinkSimulationTests                  some hundred seeds
///     NOTIFYD_SEED=17 swift test --filter RuleTests.LinkSimulationTests  one seed, with all that happens
///     make simulate-link                                                    a hundred thousand seeds
struct LinkSimulationTests {
    private static let reportedFailures = 3
    /// A seed takes ten times as long without optimization.
    private static let defaultSeeds = _isDebugAssertConfiguration() ? 100 : 400

    @Test func everythingConvergesWhateverHappens() async {
        await withTaskGroup { group in
            for seeds in seedsOfProcessors(environmentNumber("NOTIFYD_LINK_SEEDS") ?? Self.defaultSeeds) {
                group.addTask { Self.simulate(seeds) }
            }
        }
    }

    private static func simulate(_ seeds: Range<UInt64>) {
        if seeds.count == 1 { return Self.replay(seeds.lowerBound) }
        var counts = Simulation.Counts()
        var failures = 0
        let started = ContinuousClock.now
        for seed in seeds where failures < Self.reportedFailures {
            let result = Simulation.run(seed: seed)
            counts += result.counts
            guard let wreck = result.wreck else { continue }
            failures += 1
            Issue.record("seed \(seed): \(wreck)")
        }
        print("link simulation: seeds \(seeds), \(failures) failures, \(ContinuousClock.now - started)")
        guard seeds.count >= 100, failures == 0 else { return }
        for (name, path) in Simulation.Counts.all {
            #expect(counts[keyPath: path] > 0, "no seed reached: \(name)")
        }
    }

    private static func replay(_ seed: UInt64) {
        guard let wreck = Simulation.run(seed: seed, trace: { print($0) }).wreck else { return }
        Issue.record("seed \(seed): \(wreck)")
    }
}
