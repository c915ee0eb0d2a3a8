import LinkMessages
import Linking
import NotifyBridge
import NotifyClient
import Routing

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
        var options: [String: BusValue] = [:]
        for option in self.options where Self.bannerOptions.contains(option.name) {
            // Nobody else names a file of this machine.
            if isChannel, option.name == "icon", option.value.text?.utf8.contains(UInt8(ascii: "/")) ?? true {
                continue
            }
            options[option.name] = BusValue(option.value)
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
        var fields = BusFields()
        for field in self.fields { fields[field.name] = BusValue(field.value) }
        return .publish(topic.description, title: title, body: body, fields: fields, options: options)
    }
}

extension ClaimRequest {
    var call: DaemonCall {
        var options: [String: BusValue] = ["via": .string(via)]
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
