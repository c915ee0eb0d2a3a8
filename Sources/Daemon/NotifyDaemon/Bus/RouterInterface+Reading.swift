import Journal
import Routing
import Systemd

/// Methods that read the journal. Pending entries are committed first.
extension RouterInterface {
    func snapshot(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let topic = try codec.read(call) { call in try codec.prefix(call) }
        return PreparedCall(kind: .reading) { [unowned self] call throws(Refusal) in
            try answer(call) { [unowned self] answer, reply throws(Refusal) in
                daemon.endTurn()
                // The list of values is taken together with the cursor. An event stays in the journal when its topic
                // gets another value, so the reply shows the state at the cursor, and later changes are announced with
                // higher ids.
                reply.append(daemon.router.lastID.rawValue, as: "t")
                var values = try daemon.storage.read { journal throws(JournalError) in try journal.valueList(topic) }[
                    ...]
                reply.openContainer("a", Self.eventType)
                return { [unowned self, unowned answer] reply, end throws(Refusal) in
                    while !values.isEmpty {
                        let page = try daemon.storage.read { [values] journal throws(JournalError) in
                            try journal.values(values, bytes: Self.portionBytes)
                        }
                        values = values.dropFirst(page.count)
                        for event in page.events { append(event, to: reply) }
                        answer.bytes += page.events.reduce(0) { $0 + $1.memoryCost }
                        guard answer.bytes <= Journal.answerLimit else { throw Self.tooLong(topic) }
                        if host.now.instant >= end, !values.isEmpty { return false }
                    }
                    reply.closeContainer()
                    return true
                }
            }
        }
    }

    /// Bytes of events read at a time; one event may be larger.
    private static var portionBytes: Int { 64 << 10 }

    private static func tooLong(_ topic: TopicPrefix) -> Refusal {
        .limitExceeded(
            "a snapshot: the values at or below \(topic) have more than \(Journal.answerLimit >> 20) MiB together; "
                + "ask for a narrower topic")
    }

    func history(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (topic, after, limit) = try codec.read(call) { call in
            (try codec.prefix(call), EventID(try call.readNumber("t")), try call.readNumber("u", as: UInt32.self))
        }
        return PreparedCall(kind: .reading) { [unowned self] call throws(Refusal) in
            daemon.endTurn()
            let events = try daemon.storage.read { journal throws(JournalError) in
                try journal.history(topic, after: after, limit: Int(limit))
            }
            let reply = bus.methodReturn(to: call)
            append(events, to: reply)
            send(reply, bytes: events.reduce(0) { $0 + $1.memoryCost })
        }
    }

    func unread(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let topic = try codec.read(call) { call in try codec.prefix(call) }
        return PreparedCall(kind: .reading) { [unowned self] call throws(Refusal) in
            try answer(call) { [unowned self] _, _ in
                daemon.endTurn()
                var count = 0
                var position = Journal.UnreadPosition(before: topic)
                return { [unowned self] reply, end throws(Refusal) in
                    repeat {
                        let portion = try daemon.storage.read { [position] journal throws(JournalError) in
                            try journal.unread(topic, after: position, limit: Journal.unreadPortion)
                        }
                        count += portion.count
                        guard let next = portion.position else {
                            reply.append(UInt32(clamping: count), as: "u")
                            return true
                        }
                        position = next
                    } while host.now.instant < end
                    return false
                }
            }
        }
    }

    func explain(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let id = try codec.event(call)
        return PreparedCall(kind: .reading) { [unowned self] call throws(Refusal) in
            daemon.endTurn()
            let found = try daemon.storage.read { journal throws(JournalError) in
                (event: try journal.event(id), claims: try journal.claims(on: id))
            }
            guard let stored = found.event else {
                throw .noEvent(id)
            }
            let (event, claims) = daemon.storage.current(stored, found.claims)
            let reply = bus.methodReturn(to: call)
            let route = daemon.configuration.routes.route(named: event.route, for: event.topic)
            Explanation(
                event: event, claims: claims, state: daemon.state(of: event), snoozeEnd: daemon.snoozeEnd(of: id),
                waitsForScreens: route.wait == .screens
            ).append(to: reply)
            send(reply, bytes: event.memoryCost + claims.count * 96)
        }
    }

    func diagnose(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        PreparedCall(kind: .reading) { [unowned self] call throws(Refusal) in
            let problems = host.problems
            let reply = bus.methodReturn(to: call)
            reply.appendContainer("a", "(sss)") { list in
                for problem in problems {
                    list.appendContainer("r", "sss") { entry in
                        entry.append(problem.what)
                        entry.append(problem.state)
                        entry.append(problem.advice)
                    }
                }
            }
            send(reply, bytes: problems.reduce(0) { $0 + $1.state.utf8.count + $1.advice.utf8.count })
        }
    }

    static var eventType: String { "(tsssxsa{sv})" }

    /// Events as `a(tsssxsa{sv})`.
    private func append(_ events: [StoredEvent], to reply: borrowing BusMessage) {
        reply.appendContainer("a", Self.eventType) { list in
            for event in events { append(event, to: list) }
        }
    }

    private func append(_ stored: StoredEvent, to list: borrowing BusMessage) {
        let event = daemon.storage.current(stored)
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
