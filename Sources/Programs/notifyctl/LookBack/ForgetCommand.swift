import ArgumentParser
import NotifyClient
import NotifyJSON

struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Delete recorded events for good.",
        discussion: """
            Deletes the decided events at or below a topic from the journal, with their texts; banners that show nothing else \
            are closed. Undecided events and current values stay. The dead letters of bridges at the topic are deleted too, \
            unless --before is given. It does not ask back. Prints how many events it deleted.

            An id deletes one event. It is refused if there are older events at or below its topic that could be deleted, \
            because notifyd deletes events only together with those before them.

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
            "Only events before this one or this time: an id, a date with or without a time, or how long ago, such as 30d.",
        completion: Completion.events, transform: MomentArgument.parse)
    var before: MomentArgument?

    @OptionGroup var bus: BusOptions
    @OptionGroup var output: OutputOptions

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
        // To the interface, 0 means all.
        let count = last == .some(0) ? 0 : try await client.forget(topic, upTo: last ?? 0)
        if event == nil, before == nil { await forgetDeadLetters(topic) }
        output.write(["topic": topic, "count": count], text: "\(count)")
        if let id, count == 0 {
            Terminal.complain("Event \(id) is undecided or a current value: it stays.")
            throw ExitCode.nothing
        }
    }

    /// Deletes what bridges have kept of the topic. One that does not answer is told.
    private func forgetDeadLetters(_ topic: String) async {
        guard let address = bus.address ?? NotifyClient.sessionBusAddress,
            let connection = try? await Connection.open(address)
        else { return }
        defer { connection.close() }
        let query = BusQuery(connection: connection)
        for name in await query.names() where name.hasPrefix(BridgeInfo.prefix) {
            let bridge = String(name.dropFirst(BridgeInfo.prefix.count))
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
                return (subject, try await HistoryReader(client: client, topic: subject).last(before: moment))
            }
        }
        let topic = try await client.explain(id).topic
        let kept = Set(try await client.snapshot(topic).values.map(\.event.id))
        let reader = HistoryReader(client: client, topic: topic)
        let earlier = try await reader.first(1, after: 0) { record in
            record.event.id >= id || record.outcome != nil && !kept.contains(record.event.id)
        }
        if let first = earlier.first?.event.id, first < id {
            Terminal.complain(
                "There are older events at or below \(Terminal.plain(topic)), such as \(first). To delete them too: "
                    + "notifyctl forget \(Terminal.plain(topic)) --before \(id.rawValue + 1)")
            throw ExitCode.nothing
        }
        return (topic, id)
    }
}

extension HistoryReader {
    /// The last event before the first one that was published at a time or later; 0 if there is none. Later events may
    /// have been published before it, if their publishers say so.
    ///
    /// - Parameter moment: microseconds since the epoch.
    fileprivate func last(before moment: Int64) async throws(NotifyError) -> EventID {
        var last: EventID = 0
        while true {
            let page = try await client.history(topic, after: last)
            for record in page {
                if (record.event.published ?? 0) >= moment { return last }
                last = record.event.id
            }
            if page.isEmpty { return last }
        }
    }
}
