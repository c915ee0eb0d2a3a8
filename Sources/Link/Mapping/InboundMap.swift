import NotifyJSON
import NotifyText
public import Routing

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
    public var urgency: UInt8?
    /// The member of the message by which repeats are told; `a.b` is a member of a member.
    public var id: [String]?
    /// Whether the events go to the other devices of the user.
    public var isLinked: Bool

    public init(
        filter: LevelPattern, topic: TopicPattern, title: MessageTemplate? = nil, body: MessageTemplate? = nil,
        isRetained: Bool = false, urgency: UInt8? = nil, id: [String]? = nil, isLinked: Bool = false
    ) {
        self.filter = filter
        self.topic = topic
        self.title = title
        self.body = body
        self.isRetained = isRetained
        self.urgency = urgency
        self.id = id
        self.isLinked = isLinked
    }

    /// The `source` of all its events begins with this: by that a map knows what it must not send out.
    public static let sourcePrefix = "map:"
    /// The longest message in bytes.
    public static let maximumBytes = 64 << 10
    /// A name has at most so many bytes.
    private static let maximumName = 255
    /// What notifyd takes.
    private static let maximumTitle = 1024
    private static let maximumBody = 8192

    /// The same on every device with the same map.
    public var source: String { Self.sourcePrefix + filter.description.beginning(ofBytes: 200) }

    /// What becomes of a message.
    public enum Result: Equatable, Sendable {
        case event(MappedEvent)
        /// An empty message takes the current value away.
        case removal(Topic)
        /// It says nothing.
        case nothing
    }

    /// - Parameters:
    ///   - topic: where it came from; it matches the filter.
    ///   - payload: at most `maximumBytes`.
    /// - Throws: `MapError` if no event can be made of it.
    public func result(of payload: [UInt8], at topic: String) throws(MapError) -> Result {
        guard let captures = filter.captures(of: topic) else { throw MapError("its topic does not match the filter") }
        let place = try place(captures)
        if payload.isEmpty {
            if isRetained { return .removal(place) }
            let names = captures.map(\.name) + ["payload", "topic"]
            guard needsObject(beside: names) else { return .nothing }
            throw MapError("the message is empty, and no JSON object")
        }
        guard Encoding.firstFault(in: payload) == nil else { throw MapError("the message is no text in UTF-8") }
        let text = String(decoding: payload, as: UTF8.self)
        var members: [JSON.Member] = []
        // Captures and what stands outside of the message have their names to themselves.
        let outside: [JSON.Member] =
            captures.map { ($0.name, .string($0.value)) } + [("payload", .string(text)), ("topic", .string(topic))]
        if needsObject(beside: outside.map(\.0)) {
            let json: JSON
            do { json = try JSONParser.parse(payload) } catch {
                throw MapError("the message is no JSON: \(error.reason)")
            }
            guard let found = json.members else { throw MapError("the message is no JSON object") }
            members = found.filter { member in !outside.contains { $0.0.hasBytes(of: member.0) } }
        }
        let values = JSON.object(members + outside)
        var event = MappedEvent(topic: place)
        event.title = try title?.render(values).beginning(ofBytes: Self.maximumTitle) ?? ""
        event.body = (try body?.render(values) ?? (title == nil ? text : "")).beginning(ofBytes: Self.maximumBody)
        if let id {
            var value: JSON? = values
            for part in id { value = value?[part] }
            if let text = value?.plainText, !text.isEmpty {
                guard text.utf8.count <= Self.maximumName else {
                    throw MapError(
                        "'\(id.joined(separator: "."))' has \(text.utf8.count) bytes; it has at most \(Self.maximumName)"
                    )
                }
                event.id = text
            }
        }
        return .event(event)
    }

    private func place(_ captures: [(name: String, value: String)]) throws(MapError) -> Topic {
        var text = ""
        for segment in topic.description.utf8.split(separator: UInt8(ascii: "/")) {
            let segment = String(Substring(segment))
            let capture = captures.first { segment.hasBytes(of: "{\($0.name)}") }
            if let capture, capture.value.isEmpty {
                throw MapError("{\(capture.name)} is empty, and no topic has an empty segment")
            }
            // A sender that writes these wants to go somewhere else.
            if let capture, [".", ".."].contains(capture.value) {
                throw MapError("{\(capture.name)} is \(capture.value), which no sender may make a segment of a topic")
            }
            text += "/" + (capture?.value ?? segment)
        }
        do throws(TopicError) { return try Topic(text) } catch { throw MapError(error.reason) }
    }

    private func needsObject(beside names: [String]) -> Bool {
        var wanted = (title?.names ?? []).union(body?.names ?? [])
        if let first = id?.first { wanted.insert(first) }
        return !wanted.subtracting(names).subtracting([""]).isEmpty
    }
}

/// An event made of a message.
public struct MappedEvent: Equatable, Sendable {
    public var topic: Topic
    public var title = ""
    public var body = ""
    /// By which repeats are told; `nil` if the message has none.
    public var id: String?

    public init(topic: Topic) {
        self.topic = topic
    }
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
