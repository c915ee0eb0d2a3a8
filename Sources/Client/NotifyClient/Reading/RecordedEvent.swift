/// An event in the journal, with its outcome.
///
/// It has no ``Event/window`` and ``Event/sender``: only signals have them. The window of a silent event in a
/// ``Snapshot`` is zero.
public struct RecordedEvent: Hashable, Sendable {
    /// What was published.
    public var event: Event
    /// `nil` while the event is undecided.
    public var outcome: Outcome.Kind?

    public init(event: Event, outcome: Outcome.Kind? = nil) {
        self.event = event
        self.outcome = outcome
    }
}

extension RecordedEvent {
    /// From an entry of a list: `t s s s x s a{sv}`.
    package init?(_ entry: Value) {
        guard let members = entry.elements, members.count >= 7,
            case .uint64(let id) = members[0],
            case .string(let topic) = members[1],
            case .string(let title) = members[2],
            case .string(let body) = members[3],
            case .int64(let published) = members[4],
            case .string(let outcome) = members[5],
            let fields = members[6].fields
        else { return nil }
        self.init(
            event: Event(
                id: EventID(rawValue: id), topic: topic, title: title, body: body, fields: fields, published: published),
            outcome: outcome.isEmpty ? nil : Outcome.Kind(rawValue: outcome))
    }
}

/// The current values at or below a topic at one point in time.
public struct Snapshot: Hashable, Sendable {
    /// The highest id at that time. Events with higher ids are newer than the snapshot.
    public var cursor: EventID
    /// One event for each topic that has a value, in ascending order of their ids.
    public var values: [RecordedEvent]

    public init(cursor: EventID, values: [RecordedEvent]) {
        self.cursor = cursor
        self.values = values
    }
}
