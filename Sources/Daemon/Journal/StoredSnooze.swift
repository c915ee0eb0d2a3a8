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
}
