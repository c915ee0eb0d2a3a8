/// What a banner says.
public struct BannerText: Hashable, Sendable {
    /// One line.
    public var title: String
    /// May be empty, and may have several lines.
    public var body: String

    public init(title: String, body: String) {
        self.title = title
        self.body = body
    }
}

/// An event that nobody has seen.
public struct InboxEntry: Hashable, Sendable {
    /// Its id.
    public var id: EventID
    /// Where it belongs.
    public var topic: String
    /// What its banner says.
    public var text: BannerText
    /// When it happened, in microseconds since 1970-01-01 00:00 UTC.
    public var published: Int64
    /// `nil` while it is undecided; else `shown`, `muted` or `expired`.
    public var outcome: Outcome.Kind?
    /// The urgency of the banner.
    public var urgency: PublishOptions.Urgency?
    /// Application, icon and buttons; nothing else of the banner is told.
    public var appearance: BannerOptions
    /// Whether its route has `break_through`: its banners come during a pause or a mute, too.
    public var breaksThrough = false
    /// When the banner of a snoozed event comes back, in microseconds since 1970-01-01 00:00 UTC; `nil` for any other
    /// event.
    public var snoozeEnd: Int64?

    public init(
        id: EventID, topic: String, text: BannerText, published: Int64, outcome: Outcome.Kind? = nil,
        urgency: PublishOptions.Urgency? = nil, appearance: BannerOptions = BannerOptions()
    ) {
        self.id = id
        self.topic = topic
        self.text = text
        self.published = published
        self.outcome = outcome
        self.urgency = urgency
        self.appearance = appearance
    }

    /// From an entry of a list: `t s s s x s a{sv}`.
    init?(_ entry: Value) {
        guard let record = RecordedEvent(entry), let published = record.event.published else { return nil }
        let details = record.event.fields
        self.init(
            id: record.event.id, topic: record.event.topic,
            text: BannerText(title: record.event.title, body: record.event.body), published: published,
            outcome: record.outcome,
            urgency: details["urgency"]?.integer().flatMap { PublishOptions.Urgency(rawValue: $0) },
            appearance: BannerOptions(app: details["app"]?.string, icon: details["icon"]?.string))
        breaksThrough = details["break-through"]?.boolean ?? false
        snoozeEnd = details["snoozed"]?.integer()
        let texts = details["actions"]?.elements?.compactMap(\.string) ?? []
        for index in stride(from: 0, to: texts.count - 1, by: 2) {
            appearance.buttons.append(BannerOptions.Button(key: texts[index], label: texts[index + 1]))
        }
    }
}
