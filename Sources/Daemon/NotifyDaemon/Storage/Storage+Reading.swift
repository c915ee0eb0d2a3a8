import Journal
import Routing

/// Reads, with what is kept in memory until it can be written.
extension Storage {
    /// The highest number of a change. Something may have changed if it is another one.
    var newestChange: UInt64 { journal.newestChange }

    /// The id of the next event. It is at least the time, so that it is above all earlier ids even without a journal,
    /// and above all ids in the journal, in case the clock was set back.
    ///
    /// - Parameter wall: microseconds since the epoch.
    func firstID(at wall: Int64) -> EventID {
        let known = (try? read { try $0.lastID() }) ?? EventID(0)
        return EventID(max(UInt64(wall), known.rawValue + 1))
    }

    /// Why nothing can be read.
    var unreadable: Refusal { .storageUnavailable("the journal in \(journal.directory) cannot be read: \(reason)") }

    /// - Throws: `Refusal.storageUnavailable`.
    func read<Result>(_ body: (Journal) throws -> Result) throws(Refusal) -> Result {
        guard journal.isReadable else { throw unreadable }
        defer { if let error = journal.indexFailure { report(error) } }
        do {
            return try body(journal)
        } catch {
            if let error = error as? JournalError, error == .damaged { report(error) }
            throw .storageUnavailable("the journal in \(journal.directory) cannot be read: \(error)")
        }
    }

    /// An event with its newest decision and read mark, which may not be on disk yet.
    func current(_ event: StoredEvent) -> StoredEvent {
        var event = event
        if var decision = backlog.decision(of: event.id) {
            if decision.followsShown, let shown = event.decision { decision = decision.following(shown) }
            event.decision = decision
        }
        if backlog.read.contains(event.id), let marked = event.decision?.markedRead { event.decision = marked }
        return event
    }

    /// Whether the outcome of an event at or below a topic, up to an id, waits until it can be written. The event
    /// cannot be deleted before.
    func hasWaitingOutcomes(_ topic: TopicPrefix, upTo last: EventID) throws(Refusal) -> Bool {
        guard !backlog.isEmpty else { return false }
        let undecided = try read { try $0.undecided(topic) }
        return undecided.contains { $0.id <= last && backlog.decision(of: $0.id) != nil }
    }

    /// The same with everything else that is known about it, as it will be written.
    func current(_ state: EventState) -> EventState {
        var state = state
        state.event = current(state.event)
        for record in backlog.entries where record.subject == state.event.id {
            switch record {
            case .claimed, .named: state.apply(LogRecord(record))
            default: break
            }
        }
        return state
    }
}
