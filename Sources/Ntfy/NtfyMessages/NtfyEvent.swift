public import Routing

/// An event made of a message.
public struct NtfyEvent: Equatable, Sendable {
    /// A field of the event.
    public enum Field: Equatable, Sendable {
        case text(String)
        case texts([String])
        case number(Int64)
    }

    public var topic: Topic
    public var title = ""
    public var body = ""
    public var urgency: UInt8 = 1
    public var fields: [(name: String, value: Field)] = []
    public var buttons: [(key: String, label: String)] = []
    /// Half of its global name.
    public var eventID: String
    /// An update takes the place of what it updates.
    public var collapse: String
    /// Whether it has no banner.
    public var isSilent = false
    /// Microseconds since the epoch.
    public var published: Int64

    init(topic: Topic, message: NtfyMessage) {
        self.topic = topic
        eventID = Self.eventID(id: message.id, sequence: message.sequence)
        collapse = "ntfy:" + message.sequence
        published = message.time * 1_000_000
    }

    public static func == (left: NtfyEvent, right: NtfyEvent) -> Bool {
        left.topic == right.topic && left.title == right.title && left.body == right.body
            && left.urgency == right.urgency && left.eventID == right.eventID && left.collapse == right.collapse
            && left.isSilent == right.isSilent && left.published == right.published
            && left.fields.elementsEqual(right.fields) { $0 == $1 }
            && left.buttons.elementsEqual(right.buttons) { $0 == $1 }
    }

    // MARK: Names

    /// An event of a message: its id, and before it the sequence id if the publisher has given one. So a claim is said
    /// at the server without a table.
    public static func eventID(id: String, sequence: String) -> String {
        id == sequence ? id : sequence + "/" + id
    }

    /// The sequence id that an event was made with.
    public static func sequence(ofEventID eventID: String) -> String {
        eventID.firstIndex(of: "/").map { String(eventID[..<$0]) } ?? eventID
    }

    // MARK: Fields and buttons

    /// The field with the topic at the server.
    public static let topicField = "ntfy-topic"
    /// The field with the address that a click opens.
    public static let clickField = "click"
    /// The field with the address of the attachment.
    public static let attachmentField = "attachment-url"
    /// The field with the actions of the message, in JSON.
    public static let actionsField = "actions"
    /// The longest field with actions, in bytes.
    static let maximumActions = 16 << 10
    /// The button that opens what a click opens.
    public static let openKey = "ntfy-open"
    /// The button that opens the attachment.
    public static let attachmentKey = "ntfy-attachment"

    private static let actionPrefix = "ntfy-action-"

    /// The button of an action of the message.
    static func actionKey(_ index: Int) -> String { "\(actionPrefix)\(index)" }

    /// Which action of the message a button is.
    public static func actionIndex(ofKey key: String) -> Int? {
        key.hasPrefix(actionPrefix) ? Int(key.dropFirst(actionPrefix.count)).flatMap { $0 >= 0 ? $0 : nil } : nil
    }
}
