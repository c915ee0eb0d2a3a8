public import Mapping
import NotifyJSON
import NotifyText

/// An event as a message for a server: the JSON of [ntfy, "Publish as JSON"](https://docs.ntfy.sh/publish/#publish-as-json).
public struct OutgoingMessage: Equatable, Sendable {
    /// An event, as far as others hear of it.
    public struct Event: Sendable {
        public var topic: String
        public var title: String
        public var body: String
        /// Microseconds since the epoch.
        public var published: Int64
        public var urgency: UInt8?
        public var source: String
        public var eventID: String
        /// Fields as text.
        public var fields: [(name: String, value: String)]

        public init(
            topic: String, title: String, body: String, published: Int64 = 0, urgency: UInt8? = nil,
            source: String, eventID: String, fields: [(name: String, value: String)] = []
        ) {
            self.topic = topic
            self.title = title
            self.body = body
            self.published = published
            self.urgency = urgency
            self.source = source
            self.eventID = eventID
            self.fields = fields
        }

        /// What texts can name.
        fileprivate var values: JSON {
            let members: [JSON.Member] = [
                ("topic", .string(topic)), ("title", .string(title)), ("body", .string(body)),
                ("published", .integer(published)), ("source", .string(source)), ("event-id", .string(eventID)),
            ]
            let others = fields.filter { field in !members.contains { $0.0.hasBytes(of: field.name) } }
            return .object(members + others.map { ($0.name, .string($0.value)) })
        }
    }

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
        var title = try Self.text(map.title, values, or: event.title).cut(toBytes: Self.maximumTitle)
        var text = try Self.text(map.message, values, or: event.body)
        // ntfy writes "triggered" for nothing.
        if text.isBlank { (title, text) = ("", title.isBlank ? event.topic : title) }
        let click = event.fields.first { $0.name == NtfyEvent.clickField }?.value
        var limit = Self.maximumMessage
        while true {
            let members: [JSON.Member] =
                [
                    ("topic", .string(map.name)), ("message", .string(text.cut(toBytes: limit))),
                    ("priority", .integer(Self.priority(of: event.urgency))), ("sequence_id", .string(sequence)),
                ] + (title.isEmpty ? [] : [("title", .string(title))])
                + (click.map { $0.utf8.count <= 1024 ? [("click", JSON.string($0))] : [] } ?? [])
            let bytes = JSON.object(members).bytes
            // Quotes and control characters take more than one byte.
            guard bytes.count > Self.maximumBytes, limit > 64 else {
                self.bytes = bytes
                return
            }
            limit = limit * 3 / 4
        }
    }

    /// The text of a template; that of the event if there is none, or if the event has nothing of what it names.
    private static func text(
        _ template: MessageTemplate?, _ values: JSON, or usual: String
    ) throws(MapError) -> String {
        guard let template else { return usual }
        let text = try template.render(values)
        return text.saysNothing && !template.names.isEmpty ? usual : text
    }

    static func priority(of urgency: UInt8?) -> Int {
        switch urgency {
        case 0: 2
        case nil, 1: 3
        default: 5
        }
    }
}

extension String {
    /// The text, or its longest beginning with an ellipsis that has at most so many bytes.
    func cut(toBytes count: Int) -> String {
        utf8.count <= count ? self : beginning(ofBytes: count - 3) + "…"
    }
}
