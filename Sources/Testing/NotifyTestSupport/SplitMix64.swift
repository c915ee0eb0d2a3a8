import Glibc

/// The pseudorandom number generator of every random test: [SplitMix64](https://prng.di.unimi.it/splitmix64.c). A seed
/// gives the same numbers on every machine.
public struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    public init(seed: UInt64) {
        state = seed
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension SplitMix64 {
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    /// True with a probability in percent.
    package mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}

/// A number that is set in the environment of the tests, such as `NOTIFYD_SEED`.
package func environmentNumber(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

/// The seeds of a random test: that in `NOTIFYD_SEED` alone, or `count` of them from `NOTIFYD_FIRST_SEED` or 0, dealt
/// out to the processors.
package func seedsOfProcessors(_ count: Int) -> [Range<UInt64>] {
    if let seed = environmentNumber("NOTIFYD_SEED").map(UInt64.init) { return [seed..<seed + 1] }
    let first = UInt64(environmentNumber("NOTIFYD_FIRST_SEED") ?? 0)
    let processors = UInt64(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    let size = (UInt64(count) + processors - 1) / processors
    return (0..<processors).map { first + $0 * size..<first + ($0 + 1) * size }
}
