public import Mapping
public import Routing

/// Where pushes of one sender come in.
public struct PushSource: Equatable, Sendable {
    /// The name of the endpoint, for people.
    public var name: String
    /// Its events are at this topic or below.
    public var topic: Topic
    /// What its configuration says.
    public var map: PushMap

    public init(name: String, topic: Topic, map: PushMap = PushMap()) {
        self.name = name
        self.topic = topic
        self.map = map
    }
}

/// How a push becomes an event, where the usual way does not fit; notifyd-unifiedpush.toml(5).
public struct PushMap: Equatable, Sendable {
    /// A text for a field of the event.
    public struct Field: Equatable, Sendable {
        public var name: String
        public var text: MessageTemplate

        public init(_ name: String, _ text: MessageTemplate) {
            self.name = name
            self.text = text
        }
    }

    public var title: MessageTemplate?
    public var body: MessageTemplate?
    /// What comes below the topic of the endpoint.
    public var below: MessageTemplate?
    public var urgency: MessageTemplate?
    /// Which messages become events; its own urgency is not used.
    public var rules = MapRules()
    /// By which repeats are told that the sender has sent twice.
    public var id: MessageTemplate?
    /// Beside those that the message has.
    public var fields: [Field] = []

    public init() {}

    var templates: [MessageTemplate] { [title, body, below, urgency, id].compactMap(\.self) + fields.map(\.text) }
}
