import DequeModule
import Routing

/// The signals that wait for the bus.
///
/// A bus that does not take what we say, because it is stopped or has more to do than it can, must not fill our memory. So
/// signals are made only when there is room on the connection for them; replies and the journal go on. Meanwhile a signal
/// is what it is about: an event, and when there are too many bytes of these, its id, under which the journal has it.
struct FanOut {
    /// While the bus has not taken so many bytes, no signal is added: enough to keep it busy, and not much for a reply to
    /// stand behind.
    static let queueLimit = 512 << 10
    /// What waiting events may take in memory before they are kept by their ids.
    static let memoryLimit = 8 << 20
    /// While so many signals wait, nothing is published.
    static let lengthLimit = 100_000
    /// How long until it is seen whether there is room, should nothing say so before.
    static let pause: Duration = .milliseconds(5)

    /// What everybody is to be told.
    enum Signal {
        case event(Event, Announcement)
        /// An event that is to be read from the journal.
        case stored(EventID, Announcement)
        case resolved(EventID, Topic, Resolution)
        case removed(Topic, EventID)
        case action(Event, String)
    }

    private var line = Deque<(signal: Signal, since: Instant)>()
    private var bytes = 0

    var isEmpty: Bool { line.isEmpty }
    var count: Int { line.count }
    var isFull: Bool { line.count >= Self.lengthLimit }
    /// The signal that has waited longest, and since when.
    var first: (signal: Signal, since: Instant)? { line.first }

    mutating func put(_ signal: Signal, at now: Instant) {
        guard case .event(let event, let announcement) = signal else { return line.append((signal, now)) }
        let size = event.footprint
        if bytes + size > Self.memoryLimit {
            line.append((.stored(event.id, announcement), now))
        } else {
            bytes += size
            line.append((signal, now))
        }
    }

    mutating func removeFirst() {
        if case .event(let event, _) = line.removeFirst().signal { bytes -= event.footprint }
    }
}
