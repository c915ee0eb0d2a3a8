import Journal
import Routing
import Systemd

/// Reading what was and what is. What the turn has brought so far is on disk before anything is read.
extension RouterInterface {
    func snapshot(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let topic = try read(call) { call in try Self.prefix(call) }
        return Order(kind: .reading) { [unowned self] call throws(BusFailure) in
            daemon.endTurn()
            let cursor = daemon.router.lastID
            guard let events = try stored({ journal throws(JournalError) in try journal.snapshot(topic) }) else {
                throw BusFailure(
                    .limitExceeded(
                        "a snapshot: the values at or below \(topic) have more than \(Journal.answerLimit >> 20) MiB together; "
                            + "ask for a narrower topic"))
            }
            let reply = bus.methodReturn(to: call)
            reply.append(cursor.rawValue, as: "t")
            append(events, to: reply)
            leave(reply, bytes: events.reduce(0) { $0 + $1.footprint }, to: call)
        }
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
            daemon.endTurn()
            let count = try stored { journal throws(JournalError) in try journal.unread(topic) }
            let reply = bus.methodReturn(to: call)
            reply.append(UInt32(clamping: count), as: "u")
            daemon.leave(reply, to: call)
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

    /// Events as the interface lists them: a(tsssxsa{sv}).
    private func append(_ events: [StoredEvent], to reply: borrowing BusMessage) {
        reply.appendContainer("a", "(tsssxsa{sv})") { list in
            for event in events {
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
    }
}
