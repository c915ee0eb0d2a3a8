import NotifyText
import Routing

@testable import Journal

/// Reads `Changes` with a cursor that outlives the daemon, as a bridge does, and makes of them what is on the disk.
struct Follower {
    /// The highest number that was read.
    private(set) var cursor: UInt64 = 0
    private(set) var events: [EventID: StoredEvent] = [:]
    private(set) var outcomes: [EventID: Outcome] = [:]
    /// Events that keep their outcomes and were read.
    private(set) var readMarks: Set<EventID> = []
    /// What was said of the values, in the order of the changes.
    private var words: [Topic: [StoredChange]] = [:]

    /// - Returns: what is wrong with the change.
    mutating func take(_ change: StoredChange) -> String? {
        guard change.number > cursor else { return "change \(change.number) comes after \(cursor)" }
        defer { cursor = change.number }
        switch change.content {
        case .event(let event):
            events[event.id] = event
            if event.retained { words[event.topic, default: []].append(change) }
        case .outcome(let event):
            guard events[event.id] != nil else { return "the outcome of event \(event.id) comes before it" }
            outcomes[event.id] = event.decision?.outcome
        case .read(let event, by: _, at: _, from: _):
            guard events[event.id] != nil else { return "event \(event.id) is read before it came" }
            readMarks.insert(event.id)
        case .removed(let removal): words[removal.topic, default: []].append(change)
        case .hole: break
        case .start(let last):
            // A number between the two would say that the journal is an older copy.
            guard cursor <= last else { return "change \(cursor) was read, and a start says \(last)" }
        }
        return nil
    }

    /// Of each topic the newest value, if no newer removal has come and its lifetime has not ended.
    func values(on device: String) -> [Topic: EventID] {
        words.compactMapValues { words in
            var newest: ReferenceRouter.Version?
            var value: EventID?
            for change in words {
                let (published, origin, id): (Int64, Origin, EventID?)
                switch change.content {
                case .event(let event): (published, origin, id) = (event.published, event.origin, event.id)
                case .removed(let removal) where removal.cause == .publisher:
                    (published, origin, id) = (removal.published ?? 0, removal.origin, nil)
                default:
                    value = nil
                    continue
                }
                let name = origin.name(of: change.id, on: device)
                let version = ReferenceRouter.Version(
                    published: published, name: [Array(name.source.utf8), Array(name.eventID.utf8)])
                guard newest.map({ $0 < version }) ?? true else { continue }
                (newest, value) = (version, id)
            }
            return value
        }
    }
}
