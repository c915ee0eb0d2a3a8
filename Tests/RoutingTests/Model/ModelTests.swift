import Glibc
import Routing
import Testing

/// Random scripts through `Router` and through a naive router written from the design: both must want the same.
///
/// A failure is printed with its seed, the script shortened to the steps that matter, and what either side did.
///
///     swift test --filter ModelTests                                   a few thousand scripts
///     NOTIFYD_MODEL_SEED=17 swift test --filter ModelTests             the script of one seed, step by step
///     NOTIFYD_MODEL_SCRIPTS=100000 swift test -c release -Xswiftc -enable-testing --filter ModelTests
///                                                                      the long run
struct ModelTests {
    private static let stepsPerScript = 200
    private static let reportedFailures = 3

    @Test func routerAgreesWithTheReferenceOnRandomScripts() {
        if let seed = Self.number("NOTIFYD_MODEL_SEED") {
            print(ScriptGenerator.script(seed: seed, steps: Self.stepsPerScript))
            _ = Self.check(seed..<seed + 1)
            return
        }
        let scripts = Self.number("NOTIFYD_MODEL_SCRIPTS") ?? 2000
        let statistics = Self.check(0..<scripts)
        // A few scripts need not reach everything.
        guard scripts >= 1000 else { return }
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
            "model: \(seeds.count) scripts of \(stepsPerScript) steps, \(failures) failures, "
                + "\(ContinuousClock.now - started)")
        return statistics
    }

    private static func report(on script: Script) -> String {
        let shrunk = Shrinker.shrink(script)
        guard let failure = ModelRunner.run(shrunk).failure else { return "\(shrunk)" }
        return "\(shrunk)\nstep \(failure.step), \(failure.description)"
    }

    private static func whatMustHappen(_ all: [Statistics]) -> [(String, UInt64)] {
        let counters: [(String, KeyPath<Statistics, UInt64>)] = [
            ("a repeat", \.repeated), ("a refusal", \.refused), ("claimed", \.claimed), ("shown", \.shown),
            ("retracted", \.retracted), ("dismissed", \.dismissed), ("silent", \.silent), ("muted", \.muted),
            ("expired", \.expired), ("a recorded claim", \.recordedClaims), ("a failed call", \.bannerFailures),
            ("a closed banner", \.bannersClosed), ("a folded banner", \.bannersFolded), ("forgotten", \.forgotten),
        ]
        return counters.map { counter in (counter.0, all.reduce(0) { $0 + $1[keyPath: counter.1] }) }
    }

    private static func number(_ variable: String) -> UInt64? {
        getenv(variable).flatMap { UInt64(String(cString: $0)) }
    }
}
