import Foundation
import GRDB
import Journal
import Routing

/// A row of the journal. What was written is read; whatever else is there is damage, and never a crash.
public func fuzzRow(_ bytes: [UInt8]) {
    var choices = Choices(bytes)
    switch choices.below(4) {
    case 0: checkFields(choices.rest())
    case 1: _ = try? RowReader(Row(choices.columns())).event()
    case 2:
        _ = try? RowReader(Row(choices.columns(of: ["number", "server", "first", "summary", "checksum"]))).banner()
    default:
        _ = try? RowReader(Row(choices.columns(of: ["claimant", "latency", "form", "verdict", "checksum"]))).claim(
            of: EventID(1))
    }
}

/// What can be read of fields can be written, on the disk and on the bus.
private func checkFields(_ bytes: [UInt8]) {
    guard let fields = try? FieldCoding.decode(bytes) else { return }
    let written = FieldCoding.encode(fields)
    guard let again = try? FieldCoding.decode(written) else { preconditionFailure("what was written can be read") }
    precondition(FieldCoding.encode(again) == written, "what was written is read")
    checkOnBus(fields)
}

extension Choices {
    private static let eventColumns = [
        "id", "topic", "title", "body", "fields", "published", "sender", "source", "source_id", "urgency", "retained",
        "route", "coalescing", "window", "accepted", "expires", "expires_uptime", "boot", "checksum", "outcome",
        "decision_checksum", "resolved", "opened", "deadline", "claimant", "latency", "form", "banner", "server",
        "count",
        "replayed", "lateness", "cause", "shown_with", "action", "program", "collapse", "appearance", "via",
    ]

    /// A row as a damaged file could hold it: any type in any column. Half of the rows have the right checksum.
    fileprivate mutating func columns(of names: [String] = eventColumns) -> [String: (any DatabaseValueConvertible)?] {
        var columns: [String: (any DatabaseValueConvertible)?] = [:]
        for name in names { columns[name] = .some(column(name)) }
        guard names.contains("topic"), flag() else { return columns }
        return columns.merging(intact()) { $1 }
    }

    private mutating func column(_ name: String) -> (any DatabaseValueConvertible)? {
        switch below(6) {
        case 0: nil
        case 1: number(Int64.self)
        case 2: Int64(byte())
        case 3: Double(bitPattern: number())
        case 4: text()
        default: DatabaseValue(value: bytes())
        }
    }

    /// The columns of an event that was written in full, so that what comes behind the checksum is reached.
    private mutating func intact() -> [String: (any DatabaseValueConvertible)?] {
        guard let topic = try? Topic(text()) else { return [:] }
        let fields = bytes()
        let appearance = flag() ? bytes() : nil
        guard let decoded = try? FieldCoding.decode(fields),
            let decodedAppearance = try? FieldCoding.decode(appearance ?? [])
        else { return [:] }
        let event = StoredEvent(
            id: EventID(number()), topic: topic, title: text(), body: text(), fields: decoded, published: number(),
            sender: text(), origin: Origin(source: text(), eventID: text(), via: flag() ? text() : nil), urgency: nil,
            collapse: flag() ? text() : nil, retained: flag(), appearance: decodedAppearance, route: text(),
            key: text(),
            window: number(), accepted: number(),
            expires: Expiry(wall: number(), uptime: number(), boot: text()))
        return [
            "id": Int64(bitPattern: event.id.rawValue), "topic": topic.description, "title": event.title,
            "body": event.body, "fields": DatabaseValue(value: fields), "published": event.published,
            "sender": event.sender, "source": event.origin.source, "source_id": event.origin.eventID,
            "via": event.origin.via, "urgency": nil as Int64?, "retained": Int64(event.retained ? 1 : 0),
            "route": event.route,
            "collapse": event.collapse, "coalescing": event.key, "window": event.window, "accepted": event.accepted,
            "expires": event.expires.wall,
            "expires_uptime": event.expires.uptime, "boot": event.expires.boot,
            "appearance": appearance.map(DatabaseValue.init(value:)),
            "checksum": event.checksum(fields: fields, appearance: appearance), "outcome": Int64(below(18)),
        ]
    }
}

extension DatabaseValue {
    fileprivate init(value bytes: [UInt8]) {
        self = Data(bytes).databaseValue
    }
}
