public import NotifyText

/// Settings of one event. The route decides where an option is `nil`.
public struct PublishOptions: Hashable, Sendable {
    /// The urgency of the banner.
    public typealias Urgency = NotifyText.Urgency

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
        values["ttl"] = try timeToLive?.argument(in: .seconds(1), "A time to live must be 0 seconds to 28 days long.")
        values["window"] = try window?.argument(in: .milliseconds(1), "A window must be 0 to 60 seconds long.")
        return values
    }
}

/// How the banner of one event looks. Where the route of the event says something else, the route decides.
///
/// A text has at most 256 bytes. See the Desktop Notifications Specification, "Hints".
public struct BannerOptions: Hashable, Sendable {
    /// A button. A press is announced by `ActionInvoked`; see
    /// ``NotifyClient/actions(at:bufferingAtMost:)-([String],_)``.
    public struct Button: Hashable, Sendable {
        /// What the press is announced as.
        public var key: String
        /// The text on the button.
        public var label: String

        public init(key: String, label: String) {
            self.key = key
            self.label = label
        }
    }

    /// The name of the application that the event belongs to.
    public var app: String?
    /// A name of the icon theme, the absolute path of a file, or a `file://` address.
    public var icon: String?
    /// A picture: the absolute path of a file, or a `file://` address.
    public var image: String?
    /// The kind of notification, such as `im.received`.
    public var category: String?
    /// A name of the sound theme.
    public var sound: String?
    /// The name of the application's desktop file, without `.desktop`.
    public var desktopEntry: String?
    /// How long the banner stays up; whole milliseconds, at most 24 h; zero: until it is closed.
    public var timeout: Duration?
    /// Whether the notification server keeps no record of the banner.
    public var isTransient: Bool?
    /// Whether the banner stays up when one of its buttons is pressed.
    public var isResident: Bool?
    /// A progress in percent, 0 to 100.
    public var progress: Int?
    /// At most 8 buttons, from the left.
    public var buttons: [Button]

    public init(
        app: String? = nil, icon: String? = nil, image: String? = nil, category: String? = nil, sound: String? = nil,
        desktopEntry: String? = nil, timeout: Duration? = nil, isTransient: Bool? = nil, isResident: Bool? = nil,
        progress: Int? = nil, buttons: [Button] = []
    ) {
        self.app = app
        self.icon = icon
        self.image = image
        self.category = category
        self.sound = sound
        self.desktopEntry = desktopEntry
        self.timeout = timeout
        self.isTransient = isTransient
        self.isResident = isResident
        self.progress = progress
        self.buttons = buttons
    }

    /// The options for the call `Publish`.
    func values() throws(NotifyError) -> [String: Value] {
        var values: [String: Value] = [:]
        values["app"] = app.map(Value.string)
        values["icon"] = icon.map(Value.string)
        values["image"] = image.map(Value.string)
        values["category"] = category.map(Value.string)
        values["sound"] = sound.map(Value.string)
        values["desktop-entry"] = desktopEntry.map(Value.string)
        values["timeout"] = try timeout?.argument(
            in: .milliseconds(1), "The timeout of a banner must be 0 seconds to 24 hours long.")
        values["transient"] = isTransient.map(Value.boolean)
        values["resident"] = isResident.map(Value.boolean)
        values["progress"] = progress.map { .int64(Int64($0)) }
        if !buttons.isEmpty {
            values["actions"] = .array(buttons.flatMap { [.string($0.key), .string($0.label)] }, of: .string)
        }
        return values
    }
}

/// What was done with an event elsewhere, and where; see ``NotifyClient/claimNamed(source:eventID:options:)``.
public struct NamedClaimOptions: Hashable, Sendable {
    /// What was done with an event. More may come, so a `switch` over it needs a `default`.
    public struct Kind: Hashable, Sendable {
        /// The option that says so; `nil` for a plain claim.
        let option: String?

        /// It was claimed.
        public static let claimed = Kind(option: nil)
        /// The user closed its banner: a shown event becomes ``Outcome/Kind/dismissed``, an undecided one is claimed.
        public static let dismissed = Kind(option: "dismissed")
        /// It was taken back: it becomes ``Outcome/Kind/withdrawn``.
        public static let withdrawn = Kind(option: "withdrawn")
        /// It was read there: as by `markRead` of this event. A muted or expired one keeps its outcome.
        public static let read = Kind(option: "read")
    }

    /// What was done.
    public var kind: Kind
    /// Where, for people, such as `phone`. At most 64 bytes.
    public var device: String?
    /// The line by which a bridge brought the claim, such as `mqtt`. At most 64 bytes.
    public var via: String?
    /// Until when an event that has not come is awaited, in microseconds since 1970-01-01 00:00 UTC. It is awaited for
    /// at least 24 hours and at most 28 days.
    public var expires: Int64?

    public init(_ kind: Kind = .claimed, device: String? = nil, via: String? = nil, expires: Int64? = nil) {
        self.kind = kind
        self.device = device
        self.via = via
        self.expires = expires
    }

    /// The dictionary for the call.
    var values: [String: Value] {
        var values: [String: Value] = [:]
        if let option = kind.option { values[option] = .boolean(true) }
        values["device"] = device.map(Value.string)
        values["via"] = via.map(Value.string)
        values["expires"] = expires.map(Value.int64)
        return values
    }
}
