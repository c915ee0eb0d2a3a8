import Journal
import Routing
import Systemd

/// What a long reply has. It is written in chunks, and other callers are served between two of them.
protocol Reading: AnyObject {
    /// About how long the reply is so far.
    var bytes: Int { get }
    /// Takes the snapshot that the reply describes.
    func begin(_ reply: borrowing BusMessage, in daemon: Daemon) throws(Refusal)
    /// Appends to the reply until `end`, and returns whether it is complete.
    func write(_ reply: borrowing BusMessage, until end: Instant, in daemon: Daemon) throws(Refusal) -> Bool
}

/// The array of events in several replies.
let eventType = "(tsssxsa{sv})"

/// `ListScreens`
final class ScreenList: Reading {
    private(set) var bytes = 0
    private var screens: ArraySlice<Screen> = []

    func begin(_ reply: borrowing BusMessage, in daemon: Daemon) {
        screens = daemon.router.openScreens[...]
        bytes = screens.count * 320
        reply.openContainer("a", "(tssss)")
    }

    func write(_ reply: borrowing BusMessage, until end: Instant, in daemon: Daemon) -> Bool {
        while let screen = screens.popFirst() {
            reply.appendContainer("r", "tssss") { entry in
                entry.append(screen.id.rawValue, as: "t")
                entry.append(screen.topic.description)
                entry.append(screen.mode.rawValue)
                entry.append(screen.state.rawValue)
                entry.append(screen.owner)
            }
            if screens.count % 32 == 0, daemon.host.now.instant >= end { return false }
        }
        reply.closeContainer()
        return true
    }
}

/// `Snapshot`
final class Snapshot: Reading {
    /// Bytes of events read at a time; one event may be larger.
    private static let portion = 64 << 10

    private(set) var bytes = 0
    private let topic: TopicPrefix
    private var values: ArraySlice<Journal.ValueEntry> = []

    init(of topic: TopicPrefix) { self.topic = topic }

    func begin(_ reply: borrowing BusMessage, in daemon: Daemon) throws(Refusal) {
        daemon.endTurn()
        // The list of values is taken together with the cursor. An event stays in the journal when its topic gets
        // another value, so the reply shows the state at the cursor, and later changes are announced with higher ids.
        reply.append(daemon.router.lastID.rawValue, as: "t")
        values = try daemon.storage.read { try $0.valueList(topic)[...] }
        reply.openContainer("a", eventType)
    }

    func write(_ reply: borrowing BusMessage, until end: Instant, in daemon: Daemon) throws(Refusal) -> Bool {
        while !values.isEmpty {
            let page = try daemon.storage.read { try $0.values(values, bytes: Self.portion) }
            values = values.dropFirst(page.count)
            for event in page.events { reply.append(daemon.storage.current(event)) }
            bytes += page.events.reduce(0) { $0 + $1.memoryCost }
            guard bytes <= Journal.answerLimit else {
                throw .limitExceeded(
                    "a snapshot: the values at or below \(topic) have more than \(Journal.answerLimit >> 20) MiB "
                        + "together; ask for a narrower topic")
            }
            if daemon.host.now.instant >= end, !values.isEmpty { return false }
        }
        reply.closeContainer()
        return true
    }
}

/// `Unread`
final class UnreadCount: Reading {
    let bytes = 0
    private let topic: TopicPrefix
    private var count = 0
    private var position: Journal.UnreadPosition

    init(of topic: TopicPrefix) {
        self.topic = topic
        position = Journal.UnreadPosition(before: topic)
    }

    func begin(_ reply: borrowing BusMessage, in daemon: Daemon) { daemon.endTurn() }

    func write(_ reply: borrowing BusMessage, until end: Instant, in daemon: Daemon) throws(Refusal) -> Bool {
        repeat {
            let portion = try daemon.storage.read {
                try $0.unread(topic, after: position, limit: Journal.unreadPortion)
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

/// `Inbox`: unread events at or below a topic, newest first. First all their ids are read, then the events of the page.
final class Inbox: Reading {
    private static let idsAtOnce = 500

    private(set) var bytes = 0
    private let topic: TopicPrefix
    private var newest: NewestIDs
    private var position: Journal.UnreadPosition?

    init(of topic: TopicPrefix, before: EventID, limit: Int) {
        self.topic = topic
        newest = NewestIDs(before: before, limit: min(limit, Journal.pageLimit))
        position = Journal.UnreadPosition(before: topic)
    }

    func begin(_ reply: borrowing BusMessage, in daemon: Daemon) {
        daemon.endTurn()
        reply.openContainer("a", eventType)
    }

    func write(_ reply: borrowing BusMessage, until end: Instant, in daemon: Daemon) throws(Refusal) -> Bool {
        while let start = position {
            let found = try daemon.storage.read { try $0.unreadIDs(topic, after: start, limit: Self.idsAtOnce) }
            newest.insert(found.ids)
            position = found.position
            guard daemon.host.now.instant < end else { return false }
        }
        while bytes < Journal.pageBytes, let id = newest.popNewest() {
            try append(id, to: reply, in: daemon)
            guard daemon.host.now.instant < end else { return false }
        }
        reply.closeContainer()
        return true
    }

    /// Appends an event, unless somebody has read it in the meantime.
    private func append(_ id: EventID, to list: borrowing BusMessage, in daemon: Daemon) throws(Refusal) {
        let stored = try daemon.storage.read { try $0.event(id) }
        guard let stored = stored.map(daemon.storage.current), stored.isUnread else { return }
        let event = daemon.event(stored)
        let text = BannerText(ofAlone: event)
        list.append(stored, title: text.title, body: text.body) { row in
            row.appendContainer("a", "{sv}") { entries in
                Self.append(event, to: entries)
                entries.appendEntry("snoozed", daemon.snoozeEnd(of: id), as: "x")
            }
        }
        bytes += event.memoryCost
    }

    private static func append(_ event: Event, to entries: borrowing BusMessage) {
        let appearance = event.appearance.cleaned
        entries.appendEntry("app", appearance.app)
        if !appearance.icon.isEmpty { entries.appendEntry("icon", appearance.icon) }
        entries.appendEntry("urgency", (event.urgency ?? appearance.urgency)?.rawValue, as: "y")
        entries.appendEntry("break-through", event.route.breaksThrough)
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

extension BusMessage {
    /// An event as `(tsssxsa{sv})`.
    func append(_ event: StoredEvent) {
        append(event, title: event.title, body: event.body) { $0.append(event.fields) }
    }

    /// - Parameter dictionary: appends the last element.
    fileprivate func append(
        _ event: StoredEvent, title: String, body: String, _ dictionary: (borrowing BusMessage) -> Void
    ) {
        appendContainer("r", "tsssxsa{sv}") { row in
            row.append(event.id.rawValue, as: "t")
            row.append(event.topic.description)
            row.append(title)
            row.append(body)
            row.append(event.published, as: "x")
            row.append(event.decision?.outcome.rawValue ?? "")
            dictionary(row)
        }
    }
}
