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
