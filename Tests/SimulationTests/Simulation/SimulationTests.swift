import NotifyTestSupport
import Testing

/// The whole daemon on a machine that is made up: bus, disk, clocks and notification server are simulated, and each of
/// them fails, but for the seeds of fair weather. What the seed does is decided by nothing but the seed.
///
///     swift test --filter SimulationTests                         two hundred seeds
///     NOTIFYD_SEED=17 swift test --filter SimulationTests         one seed, with all that happens
///     make simulate                                               a million seeds
///
/// What is real: `Daemon`, `Turn`, `Storage`, `RecordBuilder`, `Outbox`, `NotificationServer`, `Router`, `Journal`, and
/// SQLite on files that are made up. What is not: the messages on the bus and their reading, sd-event.
struct SimulationTests {
    private static let stepsPerSeed = 200
    private static let reportedFailures = 3

    @Test func noPromiseIsBrokenWhateverHappens() async {
        await withTaskGroup { group in
            for seeds in seedsOfProcessors(environmentNumber("NOTIFYD_SEEDS") ?? 200) {
                group.addTask { Self.simulate(seeds) }
            }
        }
    }

    private static func simulate(_ seeds: Range<UInt64>) {
        if seeds.count == 1 { return Self.replay(seeds.lowerBound) }
        var counts: [Witness.Counts] = []
        var failures = 0
        let started = ContinuousClock.now
        for seed in seeds where failures < Self.reportedFailures {
            let passage = Passage(seed: seed, steps: Self.stepsPerSeed)
            let result = Simulation.run(passage)
            if counts.count < 1000 { counts.append(result.counts) }
            guard let wreck = result.wreck else { continue }
            failures += 1
            Issue.record("\(Self.report(passage, wreck))")
        }
        let time = ContinuousClock.now - started
        print("simulation: seeds \(seeds) of \(Self.stepsPerSeed) steps each, \(failures) failures, \(time)")
        // A few seeds need not reach everything.
        guard seeds.count >= 50, failures == 0 else { return }
        for (name, count) in Self.whatMustHappen(counts) { #expect(count > 0, "no seed reached: \(name)") }
    }

    /// Everything that happens with one seed and, should it fail, with the moves that matter.
    private static func replay(_ seed: UInt64) {
        let passage = Passage(seed: seed, steps: stepsPerSeed)
        guard let wreck = Simulation.run(passage, trace: { print($0) }).wreck else { return }
        Issue.record("\(report(passage, wreck))")
    }

    private static func report(_ passage: Passage, _ wreck: Wreck) -> String {
        var shrunk = passage
        shrunk.moves = Shrinker.shrink(Array(passage.moves.prefix(wreck.move + 1))) { moves in
            shrunk.moves = moves
            return Simulation.run(shrunk).wreck != nil
        }
        var lines = ["seed \(passage.seed), move \(wreck.move): \(wreck.description)", "shortened: \(shrunk.setup)"]
        let last = Simulation.run(shrunk, trace: { lines.append($0) }).wreck
        lines.append(last?.description ?? "which does not happen without all of its moves")
        return lines.joined(separator: "\n")
    }

    private static func whatMustHappen(_ all: [Witness.Counts]) -> [(String, Int)] {
        let counters: [(String, KeyPath<Witness.Counts, Int>)] = [
            ("an acknowledgement", \.acknowledged), ("a refusal", \.refused), ("an announcement", \.announced),
            ("a replay", \.replayed), ("a claim in time", \.suppressed), ("a late claim", \.retracted),
            ("a banner", \.banners), ("an event before its turn", \.outOfTurn),
            ("a call during recovery", \.duringRecovery),
            ("an end during recovery", \.endsOfRecovery), ("a death", \.deaths),
            ("an outcome that waits for the disk", \.onTrust),
            ("a replaced event", \.replaced),
            ("a reader", \.read), ("a mark as read", \.marked),
            ("a forgotten event", \.forgotten), ("a digest", \.digests),
            ("a change", \.followed), ("a start among the changes", \.starts), ("a value too late", \.outdated),
            ("an awaited event", \.awaited), ("an awaited event that comes", \.come),
        ]
        return counters.map { counter in (counter.0, all.reduce(0) { $0 + $1[keyPath: counter.1] }) }
    }
}
