import Journal
import Routing
import Systemd

/// Reading what was and what is. What the turn has brought so far is on disk before anything is read.
extension RouterInterface {
    func snapshot(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let topic = try read(call) { call in try Self.prefix(call) }
        return Order(kind: .reading) { [unowned self] call throws(BusFailure) in
            try answer(call) { [unowned self] answer, reply throws(BusFailure) in
                daemon.endTurn()
                // The cursor and what it stands for are fixed together. The events stay in the journal when their topics
                // have other values: so whatever is read later, the answer says what was at the cursor, and all that
                // changes meanwhile is announced with ids above it.
                reply.append(daemon.router.lastID.rawValue, as: "t")
                var values = try stored { journal throws(JournalError) in try journal.valueList(topic) }[...]
                reply.openContainer("a", Self.eventType)
                return { [unowned self, unowned answer] reply, end throws(BusFailure) in
                    while !values.isEmpty {
                        let page = try stored { [values] journal throws(JournalError) in
                            try journal.values(values, bytes: Self.portionBytes)
                        }
                        values = values.dropFirst(page.count)
                        for event in page.events { append(event, to: reply) }
                        answer.bytes += page.events.reduce(0) { $0 + $1.footprint }
                        guard answer.bytes <= Journal.answerLimit else { throw Self.tooLong(topic) }
                        if daemon.host.now.instant >= end, !values.isEmpty { return false }
                    }
                    reply.closeContainer()
                    return true
                }
            }
        }
    }

    /// The events of a long answer that are read in one go take so many bytes, where there is more than one.
    private static var portionBytes: Int { 64 << 10 }

    private static func tooLong(_ topic: TopicPrefix) -> BusFailure {
        BusFailure(
            .limitExceeded(
                "a snapshot: the values at or below \(topic) have more than \(Journal.answerLimit >> 20) MiB together; "
                    + "ask for a narrower topic"))
    }

    func history(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let (topic, after, limit) = try read(call) { call in
            (try Self.prefix(call), EventID(try call.readNumber("t")), try call.readNumber("u", as: UInt32.self))
        }
        return Order(kind: .reading) { [unowned self] call throws(BusFailure) in
            daemon.endTurn()
            let events = try stored { journal throws(JournalError) in
                try journal.history(topic, after: after, limit: Int(limit))
            }
            let reply = bus.methodReturn(to: call)
            append(events, to: reply)
            leave(reply, bytes: events.reduce(0) { $0 + $1.footprint }, to: call)
        }
    }

    func unread(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let topic = try read(call) { call in try Self.prefix(call) }
        return Order(kind: .reading) { [unowned self] call throws(BusFailure) in
            try answer(call) { [unowned self] _, _ in
                daemon.endTurn()
                var count = 0
                var position = Journal.UnreadPosition(before: topic)
                return { [unowned self] reply, end throws(BusFailure) in
                    repeat {
                        let portion = try stored { [position] journal throws(JournalError) in
                            try journal.unread(topic, after: position, limit: Journal.unreadPortion)
                        }
                        count += portion.count
                        guard let next = portion.position else {
                            reply.append(UInt32(clamping: count), as: "u")
                            return true
                        }
                        position = next
                    } while daemon.host.now.instant < end
                    return false
                }
            }
        }
    }

    func explain(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let id = try event(call)
        return Order(kind: .reading) { [unowned self] call throws(BusFailure) in
            daemon.endTurn()
            let found = try stored { journal throws(JournalError) in
                (event: try journal.event(id), claims: try journal.claims(on: id))
            }
            guard let event = found.event else {
                throw BusFailure(
                    .unknownEvent("there is no event \(id); ids come from Send, Publish and the signal Event"))
            }
            let reply = bus.methodReturn(to: call)
            Explanation(
                event, claims: found.claims, deadline: daemon.deadline(of: id), isOlder: id < daemon.router.firstID
            ).append(to: reply)
            leave(reply, bytes: event.footprint + found.claims.count * 96, to: call)
        }
    }

    private func stored<Result>(
        _ body: (any EventStore) throws(JournalError) -> Result
    ) throws(BusFailure) -> Result {
        do throws(Refusal) {
            return try daemon.storage.read(body)
        } catch {
            throw BusFailure(error)
        }
    }

    private static var eventType: String { "(tsssxsa{sv})" }

    /// Events as the interface lists them: a(tsssxsa{sv}).
    private func append(_ events: [StoredEvent], to reply: borrowing BusMessage) {
        reply.appendContainer("a", Self.eventType) { list in
            for event in events { append(event, to: list) }
        }
    }

    private func append(_ event: StoredEvent, to list: borrowing BusMessage) {
        list.appendContainer("r", "tsssxsa{sv}") { entry in
            entry.append(event.id.rawValue, as: "t")
            entry.append(event.topic.description)
            entry.append(event.title)
            entry.append(event.body)
            entry.append(event.published, as: "x")
            entry.append(event.decision?.outcome.rawValue ?? "")
            entry.append(event.fields)
        }
    }
}
