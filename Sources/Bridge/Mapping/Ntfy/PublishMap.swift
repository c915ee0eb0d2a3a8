public import NotifyText

/// Sends events out to a topic of a server; notifyd-ntfy.toml(5).
public struct PublishMap: Equatable, Sendable {
    /// When an event goes out.
    public enum Moment: Equatable, Sendable {
        /// When its window is over and nobody has claimed it.
        case always
        /// The same while all sessions are locked or idle, and else if nobody has claimed it for so long.
        case away(after: Duration)
    }

    /// The topic at the server.
    public var name: String
    /// Events at or below one of these go out.
    public var topics: [TopicPrefix]
    public var moment: Moment
    /// `nil`: that of the event.
    public var title: MessageTemplate?
    /// `nil`: the body of the event.
    public var message: MessageTemplate?
    /// Whether a claim here is said there, and one there is taken here.
    public var clears = true
    /// Whether events of the user's other devices go out too.
    public var isLinked = false

    public init(name: String, topics: [TopicPrefix], moment: Moment) {
        (self.name, self.topics, self.moment) = (name, topics, moment)
    }

    /// Whether an event goes out at all: what a server of ntfy has brought never does, nor what is private, and what
    /// another device has said only if the map says so.
    public func takes(topic: Topic, source: String, via: String) -> Bool {
        guard topics.contains(where: { $0.covers(topic) }),
            !source.utf8.starts(with: ServerAddress.sourcePrefix.utf8), !source.isPrivateSource
        else { return false }
        return isLinked || !(via == "mqtt" || via.utf8.starts(with: "mqtt:".utf8))
    }

    /// When it is to be decided whether an event goes out, as a time on the wall clock in microseconds.
    ///
    /// - Parameters:
    ///   - accepted: when notifyd had the event.
    ///   - window: the time to claim it, in milliseconds.
    public func decision(accepted: Int64, window: Int64) -> Int64 {
        accepted &+ window &* 1000 &+ Self.slack
    }

    /// When an event goes out at the latest, if nobody claims it; `nil`: at its decision.
    public func deadline(accepted: Int64, window: Int64) -> Int64? {
        guard case .away(let after) = moment else { return nil }
        return max(accepted &+ after.microseconds, decision(accepted: accepted, window: window))
    }

    /// An outcome needs a moment to get to the disk.
    private static let slack: Int64 = 250_000

    /// Whether an event with this outcome is still to be told: it waits, or its banner was shown.
    public static func isOpen(outcome: String) -> Bool { outcome.isEmpty || outcome == "shown" }
}

/// An event as a message for a server: the JSON of
/// [ntfy, "Publish as JSON"](https://docs.ntfy.sh/publish/#publish-as-json).
public struct OutgoingMessage: Equatable, Sendable {
    public typealias Event = OutboundMap.Event

    /// What a server takes as a message, in bytes; a longer one becomes an attachment.
    public static let maximumMessage = 4096
    static let maximumTitle = 1024
    /// What a server reads as JSON.
    static let maximumBytes = 2 * maximumMessage

    public let sequence: String
    public let bytes: [UInt8]

    /// - Throws: `MapError` if a text becomes too long.
    public init(_ event: Event, for map: PublishMap) throws(MapError) {
        sequence = SequenceName.make(source: event.source, eventID: event.eventID)
        let values = map.title == nil && map.message == nil ? JSON.null : event.values
        var title = try (map.title?.render(values, or: event.title) ?? event.title).cut(toBytes: Self.maximumTitle)
        var text = try map.message?.render(values, or: event.body) ?? event.body
        // ntfy writes "triggered" for nothing.
        if text.isBlank { (title, text) = ("", title.isBlank ? event.topic.description : title) }
        let field = event.fields.first { $0.name == NtfyEvent.clickField }?.value
        let click = field.flatMap { $0.utf8.count <= 1024 ? $0 : nil }
        var limit = Self.maximumMessage
        while true {
            let bytes = JSON.object(present: [
                "topic": map.name, "message": text.cut(toBytes: limit), "priority": Self.priority(of: event.urgency),
                "sequence_id": sequence, "title": title.isEmpty ? nil : title, "click": click,
            ]).bytes
            // Quotes and control characters take more than one byte.
            guard bytes.count > Self.maximumBytes, limit > 64 else {
                self.bytes = bytes
                return
            }
            limit = limit * 3 / 4
        }
    }

    static func priority(of urgency: UInt8?) -> Int {
        switch urgency {
        case 0: 2
        case nil, 1: 3
        default: 5
        }
    }
}

extension OutboundMap.Event {
    /// What texts can name.
    fileprivate var values: JSON {
        let members = JSON.members([
            "topic": topic.description, "title": title, "body": body, "published": published, "source": source,
            "event-id": eventID,
        ])
        let others = fields.filter { field in !members.contains { $0.0.hasBytes(of: field.name) } }
        return .object(members + others.map { ($0.name, .string($0.value)) })
    }
}

extension String {
    /// The text, or its longest beginning with an ellipsis that has at most so many bytes.
    func cut(toBytes count: Int) -> String {
        utf8.count <= count ? self : beginning(ofBytes: count - 3) + "…"
    }
}
