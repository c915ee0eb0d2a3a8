import ArgumentParser
import NotifyClient
import NotifyText

struct HistoryCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "List recorded events and their outcomes.",
        discussion: """
            Lists the last 50 events, the newest at the end. With --after it lists the first events after an id, so \
            that a script can continue where it stopped. With --unread it lists undecided, shown, muted and expired \
            events that are not marked as read.

            With --export it writes all of them, the oldest first, as JSON with one event a line.

            Exit code 1 if there is none.

            Examples:
              notifyctl history /post -n 10
              notifyctl history --unread
              notifyctl history --after 1795231492321669 -n 0 --json=short
              notifyctl history --export | gzip -c
            """)

    @Argument(
        help: "A topic, such as /post/27, and everything below it; / means every topic.",
        completion: Completion.prefixes)
    var topic = "/"

    @Option(
        parsing: .unconditional, help: "Begin after the event with this id.", completion: Completion.events,
        transform: NumberArgument.eventID)
    var after: UInt64?
    @Option(
        name: .customShort("n", allowingJoined: true), parsing: .unconditional,
        help: "The most events to list; 0 means all. (default: 50)", transform: NumberArgument.parse(0 ... .max))
    var count: Int?
    @Flag(help: "Only unread events.") var unread = false
    @Flag(help: "Write all events as JSON, one a line.") var export = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if export, count != nil || output.style != nil || output.isJSON {
            throw ValidationError("--export writes all events, as JSON with one a line: leave out -n, -j and --json.")
        }
    }

    func run() async throws {
        try TopicFilter.requireSlash(topic)
        let history = HistoryReader(client: try await bus.connect(reading: true), topic: topic, isUnread: unread)
        if export { return try await write(history) }
        let limit = count == 0 ? Int.max : count ?? 50
        let records =
            if let after {
                try await history.first(limit, after: EventID(rawValue: after))
            } else {
                try await history.last(limit)
            }
        let texts = await BannerTexts(history.client).texts(of: records)
        if output.json == .off, Terminal.isInteractive {
            let now = Timestamp.now
            let rows = records.map { $0.cells(at: now, texts[$0.event.id]) }
            for line in Columns.stackedLines(rows, within: Terminal.size?.columns) { Terminal.print(line) }
        } else {
            let origins = output.json != .off ? await history.origins(of: records) : [:]
            for var record in records {
                let text = texts[record.event.id]
                if let origin = origins[record.event.id] { record.event.add(origin) }
                output.write(record.json(text), text: record.line(text))
            }
        }
        if records.isEmpty { throw ExitCode.nothing }
    }
}

extension HistoryCommand {
    /// Writes page by page: there may be more than fits into memory.
    private func write(_ history: HistoryReader) async throws {
        var isEmpty = true
        try await history.forEachPage(after: EventID(rawValue: after ?? 0)) { page in
            for record in page { Terminal.print(record.json(nil).text(pretty: false)) }
            if !page.isEmpty { isEmpty = false }
        }
        if isEmpty { throw ExitCode.nothing }
    }
}

extension RecordedEvent {
    var isUnread: Bool {
        switch outcome {
        case nil, .shown?, .muted?, .expired?: true
        default: false
        }
    }

    fileprivate func cells(at now: Int64, _ text: BannerText?) -> [Cell] {
        event.cells(time: { $0.text(seenAt: now) }, outcome: outcome.cell, text: text)
    }

    /// - Parameter text: what its banner says, if it has no title.
    func line(_ text: BannerText?) -> String {
        let time = event.published.map { Terminal.dim(Timestamp($0).text) + "  " } ?? ""
        return time + event.line(text: text) + "  → " + Terminal.plain(outcome?.rawValue ?? "undecided")
    }

    fileprivate func json(_ text: BannerText?) -> JSON {
        .object(event.members(text: text) + [("outcome", .string(outcome?.rawValue ?? ""))])
    }
}

/// Reads the history of a topic, page by page.
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

    /// The unread events of a page. Muted and expired ones keep their outcome when they are read, so the daemon is
    /// asked about each.
    private func unseen(_ page: [RecordedEvent]) async throws(NotifyError) -> [RecordedEvent] {
        let unread = page.filter(\.isUnread)
        let doubtful = unread.filter { $0.outcome == .muted || $0.outcome == .expired }.map(\.event.id)
        let read = Set(try await explanations(of: doubtful).filter(\.isRead).map(\.id))
        return unread.filter { !read.contains($0.event.id) }
    }

    /// The last events, in ascending order.
    ///
    /// - Parameter limit: how many may be read at a time. Fewer events are found if finding more takes more.
    func last(_ count: Int, readingAtMost limit: Int = .max) async throws(NotifyError) -> [RecordedEvent] {
        // Pages only go forwards. Ids grow with time, so this steps back by a quickly growing span. Only the cursor of
        // the snapshot is needed, and this topic has no values.
        let end = try await client.snapshot("/-").cursor.rawValue
        var span: UInt64 = 1000
        var found: [RecordedEvent] = []
        while true {
            let start = end > span ? end - span : 0
            let events = try await first(limit, after: EventID(rawValue: start))
            // Of a span with too many events these are the oldest.
            if events.count == limit { return found.isEmpty ? events : found }
            found = events
            if found.count >= count || start == 0 { return found.suffix(count) }
            span = span.multipliedReportingOverflow(by: 32).overflow ? .max : span * 32
        }
    }

    /// Events published since a point in time, in microseconds since the epoch, in ascending order of their ids.
    func since(_ moment: Int64) async throws(NotifyError) -> [RecordedEvent] {
        try await first(.max, after: 0) { ($0.event.published ?? 0) >= moment }
    }

    /// The explanations of events, in the same order. Events that were deleted meanwhile are left out.
    func explanations(of ids: [EventID]) async throws(NotifyError) -> [Explanation] {
        try await concurrently(ids) { [client] id throws(NotifyError) -> Explanation? in
            do throws(NotifyError) { return try await client.explain(id) } catch {
                if error.name?.hasSuffix(".UnknownEvent") == true { return nil }
                throw error
            }
        }.compactMap(\.self)
    }
}

