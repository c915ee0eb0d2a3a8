/// The `options` of `Publish`. Every key is optional; an unknown key is refused by name.
public struct PublishOptions: Sendable, Equatable {
    /// Where the event comes from; both parts together identify duplicates.
    public var origin = Origin()
    /// Whether the event is the current value of its topic; `nil`: as the route says.
    public var retain: Bool?
    /// Removes the current value of the topic instead of publishing an event.
    public var remove = false
    /// The lifetime; `nil`: the route's.
    public var lifetime: Duration?
    /// The urgency of the banner; `nil`: the route's.
    public var urgency: Urgency?
    /// False: no banner. True changes nothing, also for a route without banners.
    public var banner: Bool?
    /// The window; `nil`: the route's.
    public var window: Duration?
    /// When the event happened, microseconds since the epoch.
    public var published: Int64?

    public init() {}

    /// Reads the dictionary of a `Publish` call. Numbers may have any D-Bus integer type, since many tools write every number
    /// as `i`.
    public init(_ entries: [Field]) throws(Refusal) {
        var source: String?
        var eventID: String?
        for entry in entries {
            switch entry.name {
            case "source": source = try Self.string(entry)
            case "event-id": eventID = try Self.string(entry)
            case "retain": retain = try Self.boolean(entry)
            case "remove": remove = try Self.boolean(entry)
            case "ttl":
                lifetime = .seconds(
                    try Self.integer(entry, in: 1...Limits.maximumLifetime.components.seconds, "seconds"))
            case "urgency":
                let level = try Self.integer(entry, in: 0...2, "(0 low, 1 normal, 2 critical)")
                urgency = Urgency(rawValue: UInt8(level))
            case "banner": banner = try Self.boolean(entry)
            case "window":
                window = .milliseconds(
                    try Self.integer(entry, in: 0...Limits.maximumWindow.components.seconds * 1000, "milliseconds"))
            case "published": published = try Self.integer(entry, in: 0...Int64.max, "microseconds since the epoch")
            default:
                throw .invalidEvent(
                    "there is no option '\(entry.name.quotable)'; the options are banner, event-id, published, remove, retain, source, ttl, "
                        + "urgency and window")
            }
        }
        origin = Origin(source: source, eventID: eventID)
    }

    private static func string(_ entry: Field) throws(Refusal) -> String {
        guard case .string(let text) = entry.value else { throw wrongType(entry, "a string (s)") }
        guard !text.isEmpty, text.utf8.count <= 256 else {
            throw .invalidEvent("option '\(entry.name)' has \(text.utf8.count) bytes, 1 to 256 are allowed")
        }
        return text
    }

    private static func boolean(_ entry: Field) throws(Refusal) -> Bool {
        guard case .boolean(let flag) = entry.value else { throw wrongType(entry, "a boolean (b)") }
        return flag
    }

    private static func integer(
        _ entry: Field, in range: ClosedRange<Int64>, _ unit: String
    ) throws(Refusal) -> Int64 {
        guard let number = entry.value.integer else { throw wrongType(entry, "a whole number, \(unit)") }
        guard range.contains(number) else {
            throw .invalidEvent(
                "option '\(entry.name)' is \(number); it is \(range.lowerBound) to \(range.upperBound) \(unit)")
        }
        return number
    }

    private static func wrongType(_ entry: Field, _ wanted: String) -> Refusal {
        .invalidEvent("option '\(entry.name)' has type \(entry.value.signature); it is \(wanted)")
    }
}
