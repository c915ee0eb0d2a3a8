public import NotifyText

/// Takes what others publish on a broker in as events; notifyd-mqtt.toml(5).
public struct InboundMap: Equatable, Sendable {
    /// Where it comes from.
    public var filter: LevelPattern
    /// Where it goes to; its captures are those of the filter.
    public var topic: TopicPattern
    /// `nil`: no title.
    public var title: MessageTemplate?
    /// `nil`: the message itself, unless there is a title.
    public var body: MessageTemplate?
    /// Whether each message takes the place of the topic's current value.
    public var isRetained: Bool
    /// The member of the message by which repeats are told.
    public var id: MapRules.Member?
    public var rules: MapRules
    /// Whether the events go to the other devices of the user.
    public var isLinked: Bool

    public init(
        filter: LevelPattern, topic: TopicPattern, title: MessageTemplate? = nil, body: MessageTemplate? = nil,
        isRetained: Bool = false, id: MapRules.Member? = nil, rules: MapRules = MapRules(), isLinked: Bool = false
    ) {
        self.filter = filter
        self.topic = topic
        self.title = title
        self.body = body
        self.isRetained = isRetained
        self.id = id
        self.rules = rules
        self.isLinked = isLinked
    }

    /// The `source` of all its events begins with this: by that a map knows what it must not send out.
    public static let sourcePrefix = "map:"
    /// The longest message in bytes.
    public static let maximumBytes = 64 << 10
    /// A name has at most so many bytes.
    private static let maximumName = 255

    /// The same on every device with the same map.
    public var source: String { Self.sourcePrefix + filter.description.beginning(ofBytes: 200) }

    /// What becomes of a message.
    public enum Result: Equatable, Sendable {
        case event(MappedEvent)
        /// An empty message takes the current value away.
        case removal(Topic)
        /// It says nothing, or is left out.
        case nothing
    }

    /// - Parameters:
    ///   - topic: where it came from; it matches the filter.
    ///   - payload: at most `maximumBytes`.
    /// - Throws: `MapError` if no event can be made of it.
    public func result(of payload: [UInt8], at topic: String) throws(MapError) -> Result {
        guard let captures = filter.captures(of: topic) else { throw MapError("its topic does not match the filter") }
        if payload.isEmpty, isRetained { return .removal(try place(captures)) }
        guard Encoding.firstFault(in: payload) == nil else { throw MapError("the message is not text in UTF-8") }
        let text = String(decoding: payload, as: UTF8.self)
        // Captures and what stands outside of the message have their names to themselves.
        let outside: [JSON.Member] =
            captures.map { ($0.name, .string($0.value)) } + [("payload", .string(text)), ("topic", .string(topic))]
        let inText = namesInTexts.subtracting(outside.map(\.0))
        let inRules = rules.names.subtracting(outside.map(\.0))
        var members: [JSON.Member] = []
        var fault: MapError?
        if !inText.isEmpty || !inRules.isEmpty {
            do throws(MapError) { members = try Self.members(of: payload) } catch { fault = error }
            members.removeAll { member in outside.contains { $0.0.hasBytes(of: member.0) } }
        }
        let values = JSON.object(members + outside)
        guard rules.takes(values) else { return .nothing }
        if let fault, !inText.isEmpty { throw fault }
        guard !payload.isEmpty else { return .nothing }
        var event = MappedEvent(topic: try place(captures))
        event.title = try title?.render(values).beginning(ofBytes: MappedEvent.maximumTitle) ?? ""
        event.body = (try body?.render(values) ?? (title == nil ? text : "")).beginning(
            ofBytes: MappedEvent.maximumBody)
        event.isSilent = rules.isSilent(values)
        event.collapse = rules.collapse(of: values)
        event.urgency = try rules.urgency(of: values)
        if let id, let text = values.value(at: id)?.plainText, !text.isEmpty {
            guard text.utf8.count <= Self.maximumName else {
                throw MapError(
                    "'\(id.joined(separator: "."))' must have at most \(Self.maximumName) bytes; "
                        + "it has \(text.utf8.count)")
            }
            event.id = text
        }
        return .event(event)
    }

    private static func members(of payload: [UInt8]) throws(MapError) -> [JSON.Member] {
        guard !payload.isEmpty else { throw MapError("the message is empty, not a JSON object") }
        let json: JSON
        do { json = try JSONParser.parse(payload) } catch { throw MapError("the message is not JSON: \(error.reason)") }
        guard let members = json.members else { throw MapError("the message is not a JSON object") }
        return members
    }

    private func place(_ captures: [(name: String, value: String)]) throws(MapError) -> Topic {
        let values = Dictionary(captures.map { ($0.name, $0.value) }) { first, _ in first }
        do throws(TopicError) { return try topic.filled(with: values) } catch { throw MapError(error.reason) }
    }

    /// The first parts of the names without which there is no event.
    private var namesInTexts: Set<String> {
        (title?.names ?? []).union(body?.names ?? []).union(id?.first.map { [$0] } ?? []).subtracting([""])
    }
}

/// An event made of a message.
public struct MappedEvent: Equatable, Sendable {
    /// What notifyd takes of a title and of a body, in bytes.
    static let maximumTitle = 1024
    static let maximumBody = 8192

    public var topic: Topic
    public var title = ""
    public var body = ""
    /// By which repeats are told; `nil` if the message has none.
    public var id: String?
    /// Whether it has no banner.
    public var isSilent = false
    /// It takes the place of the earlier event with the same text.
    public var collapse: String?
    /// 0 low, 1 normal, 2 critical; `nil` if the message does not say.
    public var urgency: UInt8?
    public var fields = Fields()
}

extension String {
    /// The source of events that never leave this device, whatever a map says: what programs show may be a message or a
    /// code. It begins as that of all events that the link keeps here.
    public static let privateSource = "local:desktop"

    /// Whether this is the source of such events.
    public var isPrivateSource: Bool { utf8.elementsEqual(Self.privateSource.utf8) }
}

extension String {
    /// The longest beginning that has at most so many bytes, without a character cut in two.
    public func beginning(ofBytes count: Int) -> String {
        guard utf8.count > count else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: count)
        while end > utf8.startIndex, utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
