import Glibc
import Testing

/// Devices, bridges and a broker that are made up, with every fault; see `Simulation`.
///
///     swift test --filter RuleTests.LinkSimulationTests                  some hundred seeds
///     NOTIFYD_SEED=17 swift test --filter RuleTests.LinkSimulationTests  one seed, with all that happens
///     make simulate-link                                                    a hundred thousand seeds
struct LinkSimulationTests {
    private static let reportedFailures = 3
    /// A seed takes ten times as long without optimization.
    private static let defaultSeeds: UInt64 = _isDebugAssertConfiguration() ? 100 : 400

    @Test func everythingConvergesWhateverHappens() async {
        await withTaskGroup { group in
            for seeds in Self.slices { group.addTask { Self.simulate(seeds) } }
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

    private static let slices: [Range<UInt64>] = {
        if let seed = number("NOTIFYD_SEED") { return [seed..<seed + 1] }
        let first = number("NOTIFYD_FIRST_SEED") ?? 0
        let count = UInt64(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        let size = ((number("NOTIFYD_LINK_SEEDS") ?? defaultSeeds) + count - 1) / count
        return (0..<count).map { first + $0 * size..<first + ($0 + 1) * size }
    }()

    private static func replay(_ seed: UInt64) {
        guard let wreck = Simulation.run(seed: seed, trace: { print($0) }).wreck else { return }
        Issue.record("seed \(seed): \(wreck)")
    }

    private static func number(_ variable: String) -> UInt64? {
        getenv(variable).flatMap { UInt64(String(cString: $0)) }
    }
}
