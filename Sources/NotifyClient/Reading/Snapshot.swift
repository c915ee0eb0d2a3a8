/// The current values at or below a topic, at one moment.
public struct Snapshot: Hashable, Sendable {
    /// The highest id at that moment: what has a higher one came later, and what has not is in here, if it is a current
    /// value.
    public var cursor: EventID
    /// One event for each topic that has a value, in ascending order of their ids.
    public var values: [RecordedEvent]

    public init(cursor: EventID, values: [RecordedEvent]) {
        self.cursor = cursor
        self.values = values
    }
}
