import NotifyTestSupport
import Testing

@testable import Linking

struct RangeSetTests {
    /// Against a set of numbers.
    @Test func rangesAreTheNumbersInThem() {
        var random = SplitMix64(seed: 3)
        for _ in 0..<300 {
            var ranges = RangeSet()
            var numbers: Set<UInt64> = []
            for _ in 0..<30 {
                let after = UInt64(random.below(60))
                let range = RangeSet.Range(after: after, through: after + 1 + UInt64(random.below(8)))
                if random.chance(60) {
                    ranges.insert(range)
                    numbers.formUnion(range.after + 1...range.through)
                } else {
                    ranges.remove(range)
                    numbers.subtract(range.after + 1...range.through)
                }
                #expect((0...80).filter { ranges.contains($0) } == numbers.sorted())
                #expect(zip(ranges.ranges, ranges.ranges.dropFirst()).allSatisfy { $0.through < $1.after })
            }
        }
    }

    @Test func withTooManyTheClosestBecomeOne() {
        var ranges = RangeSet(limit: 2)
        for after in [0, 100, 110] as [UInt64] { ranges.insert(RangeSet.Range(after: after, through: after + 5)) }
        #expect(ranges.ranges == [RangeSet.Range(after: 0, through: 5), RangeSet.Range(after: 100, through: 115)])
    }
}
