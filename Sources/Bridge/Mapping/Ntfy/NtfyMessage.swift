import Crypto
import NotifyText

/// What a server says in one line;
/// [ntfy, "JSON message format"](https://docs.ntfy.sh/subscribe/api/#json-message-format).
/// Members and events that are not known are passed over.
public struct NtfyMessage: Equatable, Sendable {
    public enum Event: String, Sendable {
        /// The first line of a stream.
        case open
        /// Nothing else was said for a while.
        case keepalive
        case message
        /// The notifications of a sequence are taken off all devices.
        case clear = "message_clear"
        /// They are deleted there.
        case delete = "message_delete"
        /// A message is at the server, and has to be fetched.
        case pollRequest = "poll_request"
        case unknown
    }

    /// A file that belongs to a message.
    public struct Attachment: Equatable, Sendable {
        public var name: String
        public var type: String?
        public var size: Int64?
        public var url: String
    }

    public var event: Event
    public var id: String
    /// What `clear` and `delete` name; the id, unless the publisher has given one.
    public var sequence: String
    /// Seconds since the epoch, by the clock of the server.
    public var time: Int64
    /// In a stream of several topics, `open` and `keepalive` have all of them.
    public var topic: String
    public var title = ""
    public var text = ""
    /// 1 to 5.
    public var priority = 3
    public var tags: [String] = []
    public var click: String?
    public var icon: String?
    public var actions: [NtfyAction] = []
    public var attachment: Attachment?
    public var pollID: String?
    /// Whether the text was bytes that are not text.
    public var isBinary = false

    public init(_ event: Event, id: String, sequence: String? = nil, time: Int64, topic: String) {
        self.event = event
        self.id = id
        self.sequence = sequence ?? id
        self.time = time
        self.topic = topic
    }

    /// Whether the publisher has given a name to what may be updated.
    public var hasSequence: Bool { !sequence.hasBytes(of: id) }
}

extension NtfyMessage {
    /// Tags and actions that are read; a server sends fewer.
    static let maximumTags = 32
    static let maximumActions = 3
    /// The longest time that is believed: the year 3000.
    static let maximumTime: Int64 = 32_503_680_000

    /// Reads one line.
    ///
    /// - Throws: `MapError` if it is not a message.
    public init(line: [UInt8]) throws(MapError) {
        let json: JSON
        do throws(JSONError) {
            json = try JSONParser.parse(line, valueLimit: 4096)
        } catch {
            throw MapError("it is not JSON: \(error.reason)")
        }
        guard json.members != nil else { throw MapError("it is not a JSON object") }
        guard let name = json["event"]?.string else { throw MapError("it has no event") }
        guard let id = json["id"]?.string, Self.isName(id), let topic = json["topic"]?.string,
            let time = json["time"]?.integer(as: Int64.self), (0...Self.maximumTime).contains(time)
        else { throw MapError("its id, topic or time is missing or wrong") }
        self.init(Event(rawValue: name) ?? .unknown, id: id, time: time, topic: topic)
        if let sequence = json["sequence_id"]?.string, !sequence.isEmpty {
            guard Self.isName(sequence) else { throw MapError("its sequence_id is wrong") }
            self.sequence = sequence
        }
        title = Self.text(json["title"]) ?? ""
        text = Self.text(json["message"]) ?? ""
        priority = json["priority"]?.integer(as: Int.self).map { min(max($0, 1), 5) } ?? 3
        tags = (json["tags"]?.elements ?? []).prefix(Self.maximumTags).compactMap(Self.text)
        click = Self.text(json["click"])
        icon = Self.text(json["icon"])
        pollID = json["poll_id"]?.string
        actions = (json["actions"]?.elements ?? []).prefix(Self.maximumActions).compactMap(NtfyAction.init)
        if let file = json["attachment"], let url = Self.text(file["url"]) {
            attachment = Attachment(
                name: Self.text(file["name"]) ?? "", type: Self.text(file["type"]), size: file["size"]?.integer(),
                url: url)
        }
        if json["encoding"]?.string == "base64" { decodeText() }
    }

    /// Bytes that are text become text; of others only that there were some.
    private mutating func decodeText() {
        guard let bytes = Base64.decode(text), let decoded = String(validating: bytes, as: UTF8.self),
            !decoded.utf8.contains(0)
        else {
            text = ""
            isBinary = true
            return
        }
        text = decoded
    }

