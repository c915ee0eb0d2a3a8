import NotifyTestSupport
import Routing
import Testing

/// Random scripts through `Router` and through a naive router written from docs/design.md: both must want the same.
///
/// A failure is printed with its seed, the script shortened to the steps that matter, and what either side did.
///
///     swift test --filter ModelTests                                   five hundred scripts
///     NOTIFYD_MODEL_SEED=17 swift test --filter ModelTests             the script of one seed, step by step
///     NOTIFYD_MODEL_SCRIPTS=100000 swift test -c release -Xswiftc -enable-testing --filter ModelTests
///                                                                      the long run
struct ModelTests {
    private static let stepsPerScript = 200
    private static let reportedFailures = 3

    /// The seeds from 0, dealt out to two runs at the same time.
    @Test func routerAgreesWithTheReferenceOnRandomScripts() async {
        if let seed = environmentNumber("NOTIFYD_MODEL_SEED").map(UInt64.init) {
            print(ScriptGenerator.script(seed: seed, steps: Self.stepsPerScript))
            _ = Self.check(seed..<seed + 1)
            return
        }
        let half = UInt64(((environmentNumber("NOTIFYD_MODEL_SCRIPTS") ?? 500) + 1) / 2)
        let statistics = await withTaskGroup(of: [Statistics].self) { group in
            for seeds in [0..<half, half..<2 * half] { group.addTask { Self.check(seeds) } }
            return await group.reduce([], +)
        }
        // A few scripts need not reach everything.
        guard half >= 250 else { return }
        for (name, count) in Self.whatMustHappen(statistics) { #expect(count > 0, "no script reached: \(name)") }
    }

    private static func check(_ seeds: Range<UInt64>) -> [Statistics] {
        var statistics: [Statistics] = []
        var failures = 0
        let started = ContinuousClock.now
        for seed in seeds where failures < reportedFailures {
            let script = ScriptGenerator.script(seed: seed, steps: stepsPerScript)
            let run = ModelRunner.run(script)
            if statistics.count < 1000 { statistics.append(run.statistics) }
            guard run.failure != nil else { continue }
            failures += 1
            Issue.record("\(report(on: script))")
        }
        print(
            "model: scripts \(seeds) of \(stepsPerScript) steps each, \(failures) failures, "
                + "\(ContinuousClock.now - started)")
        return statistics
    }

    private static func report(on script: Script) -> String {
        var shrunk = script
        if let failure = ModelRunner.run(script).failure { shrunk.steps = Array(script.steps.prefix(failure.step + 1)) }
        // What fails only after the end needs all of the script.
        if ModelRunner.run(shrunk).failure == nil { shrunk = script }
        shrunk.steps = Shrinker.shrink(shrunk.steps) { steps in
            shrunk.steps = steps
            return ModelRunner.run(shrunk).failure != nil
        }
        guard let failure = ModelRunner.run(shrunk).failure else { return "\(shrunk)" }
        return "\(shrunk)\nstep \(failure.step), \(failure.description)"
    }

    private static func whatMustHappen(_ all: [Statistics]) -> [(String, UInt64)] {
        let counters: [(String, Statistics.Counter)] = [
            ("a repeat", .repeated), ("a refusal", .refused), ("a recorded claim", .recordedClaims),
            ("a failed call", .bannerFailures), ("a closed banner", .bannersClosed),
            ("a folded banner", .bannersFolded), ("forgotten", .forgotten),
        ]
        return counters.map { counter in (counter.0, all.reduce(0) { $0 + $1[counter.1] }) }
            + Outcome.allCases.map { outcome in (outcome.rawValue, all.reduce(0) { $0 + $1[outcome] }) }
    }
}

/// Makes a failing script short: drops every run of steps without which it still fails.
enum Shrinker {
    static func shrink<Step>(_ steps: [Step], attempts: Int = 4000, fails: ([Step]) -> Bool) -> [Step] {
        var best = steps
        var left = attempts
        var size = best.count / 2
        while size > 0, left > 0 {
            var hasShrunk = false
            var start = 0
            while start < best.count, left > 0 {
                var shorter = best
                shorter.removeSubrange(start..<min(start + size, best.count))
                left -= 1
                if fails(shorter) {
                    best = shorter
                    hasShrunk = true
                } else {
                    start += size
                }
            }
            if !hasShrunk || size > 1 { size /= 2 }
        }
        return best
    }
}
