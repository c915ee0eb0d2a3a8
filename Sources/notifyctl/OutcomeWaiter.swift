import NotifyClient
import NotifyRehearsal

/// Waits for the outcome of an event that is yet to be published.
///
/// A silent event has no outcome of its own: that no banner is pending is said when it is announced. Since a window of
/// zero length is announced the same way, its outcome is given a moment to come.
struct OutcomeWaiter {
    private let outcomes = Mailbox<Outcome>()
    private let events = Mailbox<Event>()
    private let readers: [Task<Void, any Error>]

    init(_ client: NotifyClient, at topic: String) async throws(NotifyError) {
        let heardOutcomes = try await client.outcomes(at: topic)
        let heardEvents = try await client.events(at: topic)
        readers = [
            Task { [outcomes] in for try await outcome in heardOutcomes { outcomes.put(outcome) } },
            Task { [events] in for try await event in heardEvents { events.put(event) } },
        ]
    }

    func outcome(of id: EventID, within limit: Duration) async -> Outcome? {
        defer { for reader in readers { reader.cancel() } }
        let deadline = ContinuousClock.now + limit
        guard let event = await events.next(within: limit, where: { $0.id == id }) else {
            // A repeat is not announced again.
            return await outcomes.next(within: .zero, where: { $0.id == id })
        }
        let isPending = event.window.map { $0 > .zero } ?? false
        let rest = isPending ? deadline - .now : min(deadline - .now, .milliseconds(250))
        if let outcome = await outcomes.next(within: rest, where: { $0.id == id }) { return outcome }
        return isPending ? nil : Outcome(id: id, topic: event.topic, kind: .silent)
    }
}
