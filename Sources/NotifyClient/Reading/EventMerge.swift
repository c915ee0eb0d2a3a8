/// Makes one complete stream of events from pages of the journal and from signals.
///
/// The journal decides: only what a page holds is in the stream, because a page has no gaps, while a bus drops signals
/// for a reader that stalls and tells nobody. A signal says that it is time for another page, and lends the event what
/// the journal does not keep, such as the time left to claim it. So no order of signals, lost, late or repeated, can make
/// a gap or a duplicate.
///
/// Nothing here waits or asks: it says what is to be asked next.
struct EventMerge: Sendable {
    /// What is to be asked next.
    enum Question: Equatable, Sendable {
        /// The highest id so far.
        case cursor
        /// The page after an event.
        case page(after: EventID)
    }

    /// As many events as the daemon puts into one page.
    static let pageSize = 1000
    /// How many heard events are remembered until their page comes. What is forgotten comes without its extras.
    static let memory = 1024

    /// The last event that needs no page any more.
    private(set) var cursor: EventID?
    /// The lowest new event heard while no cursor was known.
    private var firstHeard: EventID?
    private var heard: [EventID: Event] = [:]
    private var isStale = true
    /// Whether there may be more than what was heard: then only an empty page is the end.
    private var isCatchingUp = true

    /// - Parameter cursor: the last event that is not wanted any more; `nil`: nothing from before now is wanted.
    init(after cursor: EventID?) { self.cursor = cursor }

    /// `nil` when the stream is as complete as can be known.
    var question: Question? {
        guard isStale else { return nil }
        return cursor.map { .page(after: $0) } ?? .cursor
    }

    /// An event was announced.
    mutating func hear(_ event: Event) {
        if let cursor {
            if event.id <= cursor { return }
        } else if !event.isReplayed {
            firstHeard = min(firstHeard ?? event.id, event.id)
        }
        isStale = true
        if heard.count < Self.memory { heard[event.id] = event }
    }

    /// Something may have been missed: the connection or the daemon is a new one, or it was quiet for long.
    mutating func doubt() {
        isStale = true
        isCatchingUp = true
    }

    /// The answer to `.cursor`. What was heard before it came is new, however high the daemon has counted meanwhile.
    mutating func begin(at highest: EventID) {
        guard cursor == nil else { return }
        cursor = min(highest, firstHeard.map { EventID(rawValue: $0.rawValue &- 1) } ?? highest)
    }

    /// The answer to `.page`, in ascending order, and what was heard until it came. Returns what comes next in the stream.
    mutating func take(_ page: [RecordedEvent], hearing news: [Event] = []) -> [Event] {
        for event in news { hear(event) }
        let next = take(page)
        // What the page does not hold yet needs another.
        for event in news { hear(event) }
        return next
    }

    private mutating func take(_ page: [RecordedEvent]) -> [Event] {
        guard let start = cursor else { return [] }
        let next = page.map(\.event).filter { $0.id > start }.map { heard[$0.id] ?? $0 }
        guard let end = next.last?.id else {
            isStale = false
            isCatchingUp = false
            return []
        }
        cursor = end
        if !heard.isEmpty { heard = heard.filter { $0.key > end } }
        // A page of long events is a short one, and need not be the last.
        isStale = isCatchingUp || page.count >= Self.pageSize || !heard.isEmpty
        return next
    }
}
