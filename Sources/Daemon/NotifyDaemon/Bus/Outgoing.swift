import DequeModule
import Journal
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

/// Sends signals, or queues them while the bus is behind.
extension Daemon {
    func announce(_ signal: Signal, decided moment: Instant) {
        guard outbox.signals.isEmpty, host.queuedBytes < SignalQueue.queueLimit else {
            outbox.signals.enqueue(signal, at: moment)
            return armSignalTimer()
        }
        send(signal, decided: moment)
    }

    /// Sends queued signals until the bus is behind again.
    func sendQueuedSignals() {
        while let (entry, since) = outbox.signals.first {
            guard host.queuedBytes < SignalQueue.queueLimit, send(entry, decided: since) else {
                return armSignalTimer()
            }
            outbox.signals.removeFirst()
        }
    }

    private func armSignalTimer() { jobs.wake(host, after: SignalQueue.pause, at: host.now.instant) }

    private func send(_ signal: Signal, decided moment: Instant) {
        var signal = signal
        if case .event(let event, let announcement) = signal {
            signal = .event(event, announcement.after(host.now.instant - moment))
        }
        host.send(.signal(signal))
        Failpoint.afterSignal.hit()
    }

    /// - Returns: false where the journal cannot be read now.
    private func send(_ entry: SignalQueue.Entry, decided moment: Instant) -> Bool {
        switch entry {
        case .signal(let signal): send(signal, decided: moment)
        case .stored(let id, let announcement):
            guard storage.isReadable else { return false }
            do throws(Refusal) {
                let found = try storage.read { journal throws(JournalError) in try journal.event(id) }
                // A damaged or expired event is no longer in the journal.
                guard let found else { return true }
                send(.event(routed(found), announcement), decided: moment)
            } catch {
                // Read again once the disk works, unless this event alone cannot be read.
                return storage.isWritable
            }
        }
        return true
    }

    /// Publishing is refused while the queue is full.
    func requireSignalQueueSpace() throws(Refusal) {
        guard outbox.signals.isFull else { return }
        throw .limitExceeded(
            "signals that wait for the bus: there are \(outbox.signals.count) already; try again when the bus has taken some"
        )
    }

    var hasQueuedSignals: Bool { !outbox.signals.isEmpty }
    /// Whether jobs wait until the bus has taken more.
    var isBusBehind: Bool { hasQueuedSignals || host.queuedMessages >= Jobs.queueLimit }

    /// Whether queued signals or replayed events are sent beside the current ones.
    var isCatchingUp: Bool { hasQueuedSignals || recovery.isUnderWay }
}
