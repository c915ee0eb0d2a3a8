import Journal
import Routing

/// What screens claimed while the user was away already, of routes with `rescue`.
///
/// A session is called idle some minutes after the last input, and until then its screens claim as if somebody looked at them.
/// When the user comes back, one banner tells of the events that were claimed in those minutes by screens alone.
struct Rescue {
    /// The search for these events, from the newest on, in portions, one per turn.
    struct Search {
        /// Events looked at per turn.
        static var portion: Int { 256 }

        /// Events that were accepted before are not looked at; microseconds since the epoch.
        var since: Int64
        /// The last event that was looked at.
        var position = EventID(.max)
        var tally = DigestTally(.away)
    }

    /// When the last input was, in microseconds since the epoch; `nil` while the session is watched.
    var absence: Int64?
    var search: Search?
    /// What could not be published yet.
    private(set) var waiting: Publication?
    /// What was published in this turn.
    private var published: (id: EventID, publication: Publication)?

    mutating func wait(_ publication: Publication) {
        waiting = publication
    }

    mutating func wasPublished(_ publication: Publication, as id: EventID) {
        waiting = nil
        published = (id, publication)
    }

    /// After a commit: what it refused is published again later.
    mutating func committed(refusing refused: [EventID]) {
        guard let (id, publication) = published.take() else { return }
        if refused.contains(id) { waiting = waiting ?? publication }
    }
}
