import NotifyTestSupport
import Testing

@testable import Linking

struct NumberSetTests {
    /// Against a set of numbers.
    @Test func rangesAreTheNumbersInThem() {
        var random = SplitMix64(seed: 3)
        for _ in 0..<300 {
            var ranges = NumberSet()
            var numbers: Set<UInt64> = []
            for _ in 0..<30 {
                let after = UInt64(random.below(60))
                let range = after..<after + 1 + UInt64(random.below(8))
                if random.chance(60) {
                    ranges.insert(range)
                    numbers.formUnion(range.lowerBound + 1...range.upperBound)
                } else {
                    ranges.remove(range)
                    numbers.subtract(range.lowerBound + 1...range.upperBound)
                }
                #expect((0...80).filter { ranges.contains($0) } == numbers.sorted())
                #expect(zip(ranges.ranges, ranges.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
            }
        }
    }

    @Test func withTooManyTheClosestBecomeOne() {
        var ranges = NumberSet(limit: 2)
        for after in [0, 100, 110] as [UInt64] { ranges.insert(after..<after + 5) }
        #expect(ranges.ranges == [0..<5, 100..<115])
    }
}