    /// A text without the one character that no message on the bus can carry.
    static func text(_ json: JSON?) -> String? {
        guard let text = json?.string?.deliverable, !text.isEmpty else { return nil }
        return text
    }

    /// An id or a sequence id: 1 to 64 of [-_A-Za-z0-9].
    public static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(\.isNameCharacter)
    }
}

extension String {
    /// Whether nothing of it is seen.
    var isBlank: Bool { unicodeScalars.allSatisfy(\.properties.isWhitespace) }

    /// The text without what no message on the bus can carry, such as NUL.
    var deliverable: String {
        fitsIntoMessage ? self : String(String.UnicodeScalarView(unicodeScalars.filter { String($0).fitsIntoMessage }))
    }
}

/// A button of a message; [ntfy, "Action buttons"](https://docs.ntfy.sh/publish/#action-buttons).
public struct NtfyAction: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// Opens an address.
        case view(url: String)
        /// Makes a request.
        case http(url: String, method: String, headers: [Header], body: String)
        /// Puts a text on the clipboard.
        case copy(value: String)
        /// For programs on Android alone.
        case broadcast
        /// Of a later version.
        case unknown
    }

    /// A header of a request.
    public struct Header: Equatable, Sendable {
        public let name: String
        public let value: String

        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    public var label: String
    public var kind: Kind
    /// Whether the notification goes when the action has succeeded.
    public var clears: Bool

    static let maximumHeaders = 16

    public init(label: String, kind: Kind, clears: Bool = false) {
        self.label = label
        self.kind = kind
        self.clears = clears
    }

    init?(_ json: JSON) {
        guard let name = json["action"]?.string, let label = NtfyMessage.text(json["label"]) else { return nil }
        let url = NtfyMessage.text(json["url"]) ?? ""
        let kind: Kind
        switch name {
        case "view": kind = .view(url: url)
        case "http":
            let headers = (json["headers"]?.members ?? []).prefix(Self.maximumHeaders).compactMap { name, value in
                NtfyMessage.isName(name) ? NtfyMessage.text(value).map { Header(name, $0) } : nil
            }
            kind = .http(
                url: url, method: NtfyMessage.text(json["method"])?.uppercased() ?? "POST", headers: headers,
                body: NtfyMessage.text(json["body"]) ?? "")
        case "copy": kind = .copy(value: NtfyMessage.text(json["value"]) ?? "")
        case "broadcast": kind = .broadcast
        default: kind = .unknown
        }
        self.init(label: label, kind: kind, clears: json["clear"]?.boolean ?? false)
    }

    /// As it is kept in a field of the event, from which it is read again when the button is pressed.
    var json: JSON {
        let members: [JSON.Member] =
            switch kind {
            case .view(let url): JSON.members(["action": "view", "url": url])
            case .http(let url, let method, let headers, let body):
                JSON.members([
                    "action": "http", "url": url, "method": method,
                    "headers": JSON.object(headers.map { ($0.name, .string($0.value)) }), "body": body,
                ])
            case .copy(let value): JSON.members(["action": "copy", "value": value])
            case .broadcast: JSON.members(["action": "broadcast"])
            case .unknown: JSON.members(["action": "unknown"])
            }
        return .object(JSON.members(["label": label, "clear": clears]) + members)
    }

    /// The text of the field.
    public static func text(of actions: [NtfyAction]) -> String { JSON.array(actions.map(\.json)).text() }

    /// Reads the text of the field; nothing of what is not understood.
    public static func list(from text: String) -> [NtfyAction?] {
        guard let json = try? JSONParser.parse(Array(text.utf8), valueLimit: 4096) else { return [] }
        return (json.elements ?? []).prefix(NtfyMessage.maximumActions).map(NtfyAction.init)
    }
}

/// The sequence id under which an event goes out: made of its global name, so that the same event has the same one on
/// every device and after every restart, and a repeat is an update in place.
public enum SequenceName {
    /// By this a message is told that a bridge like this one has sent.
    public static let prefix = "notifyd-"

    /// 51 characters of [-_A-Za-z0-9]. Who reads the topic does not learn the name.
    public static func make(source: String, eventID: String) -> String {
        let digest = SHA256.hash(data: Array(source.utf8) + [0] + Array(eventID.utf8))
        return prefix + Base64URL.encode(Array(digest))
    }

    /// Whether a message with this sequence id was sent by a bridge like this one.
    public static func isOwn(_ sequence: String) -> Bool { sequence.hasPrefix(prefix) }
}
