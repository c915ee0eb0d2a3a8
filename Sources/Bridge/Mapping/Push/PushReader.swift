public import NotifyText

extension PushSource {
    /// A name has at most so many bytes.
    private static let maximumID = 200
    /// Fields that are taken from a message.
    private static let maximumFields = 64

    /// Makes an event of a message, unless the rules of the map leave it out.
    ///
    /// - Returns: `nil` if it is left out.
    /// - Throws: `MapError` if that is not possible.
    public func eventUnlessLeftOut(_ payload: [UInt8]) throws(MapError) -> MappedEvent? {
        let object = map.rules == MapRules() ? nil : try? JSONParser.parse(payload)
        return map.rules.takes(values(object, String(decoding: payload, as: UTF8.self))) ? try event(of: payload) : nil
    }

    /// What templates and conditions name.
    private func values(_ object: JSON?, _ text: String) -> JSON {
        let members = (object?.members ?? []).filter { !["payload", "endpoint"].contains($0.0) }
        return .object(members + [("payload", .string(text)), ("endpoint", .string(name))])
    }

    /// Makes an event of the text that a sender wrote: a JSON object, or plain text.
    ///
    /// - Throws: `MapError` if that is not possible.
    public func event(of payload: [UInt8]) throws(MapError) -> MappedEvent {
        guard !payload.isEmpty else { throw MapError("the message is empty") }
        guard Encoding.firstFault(in: payload) == nil else { throw MapError("the message is not text in UTF-8") }
        let text = String(decoding: payload, as: UTF8.self)
        let object = try object(in: payload)
        let values = values(object, text)

        var (title, body) = usualTexts(object, text)
        if map.title != nil || map.body != nil {
            // With a template for one of the two, the other one is empty.
            title = try map.title?.render(values, or: "") ?? ""
            body = try map.body?.render(values, or: "") ?? ""
        }
        guard !title.isWhiteSpace || !body.isWhiteSpace else {
            throw MapError("neither a title nor a body comes of the message")
        }
        return MappedEvent(
            topic: try place(try map.below?.render(values) ?? object?["topic"]?.shortText ?? ""),
            title: title.beginning(ofBytes: MappedEvent.maximumTitle),
            body: body.beginning(ofBytes: MappedEvent.maximumBody), id: try id(object, values),
            isSilent: map.rules.isSilent(values), collapse: map.rules.collapse(of: values),
            urgency: try urgency(object, values), fields: try fields(object, values))
    }

    /// Title and body of a message, where nothing else is configured.
    ///
    /// - Parameters:
    ///   - object: `nil` for plain text.
    ///   - text: the whole message.
    private func usualTexts(_ object: JSON?, _ text: String) -> (title: String, body: String) {
        guard let object else { return Self.split(text) }
        var texts = (title: "", body: "")
        // Declarative Web Push has the texts one level below.
        for source in [object, object["notification"]] where texts == ("", "") {
            texts.title = source?["title"]?.string ?? ""
            texts.body = source?["body"]?.string ?? source?["message"]?.string ?? ""
        }
        if texts.title.isEmpty { texts = Self.split(texts.body) }
        return texts == ("", "") ? (name, text) : texts
    }

    /// The first line is the title.
    private static func split(_ text: String) -> (title: String, body: String) {
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0.isNewline }
        return (String(parts.first ?? ""), parts.count > 1 ? String(parts[1]) : "")
    }

    /// `nil` if the message is plain text.
    private func object(in payload: [UInt8]) throws(MapError) -> JSON? {
        let needed = map.templates.contains { !$0.names.subtracting(["payload", "endpoint", ""]).isEmpty }
        var mistake = "not a JSON object"
        do throws(JSONError) {
            let json = try JSONParser.parse(payload)
            if json.members != nil { return json }
        } catch {
            mistake = "not JSON (\(error.reason))"
        }
        guard needed else { return nil }
        throw MapError("the message is \(mistake), and the templates of its [[map]] name members of one")
    }

    /// An unknown word from a sender is ignored. From a template it is a mistake of the configuration.
    private func urgency(_ object: JSON?, _ values: JSON) throws(MapError) -> UInt8? {
        guard let text = try map.urgency?.render(values) else {
            return MessageUrgency.number(of: object?["urgency"]?.shortText ?? "")
        }
        let number = MessageUrgency.number(of: text)
        guard number != nil || text.isWhiteSpace else {
            let words = MessageUrgency.words.joined(separator: ", ")
            throw MapError("the template 'urgency' must give one of \(words), or nothing; it gives another word")
        }
        return number
    }

    /// The topic of the endpoint, or one below it, whatever a sender writes.
    private func place(_ below: String) throws(MapError) -> Topic {
        let segments = below.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        // Nothing resolves them, but a sender that writes them means another topic.
        guard !segments.contains(where: { $0 == "." || $0 == ".." }) else {
            throw MapError("its topic must be below \(topic), such as 27/likes; it has . or ..")
        }
        do throws(TopicError) {
            return try Topic(([topic.description] + segments).joined(separator: "/"))
        } catch {
            throw MapError("its topic must be below \(topic): \(error.reason)")
        }
    }

    /// The id that tells repeats. A text of punctuation only is none: many messages would have the same.
    private func id(_ object: JSON?, _ values: JSON) throws(MapError) -> String? {
        let text = if let template = map.id { try template.renderWhole(values) } else { object?["id"]?.shortText }
        guard let id = text, !id.saysNothing else { return nil }
        guard id.utf8.count <= Self.maximumID else {
            throw MapError("its id must have at most \(Self.maximumID) bytes; it has \(id.utf8.count)")
        }
        return id
    }

    private func fields(_ object: JSON?, _ values: JSON) throws(MapError) -> Fields {
        let members = object?["fields"]?.members ?? []
        guard members.count <= Self.maximumFields else {
            throw MapError("it must have at most \(Self.maximumFields) fields; it has \(members.count)")
        }
        var fields = Fields()
        for (name, value) in members { fields[name] = value.field }
        for field in map.fields {
            let text = try field.text.render(values)
            if !text.isEmpty { fields[field.name] = .string(text) }
        }
        return fields
    }
}

extension String {
    fileprivate var isWhiteSpace: Bool { allSatisfy(\.isWhitespace) }
}

extension JSON {
    /// As a field of an event; `nil` for null. What is not a plain value stays JSON text.
    fileprivate var field: NotifyText.Value? {
        switch self {
        case .null: nil
        case .boolean(let flag): .boolean(flag)
        case .string(let text): .string(text)
        case .number(let digits): integer(as: Int64.self).map { .int64($0) } ?? Double(digits).map { .double($0) }
        case .array, .object: .string(text())
        }
    }

    /// A string, or the digits of a number.
    fileprivate var shortText: String? {
        switch self {
        case .string(let text): text
        case .number(let digits): digits
        default: nil
        }
    }
}

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
    /// The same in every repeat of a message.
    public var id: MessageTemplate?
    /// Fields in addition to those of the message.
    public var fields: [Field] = []

    public init() {}

    var templates: [MessageTemplate] { [title, body, below, urgency, id].compactMap(\.self) + fields.map(\.text) }
}
