import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Random scripts through `Router` and through a naive router written from the design: both must want the same.
///
/// A failure is printed with its seed, the script shortened to the steps that matter, and what either side did.
///
///     swift test --filter ModelTests                                   a few thousand scripts
///     NOTIFYD_MODEL_SEED=17 swift test --filter ModelTests             the script of one seed
///     NOTIFYD_MODEL_SCRIPTS=100000 swift test -c release -Xswiftc -enable-testing --filter ModelTests
///                                                                      the long run
struct ModelTests {
    static let stepsPerScript = 200

    @Test func routerAgreesWithTheReferenceOnRandomScripts() {
        let seeds: Range<UInt64>
        if let seed = Self.number("NOTIFYD_MODEL_SEED") {
            seeds = seed..<seed + 1
            print(ScriptGenerator.script(seed: seed, steps: Self.stepsPerScript))
        } else {
            seeds = 0..<(Self.number("NOTIFYD_MODEL_SCRIPTS") ?? 1000)
        }
        var failures = 0
        let started = ContinuousClock.now
        for seed in seeds {
            let script = ScriptGenerator.script(seed: seed, steps: Self.stepsPerScript)
            guard ModelRunner.run(script) != nil else { continue }
            Issue.record("\(Self.report(on: script))")
            failures += 1
            if failures == 3 { break }
        }
        print(
            "model: \(seeds.count) scripts of \(Self.stepsPerScript) steps, \(failures) failures, "
                + "\(ContinuousClock.now - started)")
    }

    private static func report(on script: Script) -> String {
        let shrunk = Shrinker.shrink(script)
        let failure = ModelRunner.run(shrunk)
        return "\(shrunk)\nstep \(failure?.step ?? -1), \(failure?.description ?? "")"
    }

    private static func number(_ variable: String) -> UInt64? {
        getenv(variable).flatMap { UInt64(String(cString: $0)) }
    }
}
