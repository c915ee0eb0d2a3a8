import NotifyClient

/// Who published recorded events, and under which names: `History` does not say it, so the daemon is asked for each
/// event.
struct EventOrigins: Sendable {
    let client: NotifyClient

    init(_ client: NotifyClient) { self.client = client }

    /// The explanations of events, by id; without those that the daemon does not tell.
    func origins(of records: [RecordedEvent]) async -> [EventID: Explanation] {
        await withTaskGroup(of: (EventID, Explanation?).self) { group in
            var origins: [EventID: Explanation] = [:]
            var next = records.lazy.map(\.event.id).makeIterator()
            func ask() {
                guard let id = next.next() else { return }
                group.addTask { (id, try? await client.explain(id, autoStart: false)) }
            }
            for _ in 0..<BannerTexts.callsAtOnce { ask() }
            while let (id, explanation) = await group.next() {
                origins[id] = explanation
                ask()
            }
            return origins
        }
    }
}

extension Event {
    /// Adds what an explanation says of its origin.
    mutating func add(_ explanation: Explanation) {
        source = explanation.source
        eventID = explanation.eventID
        via = explanation.via
        sender = explanation.sender
    }
}
