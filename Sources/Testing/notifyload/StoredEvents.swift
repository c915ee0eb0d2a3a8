import Journal
import NotifyClient
import Routing

/// Writes events into the journal before the daemon starts, because a bus cannot carry a million in a few seconds.
enum StoredEvents {
    private static let batch = 10_000
    private static let topics = 1_000
    /// Events of one sender, of whom none may have more than 10,000 open.
    private static let eventsOfOneSender = 5_000

    static func write(decided: Int, open: Int, to directory: String) throws {
        guard decided + open > 0 else { return }
        let journal = try Journal(directory: directory)
        defer { journal.close() }
        let total = decided + open
        let now = SystemClock.wall
        for start in stride(from: 0, to: total, by: batch) {
            var entries: [Record] = []
            for number in start..<min(start + batch, total) {
                let isOpen = number >= decided
                // The newest event is one second old.
                let moment = now - 1_000_000 - Int64(total - number) * 10
                let event = try event(number, isOpen: isOpen, at: moment)
                entries.append(.accepted(event))
                if !isOpen { entries.append(.decided(event.id, claimed(at: moment))) }
            }
            try journal.commit(entries)
        }
    }

    private static func event(_ number: Int, isOpen: Bool, at moment: Int64) throws -> StoredEvent {
        let topic = try Topic(isOpen ? "/open/\(number)" : "/past/\(number % topics)")
        let lifetime: Int64 = 12 * 3600 * 1_000_000
        return StoredEvent(
            id: EventID(UInt64(moment)), topic: topic, title: "Title \(number)",
            body: "Forty bytes, which is what a push says.", fields: [], published: moment,
            sender: ":1.\(100_000 + number / eventsOfOneSender)", origin: Origin(), urgency: nil, retained: false,
            route: "default", key: topic.description, window: 60_000_000, accepted: moment,
            // From another boot, so that the wall clock counts.
            expires: Expiry(wall: moment + lifetime, uptime: 0, boot: ""))
    }

    private static func claimed(at moment: Int64) -> StoredDecision {
        var decision = StoredDecision(outcome: .claimed, resolved: moment + 500)
        decision.opened = moment
        decision.deadline = moment + 100_000
        decision.claimant = ":1.7"
        decision.latency = 500
        decision.form = .claim
        return decision
    }
}
