import NotifyText

/// Another device on the line.
struct Peer {
    var record: DeviceRecord
    /// The numbers up to `record.taken` that were not taken: those that are missing, and those that are `pending`. On
    /// disk both are the same.
    var open: RangeSet
    /// The open numbers that notifyd has, and has not answered yet.
    var pending = RangeSet()
    /// Numbers of messages that this version cannot read: they are asked for after an upgrade.
    var unknown: RangeSet

    /// Whether this device began to listen to its stream during this connection.
    var isBegun = false

    // Presence.
    var isOnline = false
    var connection: UInt64 = 0
    var counter: UInt64 = 0
    /// The highest number of its descriptions.
    var described: UInt64 = 0
    var first: UInt64?
    var attended: Set<Digest> = []
    var heard: Uptime?
    /// The same by the wall clock, in microseconds since the epoch. On disk it is an hour old, at most, while the
    /// device is online.
    var heardAt: Int64?
    var offset = ClockOffset()
    var roundTrip: Duration?

    // Trouble.
    /// notifyd refuses its events until then.
    var blockedUntil: Uptime?
    var refusals = 0
    /// It is not asked again before this time.
    var askAgain: Uptime?
    var unanswered = 0
    var unreadable = 0
    var events: TokenBucket
    var values = 0

    init(_ record: DeviceRecord, limits: LinkLimits) {
        self.record = record
        events = TokenBucket(every: Duration.seconds(1) / max(limits.eventsPerSecond, 1), burst: limits.eventBurst)
        open = RangeSet(record.missing, limit: limits.missingRanges)
        unknown = RangeSet(record.unknown, limit: limits.missingRanges)
    }

    /// The first range that could be asked for.
    var missing: RangeSet.Range? { open.first(notIn: pending) }

    var isBehind: Bool { isOnline && record.start != nil && (described > record.taken || missing != nil) }

    /// Whether nothing but its key on a channel is known: it has left.
    var isKeyOnly: Bool { record.signer != nil && record.start == nil && record.name.isEmpty && !isOnline }

    /// Everything up to this number was taken.
    var floor: UInt64 { open.first?.after ?? record.taken }

    /// As it goes to disk.
    var stored: DeviceRecord {
        var record = record
        record.missing = open.ranges
        record.unknown = unknown.ranges
        return record
    }
}

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

/// The difference of two clocks: the smallest of those seen in the last five to ten minutes. The smallest has the least
/// delay in it, and an old one says nothing about a clock that was set since. Rule 2 of docs/link.md.
struct ClockOffset {
    private static let period: Int64 = 300_000_000

    private var current: Int64?
    private var previous: Int64?
    private var started: Uptime?

    /// This device's clock less the other's, in microseconds; 0 while nothing is known.
    var microseconds: Int64 {
        switch (current, previous) {
        case (let current?, let previous?): min(current, previous)
        default: current ?? previous ?? 0
        }
    }

    mutating func heard(_ at: Int64, wall: Int64, uptime: Uptime) {
        let difference = wall.subtractingReportingOverflow(at)
        guard !difference.overflow else { return }
        if let began = started, uptime.microseconds - began.microseconds >= Self.period {
            previous = uptime.microseconds - began.microseconds < 2 * Self.period ? current : nil
            current = nil
            started = uptime
        }
        started = started ?? uptime
        current = min(current ?? difference.partialValue, difference.partialValue)
    }
}

/// Random delays, and ids of questions. Its seed comes from the shell. The generator is xorshift64*; nothing secret
/// depends on it.
struct Jitter {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed == 0 ? 1 : seed
    }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }

    /// Between zero and a duration.
    mutating func upTo(_ duration: Duration) -> Duration {
        .microseconds(Int64(next() % UInt64(max(1, duration.microseconds + 1))))
    }
}
