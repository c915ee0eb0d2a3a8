public import NotifyText

/// A row of `Changes`: something that was committed to the journal. org.notifyd.Router1(5).
public struct Change: Equatable, Sendable {
    /// Grows strictly.
    public internal(set) var number: UInt64
    /// The line by which it came in; empty where it began on this device.
    var via = ""
    /// What other devices may receive of it: an event, a claim or a removal. `nil` for everything that stays on this
    /// device, and for what cannot be understood.
    var content: StreamEntry.Content?
    /// For the row `start`: the highest number that this journal had given out before notifyd started. A journal that
    /// was restored from a backup has a gap here: higher numbers that this module has seen are lost.
    var lastBeforeStart: UInt64?
}

/// An answer of `Changes`.
public struct ChangesPage: Equatable, Sendable {
    /// In ascending order.
    public let changes: [Change]
    /// Whether these are the last rows.
    public let isLast: Bool

    public init(changes: [Change], isLast: Bool) {
        self.changes = changes
        self.isLast = isLast
    }
}

/// The signal `Event`.
public struct AnnouncedEvent: Equatable, Sendable {
    var id: EventID
    var name: GlobalName
    var topic: Topic
    /// The line by which it came in; empty where it began on this device.
    var via = ""
    /// Whether claims are awaited: there will be a banner.
    var hasWindow: Bool

    public init(id: EventID, name: GlobalName, topic: Topic, via: String = "", hasWindow: Bool) {
        self.id = id
        self.name = name
        self.topic = topic
        self.via = via
        self.hasWindow = hasWindow
    }
}

extension Change {
    /// Reads a row. One that cannot be understood has no content.
    ///
    /// - Parameters:
    ///   - kind: of the row: `event`, `outcome`, `read`, `removed` or `start`.
    ///   - place: the name of this device, for people.
    public init(number: UInt64, kind: String, topic: String, details: [String: Value], place: String) {
        self.init(number: number, via: details["via"]?.string ?? "")
        if kind == "start" {
            lastBeforeStart = details["last"]?.integer()
            return
        }
        guard let topic = try? Topic(topic), let source = details["source"]?.string,
            let id = details["event-id"]?.string
        else { return }
        let name = GlobalName(source: source, eventID: id)
        switch kind {
        case "event": content = SharedEvent(name, topic, details).map { .event($0) }
        case "outcome", "read":
            let form = kind == "read" ? .read : SharedClaim.Form(outcome: details["outcome"]?.string ?? "")
            guard let form else { return }
            // A claim that another bridge brought has the place where it was made.
            let elsewhere = details["device"]?.string ?? ""
            content = .claim(
                SharedClaim(
                    name: name, topic: topic, form: form, place: elsewhere.isEmpty ? place : elsewhere,
                    expires: details["expires"]?.integer()))
        case "removed":
            guard details["cause"]?.string == "publisher", let published: Int64 = details["published"]?.integer()
            else { return }
            content = .removal(SharedRemoval(name: name, topic: topic, published: published))
        default: break
        }
    }
}

extension SharedClaim.Form {
    /// The claim that an event with this outcome has had; `nil` if none.
    init?(outcome: String) {
        switch outcome {
        case "claimed", "retracted": self = .claimed
        case "dismissed": self = .dismissed
        case "withdrawn": self = .withdrawn
        default: return nil
        }
    }
}

extension SharedEvent {
    /// The options of `Publish` that only change how a banner looks. A device sets all others itself. Another device
    /// may know more of them: what is not known here is left out. An image is a file of another machine.
    public static let bannerOptions: Set<String> = [
        "actions", "app", "category", "collapse", "desktop-entry", "icon", "progress", "resident", "sound", "timeout",
        "transient",
    ]

    fileprivate init?(_ name: GlobalName, _ topic: Topic, _ details: [String: Value]) {
        guard let published: Int64 = details["published"]?.integer(), let expires: Int64 = details["expires"]?.integer()
        else { return nil }
        var options = details["options"]?.fields ?? [:]
        for (name, _) in options where !Self.bannerOptions.contains(name) { options[name] = nil }
        self.init(
            name: name, topic: topic, title: details["title"]?.string ?? "", body: details["body"]?.string ?? "",
            fields: details["fields"]?.fields ?? [:],
            options: options, published: published, expires: expires, isRetained: details["retained"]?.boolean ?? false,
            isSilent: details["silent"]?.string == "publisher", urgency: details["urgency"]?.integer(),
            outcome: details["outcome"]?.string ?? "")
    }
}
