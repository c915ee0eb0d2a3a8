import Linking
import NotifyBridge
import NotifyClient
import NotifyText

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
    fileprivate init?(_ name: GlobalName, _ topic: Topic, _ details: [String: Value]) {
        guard let published: Int64 = details["published"]?.integer(), let expires: Int64 = details["expires"]?.integer()
        else { return nil }
        var options = details["options"]?.fields ?? [:]
        for (name, _) in options where !PublishRequest.bannerOptions.contains(name) { options[name] = nil }
        self.init(
            name: name, topic: topic, title: details["title"]?.string ?? "", body: details["body"]?.string ?? "",
            fields: details["fields"]?.fields ?? [:],
            options: options, published: published, expires: expires, isRetained: details["retained"]?.boolean ?? false,
            isSilent: details["silent"]?.string == "publisher", urgency: details["urgency"]?.integer(),
            outcome: details["outcome"]?.string ?? "")
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
    init?(_ event: Event, of device: Device) {
        guard let topic = try? Topic(event.topic) else { return nil }
        let name: GlobalName
        if let source = event.source, let id = event.eventID {
            name = GlobalName(source: source, eventID: id)
        } else {
            name = GlobalName(device: device, id: event.id.rawValue)
        }
        self.init(
            id: event.id, name: name, topic: topic, via: event.via ?? "",
            hasWindow: !event.isClaimed && event.silence == nil && (event.window ?? .zero) > .zero)
    }
}

/// What the line asks of notifyd.
extension PublishRequest {
    /// The options of `Publish` that only say how a banner looks. All others are what this device says itself. Another
    /// device may know more of them: what is not known here is left out. An image is a file of another machine.
    static let bannerOptions: Set<String> = [
        "actions", "app", "category", "collapse", "desktop-entry", "icon", "progress", "resident", "sound", "timeout",
        "transient",
    ]

    /// - Parameter isChannel: whether people whom the user need not know may have said it.
    func call(isChannel: Bool) -> DaemonCall {
        var options: [String: Value] = [:]
        for (name, value) in self.options where Self.bannerOptions.contains(name) {
            // Nobody else names a file of this machine.
            if isChannel, name == "icon", value.plainText?.utf8.contains(UInt8(ascii: "/")) ?? true { continue }
            options[name] = value
        }
        options["source"] = .string(name.source)
        options["event-id"] = .string(name.eventID)
        options["via"] = .string(via)
        options["published"] = .int64(published)
        if let urgency { options["urgency"] = .byte(min(urgency, 2)) }
        if isRemoval {
            options["remove"] = .boolean(true)
        } else {
            options["ttl"] = .uint32(ttl)
            if !hasBanner { options["banner"] = .boolean(false) }
            if isRetained { options["retain"] = .boolean(true) }
            if let window { options["window"] = .uint32(min(window, 60_000)) }
        }
        if isRetained || isRemoval { options["if-newer"] = .boolean(true) }
        return .publish(topic.description, title: title, body: body, fields: fields, options: options)
    }
}

extension ClaimRequest {
    var call: DaemonCall {
        var options: [String: Value] = ["via": .string(via)]
        if !place.isEmpty { options["device"] = .string(place.limited(toBytes: 64)) }
        switch form {
        case .claimed: break
        case .dismissed: options["dismissed"] = .boolean(true)
        case .withdrawn: options["withdrawn"] = .boolean(true)
        case .read: options["read"] = .boolean(true)
        }
        if let expires { options["expires"] = .int64(expires) }
        return .claimNamed(source: name.source, eventID: name.eventID, options: options)
    }
}

extension CallResult {
    init(_ answer: DaemonAnswer) {
        switch answer {
        case .done: self = .done
        case .refusedForNow: self = .refusedForNow
        case .refused(let error): self = .refused("\(error)")
        }
    }
}

extension String {
    /// The longest beginning that has at most so many bytes.
    func limited(toBytes count: Int) -> String {
        guard utf8.count > count else { return self }
        var end = startIndex
        while end < endIndex {
            let next = index(after: end)
            guard utf8.distance(from: startIndex, to: next) <= count else { break }
            end = next
        }
        return String(self[..<end])
    }
}
