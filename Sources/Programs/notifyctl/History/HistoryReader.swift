import NotifyClient

struct HistoryReader {
    let client: NotifyClient
    let topic: String
    var isUnread = false

    /// The first events after one, in ascending order.
    func first(
        _ count: Int, after: EventID, where isWanted: (RecordedEvent) -> Bool = { _ in true }
    ) async throws(NotifyError) -> [RecordedEvent] {
        var found: [RecordedEvent] = []
        var last = after
        while found.count < count, let page = try await page(after: &last) { found += page.filter(isWanted) }
        return Array(found.prefix(count))
    }

    /// Reads everything after an event, in ascending order.
    func forEachPage(after: EventID, _ body: ([RecordedEvent]) -> Void) async throws(NotifyError) {
        var last = after
        while let page = try await page(after: &last) { body(page) }
    }

    /// The events of the next page, which may be none; `nil` at the end.
    private func page(after last: inout EventID) async throws(NotifyError) -> [RecordedEvent]? {
        let page = try await client.history(topic, after: last)
        guard let end = page.last?.event.id, end > last else { return nil }
        last = end
        return isUnread ? try await unseen(page) : page
    }

    /// The unread events of a page. The outcome of muted and expired ones does not tell it, so they are explained.
    private func unseen(_ page: [RecordedEvent]) async throws(NotifyError) -> [RecordedEvent] {
        let unread = page.filter(\.isUnread)
        let doubtful = unread.filter { $0.outcome == .muted || $0.outcome == .expired }.map(\.event.id)
        var read: Set<EventID> = []
        do {
            for explanation in try await explanations(of: doubtful) where explanation.isRead {
                read.insert(explanation.id)
            }
        } catch {
            throw error as? NotifyError ?? .strangeReply
        }
        return unread.filter { !read.contains($0.event.id) }
    }

    func last(_ count: Int) async throws(NotifyError) -> [RecordedEvent] {
        // Pages only go forwards. Ids grow with time, so this steps back by a quickly growing span.
        let end = try await client.snapshot(topic).cursor.rawValue
        var span: UInt64 = 1000
        while true {
            let start = end > span ? end - span : 0
            let found = try await first(.max, after: EventID(rawValue: start))
            if found.count >= count || start == 0 { return found.suffix(count) }
            span = span.multipliedReportingOverflow(by: 32).overflow ? .max : span * 32
        }
    }

    /// The newest events, in ascending order: about `limit`, and fewer if finding more takes longer.
    func newest(_ limit: Int) async throws(NotifyError) -> [RecordedEvent] {
        // A topic without values: only the cursor of the snapshot is needed.
        let end = try await client.snapshot("/-").cursor.rawValue
        var span = UInt64(limit)
        var found: [RecordedEvent] = []
        while true {
            let start = end > span ? end - span : 0
            // A span with too many events would return its oldest, so it is halved.
            let events = try await first(limit, after: EventID(rawValue: start))
            if events.count == limit { return found.isEmpty ? events : found }
            found = events
            if start == 0 { return found }
            span = span.multipliedReportingOverflow(by: 32).overflow ? .max : span * 32
        }
    }

    /// Events published since a point in time, in microseconds since the epoch, in ascending order of their ids.
    func since(_ moment: Int64) async throws(NotifyError) -> [RecordedEvent] {
        try await first(.max, after: 0) { ($0.event.published ?? 0) >= moment }
    }

    /// The explanations of events, in the same order. Events that were deleted meanwhile are left out.
    func explanations(of ids: [EventID]) async throws -> [Explanation] {
        try await withThrowingTaskGroup(of: (Int, Explanation?).self) { group in
            var found: [Int: Explanation] = [:]
            var next = ids.enumerated().makeIterator()
            func ask() {
                guard let (index, id) = next.next() else { return }
                group.addTask { [client] in
                    do throws(NotifyError) {
                        return (index, try await client.explain(id))
                    } catch {
                        if error.name?.hasSuffix(".UnknownEvent") == true { return (index, nil) }
                        throw error
                    }
                }
            }
            // Enough parallel calls to use the daemon, and few enough for other callers.
            for _ in 0..<16 { ask() }
            while let (index, explanation) = try await group.next() {
                found[index] = explanation
                ask()
            }
            return found.sorted { $0.key < $1.key }.map(\.value)
        }
    }
}
