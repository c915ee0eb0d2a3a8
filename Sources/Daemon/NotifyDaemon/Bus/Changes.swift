import Journal
import NotifyText
import Routing
import Systemd

/// `Changes` and `AwaitChanges`: everything in the order in which it was committed.
final class ChangeList: Reading {
    /// The limit for a reply, in bytes of its events in memory.
    private static let limit = 4 << 20
    /// Changes read at a time, and their bytes.
    private static let (portion, portionBytes) = (64, 64 << 10)

    private(set) var bytes = 0
    private var left: Int
    private var position: Journal.ChangePosition?
    /// The changes that come next, if they have been read already.
    private var first: (changes: [StoredChange], position: Journal.ChangePosition?)?

    init(after: UInt64, limit: Int) {
        left = min(limit, Journal.pageLimit)
        position = Journal.ChangePosition(after: after)
    }

    /// Reads the first changes, for `AwaitChanges`, which answers with one at least.
    ///
    /// - Returns: `nil` if there are none yet.
    static func beginning(after: UInt64, limit: Int, in storage: Storage) throws(Refusal) -> ChangeList? {
        let list = ChangeList(after: after, limit: max(1, limit))
        guard let position = list.position else { return nil }
        let first = try storage.read { journal in
            journal.newestChange > after
                ? try journal.changes(after: position, limit: min(list.left, portion), bytes: portionBytes) : nil
        }
        guard let first, !first.changes.isEmpty else { return nil }
        list.first = first
        return list
    }

    func begin(_ reply: borrowing BusMessage, in daemon: Daemon) throws(Refusal) {
        daemon.endTurn()
        let oldest = try daemon.storage.read { $0.oldestChange }
        reply.append(oldest, as: "t")
        reply.openContainer("a", "(tssta{sv})")
    }

    func write(_ reply: borrowing BusMessage, until end: Instant, in daemon: Daemon) throws(Refusal) -> Bool {
        while left > 0, bytes < Self.limit, let start = position {
            let portion =
                if let first = first.take() {
                    first
                } else {
                    try daemon.storage.read {
                        try $0.changes(after: start, limit: min(left, Self.portion), bytes: Self.portionBytes)
                    }
                }
            for change in portion.changes {
                ChangeRecord(change: change, device: daemon.router.device).append(to: reply)
                bytes += change.memoryCost
            }
            left -= portion.changes.count
            position = portion.position
            if daemon.host.now.instant >= end { return false }
        }
        reply.closeContainer()
        return true
    }
}

/// A row of `Changes`: number, kind, topic, id, details. Details hold only the keys that apply.
private struct ChangeRecord {
    let change: StoredChange
    let device: String

    func append(to list: borrowing BusMessage) {
        list.appendContainer("r", "tssta{sv}") { row in
            row.append(change.number, as: "t")
            let (kind, topic) = self.kind
            row.append(kind)
            row.append(topic?.description ?? "")
            row.append(change.id.rawValue, as: "t")
            row.appendContainer("a", "{sv}") { appendDetails(to: $0) }
        }
    }

    private var kind: (String, Topic?) {
        switch change.content {
        case .event(let event): ("event", event.topic)
        case .outcome(let event): ("outcome", event.topic)
        case .read(let event, _, _, _): ("read", event.topic)
        case .removed(let removal): ("removed", removal.topic)
        case .hole: ("hole", nil)
        case .start: ("start", nil)
        }
    }

    private func appendDetails(to details: borrowing BusMessage) {
        switch change.content {
        case .event(let event): append(event, to: details)
        case .outcome(let event): appendOutcome(of: event, to: details)
        case .read(let event, let claimant, let moment, let place):
            appendName(event.origin, to: details)
            append(place, to: details)
            details.appendEntry("by", claimant)
            details.appendEntry("at", moment, as: "x")
            details.appendEntry("expires", event.expires.wall, as: "x")
        case .removed(let removal):
            appendName(removal.origin, to: details)
            details.appendEntry("via", removal.origin.via)
            details.appendEntry("published", removal.published ?? removal.removed, as: "x")
            details.appendEntry("cause", removal.cause.rawValue)
        case .hole: break
        case .start(let last): details.appendEntry("last", last, as: "t")
        }
    }

    /// The global name. An event that was published without one is named by this device and its id.
    private func appendName(_ origin: Origin, to details: borrowing BusMessage) {
        let name = origin.name(of: change.id, on: device)
        details.appendEntry("source", name.source)
        details.appendEntry("event-id", name.eventID)
    }

    private func append(_ place: ClaimPlace, to details: borrowing BusMessage) {
        details.appendEntry("device", place.device)
        details.appendEntry("via", place.via)
    }

    private func append(_ event: StoredEvent, to details: borrowing BusMessage) {
        appendName(event.origin, to: details)
        details.appendEntry("via", event.origin.via)
        details.appendEntry("title", event.title)
        details.appendEntry("body", event.body)
        if !event.fields.isEmpty { details.appendEntry("fields", "a{sv}") { $0.append(event.fields) } }
        details.appendEntry("published", event.published, as: "x")
        details.appendEntry("accepted", event.accepted, as: "x")
        details.appendEntry("expires", event.expires.wall, as: "x")
        details.appendEntry("urgency", event.urgency?.rawValue, as: "y")
        details.appendEntry("retained", event.retained)
        let isSilent = event.decision?.outcome == .silent
        let silence = isSilent ? event.decision?.cause.flatMap { Silence(rawValue: $0)?.decider } : nil
        details.appendEntry("silent", silence)
        details.appendEntry("window", Duration.microseconds(event.window).millisecondsRoundedUp, as: "u")
        details.appendEntry("sender", event.sender)
        details.appendEntry("outcome", event.decision?.outcome.rawValue ?? "")
        // Elsewhere the picture is not a file, and the publisher shows no banner.
        var options = event.appearance.filter { $0.name != "image" && $0.name != Appearance.ownBanner }
        if let collapse = event.collapse { options.append(Field(name: "collapse", value: .string(collapse))) }
        if let urgency = event.urgency { options.append(Field(name: "urgency", value: .byte(urgency.rawValue))) }
        if event.retained { options.append(Field(name: "retain", value: .boolean(true))) }
        if silence == Silence.publisher.rawValue { options.append(Field(name: "banner", value: .boolean(false))) }
        if !options.isEmpty { details.appendEntry("options", "a{sv}") { $0.append(options) } }
    }

    private func appendOutcome(of event: StoredEvent, to details: borrowing BusMessage) {
        appendName(event.origin, to: details)
        guard let decision = event.decision else { return }
        append(decision.place, to: details)
        details.appendEntry("outcome", decision.outcome.rawValue)
        details.appendEntry("by", decision.claimant)
        details.appendEntry("form", decision.form?.rawValue)
        details.appendEntry("at", decision.resolved, as: "x")
        details.appendEntry("expires", event.expires.wall, as: "x")
        details.appendEntry("action", decision.action)
    }
}