extension HistoryReader {
    /// The origins of the events, which the history does not have.
    func origins(of records: [RecordedEvent]) async -> [EventID: Explanation] {
        let ids = records.map(\.event.id)
        let found = await concurrently(ids) { [client] in try? await client.notStarting.explain($0) }
        return Dictionary(uniqueKeysWithValues: zip(ids, found)).compactMapValues(\.self)
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

struct ForgetCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Delete recorded events for good.",
        discussion: """
            Deletes the decided events at or below a topic from the journal, with their texts; banners that show \
            nothing else are closed. Undecided events and current values stay. The dead letters of bridges at the \
            topic are deleted too, unless --before is given. It does not ask back. Prints how many events it deleted.

            An id deletes one event. It is refused if there are older events at or below its topic that could be \
            deleted, because notifyd deletes events only together with those before them.

            Exit code 1 if an event cannot be deleted by its id.

            Examples:
              notifyctl forget /post/27
              notifyctl forget / --before 30d
              notifyctl forget /chat --before "2026-05-03 17:00"
            """)

    @Argument(
        help: ArgumentHelp(
            "A topic, such as /post/27 (/ means every topic), or the id of an event, or “last”.",
            valueName: "topic or id"),
        completion: Completion.prefixes)
    var subject: String
    @Option(
        parsing: .unconditional,
        help:
            """
            Only events before this one or this time: an id, a date with or without a time, or \
            how long ago, such as 30d.
            """,
        completion: Completion.events, transform: MomentArgument.parse)
    var before: MomentArgument?

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if event != nil, before != nil { throw ValidationError("--before belongs to a topic; \(subject) is an event.") }
    }

    func run() async throws {
        guard event != nil || subject.utf8.first == UInt8(ascii: "/") else {
            throw NotifyError(
                .invalidArgument,
                "“\(subject)” is neither a topic, such as /post/27, nor the id of an event, nor “last”.")
        }
        let client = try await bus.connect()
        let id = try await event?.find(client)
        let (topic, last) = try await scope(client, id)
        // In the call, 0 means all. There is no event 1, but the call also removes from the files what retention has
        // deleted.
        let count = try await client.forget(topic, upTo: last.map { max($0, 1) } ?? 0)
        if event == nil, before == nil { try? await bus.withQuery { await forgetDeadLetters(topic, $0) } }
        output.write(["topic": topic, "count": count], text: "\(count)")
        if let id, count == 0 {
            throw Complaint(.nothing, "Event \(id) is undecided or a current value: it stays.")
        }
    }

    /// Deletes the dead letters of bridges at the topic. A bridge that does not answer is reported.
    private func forgetDeadLetters(_ topic: String, _ query: BusQuery) async {
        for bridge in await BridgeInfo.names(query) {
            do throws(NotifyError) {
                _ = try await query.ask(.bridge(bridge), "Forget", [.string(topic)])
            } catch {
                Terminal.complain("The dead letters of the bridge \(Terminal.plain(bridge)) stay: \(error.message)")
            }
        }
    }

    /// `nil` if a topic is given.
    private var event: EventArgument? { try? EventArgument.parse(subject) }

    /// The topic, and the id up to which its events are deleted; `nil` means all.
    ///
    /// - Parameter id: the event, if it is one that is deleted.
    private func scope(_ client: NotifyClient, _ id: EventID?) async throws -> (topic: String, last: EventID?) {
        guard let id else {
            switch before {
            case nil: return (subject, nil)
            case .event(let id): return (subject, id == 0 ? 0 : EventID(rawValue: id - 1))
            case .time(let moment):
                let events = HistoryReader(client: client, topic: subject)
                // Without an event since then all of now are before it.
                let end = try await client.snapshot(subject).cursor
                // Later events may have been published before it, if their publishers say so.
                let next = try await events.first(1, after: 0) { ($0.event.published ?? 0) >= moment }.first?.event.id
                return (subject, next.map { EventID(rawValue: $0.rawValue - 1) } ?? end)
            }
        }
        let topic = try await client.explain(id).topic
        let kept = Set(try await client.snapshot(topic).values.map(\.event.id))
        let reader = HistoryReader(client: client, topic: topic)
        let earlier = try await reader.first(1, after: 0) { record in
            record.event.id >= id || record.outcome != nil && !kept.contains(record.event.id)
        }
        if let first = earlier.first?.event.id, first < id {
            throw Complaint(
                .nothing,
                "There are older events at or below \(topic), such as \(first). To delete them too: "
                    + "notifyctl forget \(topic) --before \(id.rawValue + 1)")
        }
        return (topic, id)
    }
}
