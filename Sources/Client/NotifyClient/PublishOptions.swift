/// Settings of one event. The route decides where an option is `nil`.
public struct PublishOptions: Hashable, Sendable {
    /// The urgency of the banner: the levels of the Desktop Notifications Specification.
    public enum Urgency: UInt8, Hashable, Sendable {
        /// `critical` breaks through “do not disturb”.
        case low, normal, critical
    }

    /// The publisher's name for the source of the event. Together with ``eventID`` it is an idempotency key: as long as
    /// the event is in the journal, a duplicate gets its id, and nothing is published again.
    public var source: String?
    /// The publisher's own id of the event within ``source``.
    public var eventID: String?
    /// Keep the event as the current value of its topic.
    public var retain: Bool?
    /// Remove the current value of the topic.
    public var remove: Bool?
    /// With ``retain`` or ``remove``: it has no effect on the value if the topic has a newer one, or was removed later.
    /// Of two at the same time the one with the greater global name is newer. What is not newer is an event without a
    /// banner.
    public var ifNewer: Bool?
    /// How long the event is worth showing; whole seconds, at most 28 days. Zero: it is expired at once.
    public var timeToLive: Duration?
    /// The urgency of the banner.
    public var urgency: Urgency?
    /// `false`: the event never gets a banner.
    public var banner: Bool?
    /// `true`: this program shows the banner itself, and notifyd only decides. The outcome `shown` says that the banner
    /// is to be up, any other one that it is to be taken down; see `own-banner` in org.notifyd.Router1(5).
    public var ownBanner: Bool?
    /// The time to claim the event; whole milliseconds, at most 60 s.
    public var window: Duration?
    /// The event takes the place of the earlier one with the same text at the same topic, which gets the outcome
    /// `replaced`: a banner that shows it is updated in place. At most 256 bytes.
    public var collapse: String?
    /// The line by which a bridge brought the event, such as `mqtt`. At most 64 bytes.
    public var via: String?
    /// When it happened, in microseconds since 1970-01-01 00:00 UTC; now, if not given.
    public var published: Int64?
    /// How its banner looks.
    public var appearance: BannerOptions

    public init(
        source: String? = nil, eventID: String? = nil, retain: Bool? = nil, remove: Bool? = nil,
        timeToLive: Duration? = nil, urgency: Urgency? = nil, banner: Bool? = nil, window: Duration? = nil,
        published: Int64? = nil, collapse: String? = nil, via: String? = nil, ifNewer: Bool? = nil,
        ownBanner: Bool? = nil, appearance: BannerOptions = BannerOptions()
    ) {
        self.source = source
        self.eventID = eventID
        self.retain = retain
        self.remove = remove
        self.ifNewer = ifNewer
        self.timeToLive = timeToLive
        self.urgency = urgency
        self.banner = banner
        self.ownBanner = ownBanner
        self.window = window
        self.published = published
        self.appearance = appearance
        self.collapse = collapse
        self.via = via
    }

    /// The dictionary for the call `Publish`.
    package func values() throws(NotifyError) -> [String: Value] {
        var values = try appearance.values()
        values["source"] = source.map(Value.string)
        values["event-id"] = eventID.map(Value.string)
        values["via"] = via.map(Value.string)
        values["collapse"] = collapse.map(Value.string)
        values["retain"] = retain.map(Value.boolean)
        values["remove"] = remove.map(Value.boolean)
        values["if-newer"] = ifNewer.map(Value.boolean)
        values["urgency"] = urgency.map { .byte($0.rawValue) }
        values["banner"] = banner.map(Value.boolean)
        values["own-banner"] = ownBanner.map(Value.boolean)
        values["published"] = published.map(Value.int64)
        values["ttl"] = try timeToLive?.argument(in: .seconds(1), "A time to live is 0 seconds to 28 days long.")
        values["window"] = try window?.argument(in: .milliseconds(1), "A window is 0 to 60 seconds long.")
        return values
    }
}
