public import NotifyText

/// The `options` of `Publish`. Every key is optional; an unknown key is refused by name.
public struct PublishOptions: Sendable, Equatable {
    /// Where the event comes from; both parts together identify duplicates.
    public var origin = Origin()
    /// Whether the event is the current value of its topic; `nil`: as the route says.
    public var retain: Bool?
    /// Removes the current value of the topic instead of publishing an event.
    public var remove = false
    /// Whether a value or a removal is without effect if the topic has a newer one; see `ValueVersion`.
    public var ifNewer = false
    /// The lifetime; `nil`: the route's. Zero: it is expired at once.
    public var lifetime: Duration?
    /// The urgency of the banner; `nil`: the route's.
    public var urgency: Urgency?
    /// False: no banner. True changes nothing, also for a route without banners.
    public var banner: Bool?
    /// The window; `nil`: the route's.
    public var window: Duration?
    /// The event takes the place of the earlier one with the same text at the same topic.
    public var collapse: String?
    /// When the event happened, microseconds since the epoch.
    public var published: Int64?
    /// The options that describe the banner; see `Appearance`. They are valid.
    public private(set) var appearance: [Field] = []

    public init() {}

    /// Reads the dictionary of a `Publish` call. Numbers may have any D-Bus integer type, since many tools write every
    /// number as `i`.
    public init(_ entries: [Field]) throws(Refusal) {
        var source: String?
        var eventID: String?
        var via: String?
        for entry in entries {
            switch entry.name {
            case "source": source = try entry.text(upTo: 256)
            case "event-id": eventID = try entry.text(upTo: 256)
            case "via": via = try entry.text(upTo: 64)
            case "retain": retain = try entry.boolean()
            case "remove": remove = try entry.boolean()
            case "if-newer": ifNewer = try entry.boolean()
            case "ttl":
                lifetime = .seconds(try entry.integer(in: 0...Limits.maximumLifetime.components.seconds, "seconds"))
            case "urgency":
                let level = try entry.integer(in: 0...2, "(0 low, 1 normal, 2 critical)")
                urgency = Urgency(rawValue: UInt8(level))
            case "collapse": collapse = try entry.text(upTo: 256)
            case "banner": banner = try entry.boolean()
            case "window":
                window = .milliseconds(
                    try entry.integer(in: 0...Limits.maximumWindow.components.seconds * 1000, "milliseconds"))
            case "published": published = try entry.integer(in: 0...Int64.max, "microseconds since the epoch")
            case let name where Appearance.optionNames.contains(name): appearance.append(entry)
            default:
                let names = Self.names + Appearance.optionNames
                throw .invalidEvent(
                    "there is no option '\(entry.name.quotable)'; the options are "
                        + names.sorted().joined(separator: ", "))
            }
        }
        if ifNewer, !remove, retain != true {
            throw .invalidEvent(
                "option 'if-newer' compares values: it needs the option 'retain' or 'remove' with the value true")
        }
        if !appearance.isEmpty { _ = try Appearance(appearance) }
        origin = Origin(source: source, eventID: eventID, via: via)
    }

    private static let names = [
        "banner", "collapse", "event-id", "if-newer", "published", "remove", "retain", "source", "ttl", "urgency",
        "via", "window",
    ]
}

/// Values of options. An error names the option, and says what would be right.
extension Field {
    func text(upTo limit: Int) throws(Refusal) -> String {
        guard case .string(let text) = value else { throw wrongType("a string (s)") }
        guard !text.isEmpty, text.utf8.count <= limit else {
            throw .invalidEvent("option '\(name)' has \(text.utf8.count) bytes, 1 to \(limit) are allowed")
        }
        return text
    }

    func boolean() throws(Refusal) -> Bool {
        guard case .boolean(let flag) = value else { throw wrongType("a boolean (b)") }
        return flag
    }

    /// - Parameter unit: what the number counts, for the error.
    func integer(in range: ClosedRange<Int64>, _ unit: String) throws(Refusal) -> Int64 {
        if let number = value.integer, range.contains(number) { return number }
        // The largest numbers of this type are not Int64.
        let isLarge = if case .uint64 = value { true } else { false }
        guard value.integer != nil || isLarge, let found = value.text else {
            throw wrongType("a whole number \(unit.hasPrefix("(") ? "" : "of ")\(unit)")
        }
        throw .invalidEvent(
            "option '\(name)' must be between \(range.lowerBound) and \(range.upperBound) \(unit); it is \(found)")
    }

    func wrongType(_ wanted: String) -> Refusal {
        .invalidEvent("option '\(name)' must be \(wanted); it has type \(value.signature)")
    }
}
