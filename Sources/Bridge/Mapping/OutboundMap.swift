public import NotifyText

/// Sends events out to others on a broker; notifyd-mqtt.toml(5).
public struct OutboundMap: Equatable, Sendable {
    /// The topic on the broker.
    public var address: String
    /// Events at or below one of these go out.
    public var topics: [TopicPrefix]
    /// `nil`: the event as a JSON object.
    public var payload: MessageTemplate?
    /// Whether the broker keeps the last message for those who come later.
    public var isRetained: Bool
    /// Whether events of the user's other devices go out too.
    public var isLinked: Bool

    public init(
        address: String, topics: [TopicPrefix], payload: MessageTemplate? = nil, isRetained: Bool = false,
        isLinked: Bool = false
    ) {
        self.address = address
        self.topics = topics
        self.payload = payload
        self.isRetained = isRetained
        self.isLinked = isLinked
    }

    /// An event, as far as others hear of it.
    public struct Event: Sendable {
        public var topic: Topic
        public var title: String
        public var body: String
        /// Microseconds since the epoch.
        public var published: Int64
        public var urgency: UInt8?
        public var source: String
        public var eventID: String
        /// The line by which it came.
        public var via: String
        /// Fields as text.
        public var fields: [(name: String, value: String)]

        public init(
            topic: Topic, title: String, body: String, published: Int64 = 0, urgency: UInt8? = nil, source: String,
            eventID: String, via: String = "", fields: [(name: String, value: String)] = []
        ) {
            self.topic = topic
            self.title = title
            self.body = body
            self.published = published
            self.urgency = urgency
            self.source = source
            self.eventID = eventID
            self.via = via
            self.fields = fields
        }

        /// Of a row of `Changes`; `nil` if it cannot be understood. org.notifyd.Router1(5).
        public init?(topic: String, details: [String: Value]) {
            guard let topic = try? Topic(topic), let source = details["source"]?.string,
                let id = details["event-id"]?.string
            else { return nil }
            let fields = (details["fields"]?.fields ?? [:]).compactMap { name, value in
                value.plainText.map { (name, $0) }
            }
            self.init(
                topic: topic, title: details["title"]?.string ?? "", body: details["body"]?.string ?? "",
                published: details["published"]?.integer() ?? 0, urgency: details["urgency"]?.integer(),
                source: source, eventID: id, via: details["via"]?.string ?? "", fields: fields)
        }

        private var members: [JSON.Member] {
            JSON.present([
                "topic": topic.description, "title": title, "body": body, "published": published,
                "urgency": urgency.map { Self.urgencies[Int(min($0, 2))] }, "source": source, "event-id": eventID,
            ])
        }

        private static let urgencies = ["low", "normal", "critical"]

        /// All of it, in one object.
        fileprivate var json: JSON {
            .object(members + [("fields", .object(fields.map { ($0.name, .string($0.value)) }))])
        }

        /// What a template can name: the members, the fields, and all of them as JSON below `json`.
        fileprivate var values: JSON {
            let known = members
            let named =
                known
                + fields.map { ($0.name, JSON.string($0.value)) }
                .filter { field in !known.contains { $0.0.hasBytes(of: field.0) } }
            return .object(named + [("json", .object(named.map { ($0.0, .string($0.1.text())) }))])
        }
    }

    /// Whether an event goes out: what a map took in never does, nor what is private, and nothing comes from a channel.
    public func takes(_ event: Event) -> Bool {
        guard topics.contains(where: { $0.covers(event.topic) }),
            !event.source.utf8.starts(with: InboundMap.sourcePrefix.utf8), !event.source.isPrivateSource
        else { return false }
        return event.via.isEmpty || isLinked && event.via == "mqtt"
    }

    /// What is published on the broker.
    ///
    /// - Throws: `MapError` if the text becomes too long.
    public func message(for event: Event) throws(MapError) -> [UInt8] {
        guard let payload else { return event.json.bytes }
        return Array(try payload.render(event.values).utf8)
    }
}
