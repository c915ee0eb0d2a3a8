import Journal
import Routing
import Systemd

/// What banners say, for programs that draw their own: `Render` and `Inbox`.
extension RouterInterface {
    func render(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let id = try codec.event(call)
        return PreparedCall(kind: .reading) { [unowned self] call throws(Refusal) in
            daemon.endTurn()
            let stored = try daemon.storage.read { journal throws(JournalError) in try journal.event(id) }
            guard let stored else { throw .noEvent(id) }
            let text = BannerText(ofAlone: daemon.event(stored))
            let reply = bus.methodReturn(to: call)
            reply.append(text.title)
            reply.append(text.body)
            send(reply, bytes: text.title.utf8.count + text.body.utf8.count)
        }
    }

    /// Unread events at or below a topic, newest first. First all their ids are read, then the events of the page.
    func inbox(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (topic, before, limit) = try codec.read(call) { call in
            (try codec.prefix(call), EventID(try call.readNumber("t")), try call.readNumber("u", as: UInt32.self))
        }
        return PreparedCall(kind: .reading) { [unowned self] call throws(Refusal) in
            try answer(call) { [unowned self] answer, reply throws(Refusal) in
                daemon.endTurn()
                var newest = NewestIDs(before: before, limit: min(Int(limit), Journal.pageLimit))
                var position: Journal.UnreadIDPosition? = Journal.UnreadIDPosition(before: topic)
                reply.openContainer("a", Self.eventType)
                return { [unowned self, unowned answer] reply, end throws(Refusal) in
                    while let start = position {
                        let found = try daemon.storage.read { journal throws(JournalError) in
                            try journal.unreadIDs(topic, after: start, limit: Self.idsAtOnce)
                        }
                        newest.insert(found.ids)
                        position = found.position
                        guard host.now.instant < end else { return false }
                    }
                    while answer.bytes < Journal.pageBytes, let id = newest.popNewest() {
                        answer.bytes += try appendUnread(id, to: reply)
                        guard host.now.instant < end else { return false }
                    }
                    reply.closeContainer()
                    return true
                }
            }
        }
    }

    private static var idsAtOnce: Int { 500 }

    /// - Returns: about how many bytes were appended; 0 for an event that somebody has read in the meantime.
    private func appendUnread(_ id: EventID, to list: borrowing BusMessage) throws(Refusal) -> Int {
        let stored = try daemon.storage.read { journal throws(JournalError) in try journal.event(id) }
        guard let stored = stored.map(daemon.storage.current), stored.isUnread else { return 0 }
        let event = daemon.event(stored)
        let text = BannerText(ofAlone: event)
        list.appendContainer("r", "tsssxsa{sv}") { entry in
            entry.append(id.rawValue, as: "t")
            entry.append(event.topic.description)
            entry.append(text.title)
            entry.append(text.body)
            entry.append(event.published, as: "x")
            entry.append(stored.decision?.outcome.rawValue ?? "")
            entry.appendContainer("a", "{sv}") { entries in
                Self.append(event, to: entries)
                if let end = daemon.snoozeEnd(of: id) {
                    entries.appendEntry("snoozed", "x") { $0.append(end, as: "x") }
                }
            }
        }
        return event.memoryCost
    }

    private static func append(_ event: Event, to entries: borrowing BusMessage) {
        let appearance = event.appearance.cleaned
        if let app = appearance.app { entries.appendEntry("app", "s") { $0.append(app) } }
        if !appearance.icon.isEmpty { entries.appendEntry("icon", "s") { $0.append(appearance.icon) } }
        if let urgency = event.urgency ?? appearance.urgency {
            entries.appendEntry("urgency", "y") { $0.append(urgency.rawValue, as: "y") }
        }
        if event.route.breaksThrough { entries.appendEntry("break-through", "b") { $0.append(true) } }
        if event.hasButtons {
            entries.appendEntry("actions", "as") { $0.append(appearance.actions.flatMap { [$0.key, $0.label] }) }
        }
    }
}

/// The highest ids below a bound, up to a number of them.
struct NewestIDs {
    private let before: EventID
    private let limit: Int
    private var ids: [EventID] = []
    private var isSorted = false

    /// - Parameter before: 0 means no bound.
    init(before: EventID, limit: Int) {
        self.before = before == EventID(0) ? EventID(.max) : before
        self.limit = limit
    }

    mutating func insert(_ found: [EventID]) {
        ids += found.filter { $0 < before }
        isSorted = false
        guard ids.count > 4 * limit else { return }
        keepNewest()
    }

    /// The ids come back from the highest to the lowest.
    mutating func popNewest() -> EventID? {
        if !isSorted { keepNewest() }
        return ids.popLast()
    }

    private mutating func keepNewest() {
        ids.sort()
        ids.removeFirst(max(0, ids.count - limit))
        isSorted = true
    }
}
