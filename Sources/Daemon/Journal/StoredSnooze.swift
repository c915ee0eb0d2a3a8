public import Routing

/// A snoozed event as it is stored.
public struct StoredSnooze: Sendable, Equatable {
    public var event: EventID
    /// When its banner is due again.
    public var end: StoredQuiet.End

    public init(event: EventID, end: StoredQuiet.End) {
        self.event = event
        self.end = end
    }

    var checksum: Int64 {
        var sum = Checksum()
        for number in [Journal.number(event), end.moment.wall, end.moment.uptime, end.left] { sum.add(number) }
        sum.add(end.moment.boot)
        return sum.value
    }
}
