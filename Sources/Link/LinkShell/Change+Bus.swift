import LinkMessages
import Linking
import NotifyBridge
import NotifyClient
import Routing

/// What notifyd says, as the line takes it.
extension Linking.Change {
    /// A row of `Changes`. What cannot be understood is a row that says nothing.
    ///
    /// - Parameter place: the name of this device, for people.
    init(_ row: JournalChange, place: String) {
        let details = row.details
        self.init(number: row.number, via: details["via"]?.string ?? "", kind: .other)
        if row.kind == "start" {
            let last: UInt64? = details["last"]?.integer()
            kind = last.map { .start(last: $0) } ?? .other
            return
        }
        guard let topic = try? Topic(row.topic), let source = details["source"]?.string,
            let id = details["event-id"]?.string
        else { return }
        let name = GlobalName(source: source, eventID: id)
        switch row.kind {
        case "event": kind = SaidEvent(name, topic, details).map { .event($0) } ?? .other
        case "outcome", "read":
            let outcome = details["outcome"]?.string ?? ""
            guard let form = row.kind == "read" ? .read : SaidClaim.Form(journalOutcome: outcome) else { return }
            // A claim that another bridge brought says itself where it was.
            let elsewhere = details["device"]?.string ?? ""
            kind = .claim(
                SaidClaim(
                    name: name, topic: topic, form: form, place: elsewhere.isEmpty ? place : elsewhere,
                    expires: details["expires"]?.integer()))
        case "removed":
            guard details["cause"]?.string == "publisher", let published: Int64 = details["published"]?.integer()
            else { return }
            kind = .removal(SaidRemoval(name: name, topic: topic, published: published))
        default: break
        }
    }
}

extension SaidClaim.Form {
    /// The claim that an outcome stands for; `nil` if none.
    fileprivate init?(journalOutcome outcome: String) {
        switch outcome {
        case "claimed", "retracted": self = .claimed
        case "dismissed": self = .dismissed
        case "withdrawn": self = .withdrawn
        default: return nil
        }
    }
}

extension SaidEvent {
    fileprivate init?(_ name: GlobalName, _ topic: Topic, _ details: [String: BusValue]) {
        guard let published: Int64 = details["published"]?.integer(), let expires: Int64 = details["expires"]?.integer()
        else { return nil }
        self.init(
            name: name, topic: topic, title: details["title"]?.string ?? "", body: details["body"]?.string ?? "",
            fields: Self.fields(details["fields"]),
            options: Self.fields(details["options"]).filter { PublishRequest.bannerOptions.contains($0.name) },
            published: published, expires: expires, isRetained: details["retained"]?.boolean ?? false,
            isSilent: details["silent"]?.string == "publisher", urgency: details["urgency"]?.integer(),
            outcome: details["outcome"]?.string ?? "")
    }

    private static func fields(_ value: BusValue?) -> [Field] {
        (value?.fields ?? [:]).compactMap { name, value in
            Routing.Value(value).map { Field(name: name, value: $0) }
        }
    }
}

extension ChangesPage {
    /// A page is short where it is the last one, or where it is as long as a message may be. To ask once more than
    /// needed costs little.
    init(_ page: ChangePage, limit: UInt32, place: String) {
        let bytes = page.rows.reduce(0) { $0 + $1.roughSize }
        self.init(
            changes: page.rows.map { Linking.Change($0, place: place) },
            isLast: page.rows.count < Int(limit) && bytes < 256 << 10)
    }
}

extension JournalChange {
    /// Of its texts in bytes, and of its fields.
    fileprivate var roughSize: Int {
        details.reduce(256) { size, entry in
            size + 64 + (entry.value.string?.utf8.count ?? 0) + (entry.value.entries?.count ?? 0) * 512
        }
    }
}

extension Announced {
    /// The signal `Event`; `nil` if its topic is none.
    init?(_ event: BusEvent, of device: Device) {
        guard let topic = try? Topic(event.topic) else { return nil }
        let name: GlobalName
        if let source = event.source, let id = event.eventID {
            name = GlobalName(source: source, eventID: id)
        } else {
            name = GlobalName(device: device, id: event.id.rawValue)
        }
        self.init(
            id: Routing.EventID(event.id.rawValue), name: name, topic: topic, via: event.via ?? "",
            hasWindow: !event.isClaimed && event.silence == nil && (event.window ?? .zero) > .zero)
    }
}
