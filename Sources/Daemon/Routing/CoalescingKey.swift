import NotifyText

/// Events with equal keys share a window and a banner.
///
/// Every undecided event has a key in several tables, so a key is one word: it refers to an event instead of copying
/// its topic.
public enum CoalescingKey: Sendable {
    /// All events of the topic of this one.
    case topic(of: Event)
    /// All events of a route, by its name.
    case route(Route)
    /// One event alone.
    case event(Event)
    /// The same for an event that need not be in memory.
    case eventNumbered(Number)
    /// Events that replace each other, where the route has a banner for each event.
    case collapse(CollapseKey)
    /// The summary of events beyond the rate limit.
    case summary

    /// An object, so that it takes one word.
    public final class Number: Sendable {
        let id: EventID

        init(_ id: EventID) { self.id = id }
    }

    /// The event that it is alone for.
    private var event: EventID? {
        switch self {
        case .event(let event): event.id
        case .eventNumbered(let number): number.id
        case .topic, .route, .collapse, .summary: nil
        }
    }
}

extension CoalescingKey: Hashable {
    public static func == (left: CoalescingKey, right: CoalescingKey) -> Bool {
        switch (left, right) {
        case (.topic(let left), .topic(let right)): left.topic == right.topic
        case (.route(let left), .route(let right)): left === right || left.name.hasBytes(of: right.name)
        case (.collapse(let left), .collapse(let right)): left == right
        case (.summary, .summary): true
        default: left.event != nil && left.event == right.event
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .topic(let event): hasher.combine(event.topic)
        case .route(let route): route.name.hashBytes(into: &hasher)
        case .event, .eventNumbered: hasher.combine(event)
        case .collapse(let key): hasher.combine(key)
        case .summary: hasher.combine(0)
        }
    }
}

extension CoalescingKey: SlabKey {
    static var vacant: CoalescingKey { .summary }
}

extension CoalescingKey: CustomStringConvertible {
    /// The key as text, for explanations.
    public var description: String {
        switch self {
        case .topic(let event): event.topic.description
        case .route(let route): "route \(route.name)"
        case .event(let event): "event \(event.id)"
        case .eventNumbered(let number): "event \(number.id)"
        case .collapse(let key): "collapse \(key.text) of \(key.topic)"
        case .summary: "summary"
        }
    }
}
