/// Ranges of numbers, ascending and apart; each excludes its lower bound and includes its upper one, as `previous` and
/// `number` of a message do. There are at most `limit` of them: beyond that the two that are closest become one, with
/// what is between them.
public struct RangeSet: Equatable, Sendable {
    /// The numbers above `after`, up to `through`.
    public struct Range: Hashable, Sendable {
        public let after: UInt64
        public let through: UInt64

        /// `after` is below `through`.
        public init(after: UInt64, through: UInt64) {
            precondition(after < through, "a range of numbers is empty")
            self.after = after
            self.through = through
        }
    }

    /// In ascending order.
    public private(set) var ranges: [Range] = []
    private let limit: Int

    public init(limit: Int = .max) {
        self.limit = limit
    }

    public init(_ ranges: [Range], limit: Int = .max) {
        self.limit = limit
        for range in ranges { insert(range) }
    }

    public var isEmpty: Bool { ranges.isEmpty }
    public var first: Range? { ranges.first }

    public func contains(_ number: UInt64) -> Bool {
        let index = firstIndex(endingAtOrAbove: number)
        return index < ranges.count && ranges[index].after < number
    }

    /// The index of the first range whose end is not below a number.
    private func firstIndex(endingAtOrAbove number: UInt64) -> Int {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].through < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    public mutating func insert(_ range: Range) {
        // Ranges that touch become one.
        let start = firstIndex(endingAtOrAbove: range.after)
        var end = start
        var after = range.after
        var through = range.through
        while end < ranges.count, ranges[end].after <= range.through {
            after = min(after, ranges[end].after)
            through = max(through, ranges[end].through)
            end += 1
        }
        ranges.replaceSubrange(start..<end, with: [Range(after: after, through: through)])
        if ranges.count > limit { joinClosest() }
    }

    public mutating func remove(_ range: Range) {
        var index = firstIndex(endingAtOrAbove: range.after &+ 1)
        while index < ranges.count, ranges[index].after < range.through {
            let old = ranges[index]
            var rest: [Range] = []
            if old.after < range.after { rest.append(Range(after: old.after, through: range.after)) }
            if old.through > range.through { rest.append(Range(after: range.through, through: old.through)) }
            ranges.replaceSubrange(index...index, with: rest)
            index += rest.count
        }
        if ranges.count > limit { joinClosest() }
    }

    /// The first part that another set does not have.
    func first(notIn other: RangeSet) -> Range? {
        for range in ranges {
            var after = range.after
            var index = other.firstIndex(endingAtOrAbove: after &+ 1)
            while index < other.ranges.count, other.ranges[index].after <= after, after < range.through {
                after = min(other.ranges[index].through, range.through)
                index += 1
            }
            guard after < range.through else { continue }
            let end = index < other.ranges.count ? min(other.ranges[index].after, range.through) : range.through
            return Range(after: after, through: end)
        }
        return nil
    }

    private mutating func joinClosest() {
        let pairs = zip(ranges.indices, ranges.indices.dropFirst())
        guard let (left, right) = pairs.min(by: { distance($0) < distance($1) }) else { return }
        ranges[left] = Range(after: ranges[left].after, through: ranges[right].through)
        ranges.remove(at: right)
    }

    private func distance(_ pair: (Int, Int)) -> UInt64 { ranges[pair.1].after - ranges[pair.0].through }
}
