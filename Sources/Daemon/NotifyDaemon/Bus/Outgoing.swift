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
