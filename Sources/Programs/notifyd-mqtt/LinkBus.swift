import Linking
import Mapping
import NotifyBridge
import NotifyClient
import NotifyText

/// What notifyd sends, as `Link` wants it.
extension ChangesPage {
    /// A page is short where it is the last one, or where it is as long as a message may be. To ask once more than
    /// needed costs little.
    ///
    /// - Parameter place: the name of this device, for people.
    init(_ page: ChangePage, limit: UInt32, place: String) {
        let bytes = page.rows.reduce(0) { $0 + $1.roughSize }
        self.init(
            changes: page.rows.map {
                Change(number: $0.number, kind: $0.kind, topic: $0.topic, details: $0.details, place: place)
            },
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

extension AnnouncedEvent {
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

extension CallResult {
    init(_ answer: DaemonAnswer) {
        switch answer {
        case .done: self = .done
        case .refusedForNow: self = .refusedForNow
        case .refused(let error): self = .refused("\(error)")
        }
    }
}

/// The calls for what came by a line.
extension DaemonCall {
    /// - Parameters:
    ///   - ttl: seconds that are left of the event's lifetime.
    ///   - window: in milliseconds.
    ///   - isChannel: whether people whom the user need not know may have sent it.
    static func publish(
        _ event: SharedEvent, ttl: UInt32, window: UInt32?, via: String, isChannel: Bool
    ) -> DaemonCall {
        var options = options(event.name, event.published, via)
        for (name, value) in event.options where SharedEvent.bannerOptions.contains(name) {
            // Nobody else names a file of this machine.
            if isChannel, name == "icon", value.plainText?.utf8.contains(UInt8(ascii: "/")) ?? true { continue }
            options[name] = value
        }
        options["ttl"] = .uint32(ttl)
        if let urgency = event.urgency { options["urgency"] = .byte(min(urgency, 2)) }
        if event.isSilent { options["banner"] = .boolean(false) }
        if let window { options["window"] = .uint32(min(window, 60_000)) }
        if event.isRetained {
            options["retain"] = .boolean(true)
            options["if-newer"] = .boolean(true)
        }
        return .publish(
            event.topic.description, title: event.title, body: event.body, fields: event.fields, options: options)
    }

    static func remove(_ removal: SharedRemoval, via: String) -> DaemonCall {
        var options = options(removal.name, removal.published, via)
        options["remove"] = .boolean(true)
        options["if-newer"] = .boolean(true)
        return .publish(removal.topic.description, options: options)
    }

    private static func options(_ name: GlobalName, _ published: Int64, _ via: String) -> [String: Value] {
        [
            "source": .string(name.source), "event-id": .string(name.eventID), "via": .string(via),
            "published": .int64(published),
        ]
    }

    static func claim(_ claim: SharedClaim, via: String) -> DaemonCall {
        var options: [String: Value] = ["via": .string(via)]
        if !claim.place.isEmpty { options["device"] = .string(claim.place.beginning(ofBytes: 64)) }
        if claim.form != .claimed { options[claim.form.rawValue] = .boolean(true) }
        if let expires = claim.expires { options["expires"] = .int64(expires) }
        return .claimNamed(source: claim.name.source, eventID: claim.name.eventID, options: options)
    }
}
