import DequeModule
import Routing
import Systemd

/// What the daemon sends over the bus.
enum Outgoing {
    case reply(Reply, to: RetainedMessage)
    case error(Refusal, to: RetainedMessage)
    /// A reply that was written while the journal was read.
    case encoded(RetainedMessage)
    case signal(Signal)
    case propertiesChanged([Property])
}

/// A signal of `org.notifyd.Router1`.
enum Signal {
    case event(Event, Announcement)
    /// Allocated separately, because there may be one for every event in memory.
    indirect case resolved(EventID, Topic, Resolution)
    case removed(Topic, EventID)
    case action(Event, String)
    case screens(TopicPrefix, isAttended: Bool)

    /// About how long it is; 0 for a short one.
    var bytes: Int { if case .event(let event, _) = self { event.memoryCost } else { 0 } }
}

/// Signals that wait until the bus takes them.
///
/// A bus that is stopped or overloaded must not fill our memory. A signal becomes a message only when the connection
/// has room for it; replies and the journal go on. Above the memory limit only an event's id is queued, and the event
/// is read from the journal later.
struct SignalQueue {
    /// Unsent bytes above which no signal is sent: enough to keep the bus busy, and a short queue for replies.
    static let queueLimit = 512 << 10
    /// Bytes of queued events above which only ids are queued.
    static let memoryLimit = 8 << 20
    /// Queued signals above which publishing is refused.
    static let lengthLimit = 50_000
    /// How often to check for room, if nothing else wakes the loop.
    static let pause: Duration = .milliseconds(5)

    enum Entry {
        case signal(Signal)
        /// An event that is read from the journal when it is sent.
        case stored(EventID, Announcement)
    }

    private var entries = Deque<(entry: Entry, since: Instant)>()
    private var bytes = 0

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    var isFull: Bool { entries.count >= Self.lengthLimit }
    /// The oldest entry, and when it was added.
    var first: (entry: Entry, since: Instant)? { entries.first }

    mutating func enqueue(_ signal: Signal, at now: Instant) {
        if case .event(let event, let announcement) = signal, bytes + signal.bytes > Self.memoryLimit {
            return entries.append((.stored(event.id, announcement), now))
        }
        bytes += signal.bytes
        entries.append((.signal(signal), now))
    }

    mutating func removeFirst() {
        if case .signal(let signal) = entries.removeFirst().entry { bytes -= signal.bytes }
    }
}
