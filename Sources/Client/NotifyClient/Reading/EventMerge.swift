/// Merges pages of the journal and signals into one complete stream of events.
///
/// Only events in a page are in the stream: a page has no gaps, but a bus silently drops signals for a reader that
/// stalls. A signal triggers the next page, and supplies what the journal does not keep, such as the time left to claim
/// the event. So lost, late or repeated signals cause neither a gap nor a duplicate.
///
/// It does no I/O and does not wait: ``nextRequest`` is what to ask the daemon next.
struct EventMerge: Sendable {
    /// A request to the daemon.
    enum Request: Equatable, Sendable {
        /// The highest id so far.
        case cursor
        /// The page after an event.
        case page(after: EventID)
    }

    /// The most events that the daemon puts into one page.
    static let pageSize = 1000
    /// How many announced events are kept until their page arrives. Beyond that, events lack what only the signal says.
    static let memory = 1024

    /// The last event that is in the stream.
    private(set) var cursor: EventID?
    /// The lowest new event announced while no cursor was known.
    private var firstReceived: EventID?
    private var received: [EventID: Event] = [:]
    private var isStale = true
    /// Whether there may be events that were not announced: then only an empty page is the end.
    private var isCatchingUp = true

    /// - Parameter cursor: the stream begins after this event; `nil`: with the next new one.
    init(after cursor: EventID?) { self.cursor = cursor }

    /// `nil` while the stream is complete.
    var nextRequest: Request? {
        guard isStale else { return nil }
        return cursor.map { .page(after: $0) } ?? .cursor
    }

    /// An event was announced.
    mutating func receive(_ event: Event) {
        if let cursor {
            if event.id <= cursor { return }
        } else if !event.isReplayed {
            firstReceived = min(firstReceived ?? event.id, event.id)
        }
        isStale = true
        if received.count < Self.memory { received[event.id] = event }
    }

    /// Signals may have been missed: there is a new connection or daemon, or there were none for long.
    mutating func markIncomplete() {
        isStale = true
        isCatchingUp = true
    }

    /// The reply to `.cursor`. Events announced before it are new, even if the cursor is above their ids.
    mutating func begin(at highest: EventID) {
        guard cursor == nil else { return }
        cursor = min(highest, firstReceived.map { EventID(rawValue: $0.rawValue &- 1) } ?? highest)
    }

    /// The reply to `.page`, in ascending order, and the events announced before it. Returns the next events of the
    /// stream.
    mutating func take(_ page: [RecordedEvent], announced events: [Event] = []) -> [Event] {
        for event in events { receive(event) }
        let next = take(page)
        // Events that are not in this page need another one.
        for event in events { receive(event) }
        return next
    }

    private mutating func take(_ page: [RecordedEvent]) -> [Event] {
        guard let start = cursor else { return [] }
        let next = page.map(\.event).filter { $0.id > start }.map { received[$0.id] ?? $0 }
        guard let end = next.last?.id else {
            isStale = false
            isCatchingUp = false
            return []
        }
        cursor = end
        if !received.isEmpty { received = received.filter { $0.key > end } }
        // A page of large events is short, and may not be the last.
        isStale = isCatchingUp || page.count >= Self.pageSize || !received.isEmpty
        return next
    }
}
