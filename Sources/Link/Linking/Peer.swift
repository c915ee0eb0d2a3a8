import NotifyText

/// Another device on the line.
struct Peer {
    var record: DeviceRecord
    /// The numbers up to `record.received` that are not done: those that are missing, and those that are `pending`. On
    /// disk both are the same.
    var open: NumberSet
    /// The open numbers that notifyd has, and has not answered yet.
    var pending = NumberSet()
    /// Numbers of entries that this version cannot read: they are requested after an upgrade.
    var unknown: NumberSet

    /// Whether this device began to listen to its stream during this connection.
    var hasStartedNow = false

    // Presence.
    var isOnline = false
    var connection: UInt64 = 0
    var counter: UInt64 = 0
    /// The highest number in its descriptions.
    var described: UInt64 = 0
    var attended: Set<Digest> = []
    /// When it last sent something, as far as it is sure that this was live.
    var lastHeard: Uptime?
    /// When its last message came, in microseconds since the epoch. On disk it is an hour old, at most, while the
    /// device is online.
    var lastSeen: Int64?
    var offset = ClockOffset()
    var roundTrip: Duration?

    // Trouble.
    /// notifyd refuses its events until then.
    var blockedUntil: Uptime?
    var refusals = 0
    /// It gets no question before this time.
    var questionsFrom: Uptime?
    var unansweredQuestions = 0
    /// How many events it may still send; rule 11.
    var eventQuota: TokenBucket
    /// How many of the values on the broker are its own.
    var valueCount = 0

    init(_ record: DeviceRecord, limits: LinkLimits) {
        self.record = record
        eventQuota = TokenBucket(every: Duration.seconds(1) / max(limits.eventsPerSecond, 1), burst: limits.eventBurst)
        open = NumberSet(record.missing, limit: limits.missingRanges)
        unknown = NumberSet(record.unknown, limit: limits.missingRanges)
    }

    /// The first range that could be requested.
    var missing: Range<UInt64>? { open.first(notIn: pending) }

    var isBehind: Bool { isOnline && record.start != nil && (described > record.received || missing != nil) }

    /// Whether nothing but its key on a channel is known: it has left.
    var isKeyOnly: Bool { record.signer != nil && record.start == nil && record.name.isEmpty && !isOnline }

    /// Everything up to this number is done.
    var floor: UInt64 { open.first?.lowerBound ?? record.received }

    /// As it goes to disk.
    var stored: DeviceRecord {
        var record = record
        record.missing = open.ranges
        record.unknown = unknown.ranges
        return record
    }
}

/// Numbers of a stream. `after..<through` stands for the numbers above `after`, up to `through`, as `previous` and
/// `number` of an entry do. There are at most `limit` ranges: beyond that the two that are closest become one, with
/// what is between them.
struct NumberSet: Equatable {
    private var numbers = RangeSet<UInt64>()
    private let limit: Int

    init(_ ranges: [Range<UInt64>] = [], limit: Int = .max) {
        self.limit = limit
        for range in ranges { insert(range) }
    }

    /// In ascending order.
    var ranges: [Range<UInt64>] { Array(numbers.ranges) }
    /// The first range.
    var first: Range<UInt64>? { numbers.ranges.first }

    /// Nothing has the number 0: a number stands for the step to it from the one before.
    func contains(_ number: UInt64) -> Bool { number > 0 && numbers.contains(number - 1) }

    mutating func insert(_ range: Range<UInt64>) {
        numbers.insert(contentsOf: range)
        joinClosest()
    }

    mutating func remove(_ range: Range<UInt64>) {
        numbers.remove(contentsOf: range)
        joinClosest()
    }

    /// The first part that another set does not have.
    func first(notIn other: NumberSet) -> Range<UInt64>? { numbers.subtracting(other.numbers).ranges.first }

    private mutating func joinClosest() {
        let ranges = numbers.ranges
        guard ranges.count > limit else { return }
        let gaps = zip(ranges, ranges.dropFirst()).map { $0.upperBound..<$1.lowerBound }
        let least = gaps.min { $0.upperBound - $0.lowerBound < $1.upperBound - $1.lowerBound }
        if let least { numbers.insert(contentsOf: least) }
    }
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

    mutating func record(_ at: Int64, wall: Int64, uptime: Uptime) {
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
