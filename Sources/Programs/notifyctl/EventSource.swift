import NotifyClient

/// Events as they are announced, with the lowest latency; or all events after a known one.
struct EventSource: AsyncSequence {
    private enum Source {
        case announced(Subscription<Event>)
        case complete(EventStream)
    }

    private let source: Source

    init(_ client: NotifyClient, _ topics: [String], since id: EventID?) async throws(NotifyError) {
        if let id {
            source = .complete(try await client.allEvents(at: topics, after: id))
        } else {
            source = .announced(try await client.events(at: topics))
        }
    }

    func makeAsyncIterator() -> Iterator {
        switch source {
        case .announced(let events): Iterator(source: .announced(events.makeAsyncIterator()))
        case .complete(let events): Iterator(source: .complete(events.makeAsyncIterator()))
        }
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate enum Source {
            case announced(Subscription<Event>.Iterator)
            case complete(EventStream.Iterator)
        }

        fileprivate var source: Source

        mutating func next() async throws(NotifyError) -> Event? {
            switch source {
            case .announced(var events):
                defer { source = .announced(events) }
                return try await events.next()
            case .complete(var events):
                defer { source = .complete(events) }
                return try await events.next()
            }
        }
    }
}
