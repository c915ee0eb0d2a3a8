import ChildProcesses
import NotifyClient

/// Waits for the outcome of an event that will be published.
///
/// A silent event gets no outcome: its announcement says that no banner is pending. An event with a window of zero is announced
/// in the same way, so this waits 250 ms for its outcome.
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
            // A duplicate is not announced again.
            return await outcomes.next(within: .zero, where: { $0.id == id })
        }
        let isPending = event.window.map { $0 > .zero } ?? false
        let rest = isPending ? deadline - .now : min(deadline - .now, .milliseconds(250))
        if let outcome = await outcomes.next(within: rest, where: { $0.id == id }) { return outcome }
        return isPending ? nil : Outcome(id: id, topic: event.topic, kind: .silent)
    }
}
