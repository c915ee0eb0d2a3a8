import NotifyText

/// The text of messages. A decoder ignores members it does not know; an unknown kind and a greater version are kept as
/// `StreamEntry.Content.unknown` where the number is known.
extension Message {
    /// The message in JSON, UTF-8.
    public var encoded: [UInt8] {
        let head: [JSON.Member] = JSON.members(["v": Self.version, "device": device.description, "at": at])
        return JSON.object(head + body.members).bytes
    }

    /// - Throws: `MessageError`, which says what was wrong.
    public init(decoding bytes: [UInt8]) throws(MessageError) {
        let reader = try MemberReader(parsing: bytes)
        let version = try reader.integer("v") as UInt32
        guard version >= 1 else { throw MessageError("\"v\" is not 1 or more") }
        guard let device = reader.json["device"]?.string.flatMap(Device.init) else {
            throw MessageError("\"device\" is missing or no device")
        }
        self.device = device
        at = try reader.integer("at")
        let kind = try reader.text("kind", bytes: 64)
        guard version <= Self.version else {
            body = .entry(
                StreamEntry(
                    number: try reader.integer("number"), previous: try reader.integer("previous"), content: .unknown))
            return
        }
        switch kind {
        case "description": body = .description(try Description(reader))
        case "presence":
            body = .presence(
                Presence(
                    connection: try reader.integer("connection"), isOnline: try reader.flag("online"),
                    isDuplicated: try reader.optionalFlag("shared"), hasLeft: try reader.optionalFlag("left")))
        case "question":
            let question = Question(
                id: try reader.integer("id"), after: try reader.integer("after"), through: try reader.integer("through")
            )
            guard question.after < question.through else { throw MessageError("\"through\" is not above \"after\"") }
            body = .question(question)
        case "answer": body = .answer(try Answer(reader))
        case "ping": body = .ping(try reader.integer("id"))
        case "pong": body = .pong(try reader.integer("id"))
        default: body = .entry(try StreamEntry(reader))
        }
    }
}

extension Message.Body {
    fileprivate var members: [JSON.Member] {
        switch self {
        case .entry(let entry): entry.members
        case .description(let it):
            JSON.members([
                "kind": "description", "counter": it.counter, "name": it.name, "first": it.first, "last": it.last,
                "attended": it.attended.map(\.description),
            ])
        case .presence(let it):
            JSON.present([
                "kind": "presence", "connection": it.connection, "online": it.isOnline,
                "shared": JSON.ifTrue(it.isDuplicated), "left": JSON.ifTrue(it.hasLeft),
            ])
        case .question(let it):
            JSON.members(["kind": "question", "id": it.id, "after": it.after, "through": it.through])
        case .answer(let it):
            JSON.present([
                "kind": "answer", "id": it.id, "after": it.after, "through": it.through,
                "items": it.items.map { JSON.object($0.members) }, "wait": it.wait > 0 ? it.wait : nil,
            ])
        case .ping(let id): JSON.members(["kind": "ping", "id": id])
        case .pong(let id): JSON.members(["kind": "pong", "id": id])
        }
    }
}

extension StreamEntry {
    fileprivate var members: [JSON.Member] {
        JSON.members(["number": number, "previous": previous]) + content.members
    }

    fileprivate init(_ reader: MemberReader) throws(MessageError) {
        number = try reader.integer("number")
        previous = try reader.integer("previous")
        guard previous < number else { throw MessageError("\"previous\" is not below \"number\"") }
        do throws(MessageError) { content = try Content(reader) } catch { content = .malformed(error.description) }
    }

    /// In an answer each item may be of a version of its own.
    fileprivate init(item json: JSON) throws(MessageError) {
        try self.init(MemberReader(json))
        let version = json["v"]?.integer(as: UInt32.self) ?? 1
        if version > Message.version { content = .unknown }
    }

    /// How many bytes it takes in a message, at most.
    public var encodedCount: Int { JSON.object(members).bytes.count }
}

extension StreamEntry.Content {
    fileprivate var members: [JSON.Member] {
        switch self {
        case .event(let event):
            JSON.present([
                "kind": "event", "source": event.name.source, "event-id": event.name.eventID,
                "topic": event.topic.description, "title": event.title, "body": event.body,
                "published": event.published, "expires": event.expires,
                "fields": event.fields.isEmpty ? nil : JSON(event.fields),
                "options": event.options.isEmpty ? nil : JSON(event.options),
                "retained": JSON.ifTrue(event.isRetained), "silent": JSON.ifTrue(event.isSilent),
                "urgency": event.urgency, "outcome": event.outcome.isEmpty ? nil : event.outcome,
            ])
        case .claim(let claim):
            JSON.present([
                "kind": "claim", "source": claim.name.source, "event-id": claim.name.eventID,
                "topic": claim.topic.description, "form": claim.form.rawValue, "place": claim.place,
                "expires": claim.expires,
            ])
        case .removal(let removal):
            JSON.members([
                "kind": "removal", "source": removal.name.source, "event-id": removal.name.eventID,
                "topic": removal.topic.description, "published": removal.published,
            ])
        case .nothing, .unknown, .malformed: JSON.members(["kind": "nothing"])
        }
    }

    fileprivate init(_ reader: MemberReader) throws(MessageError) {
        switch try reader.text("kind", bytes: 64) {
        case "event":
            self = .event(
                SharedEvent(
                    name: try reader.name(), topic: try reader.topic(),
                    title: try reader.text("title", bytes: 64 << 10),
                    body: try reader.text("body", bytes: 64 << 10), fields: try reader.fields("fields"),
                    options: try reader.fields("options"), published: try reader.integer("published"),
                    expires: try reader.integer("expires"), isRetained: try reader.optionalFlag("retained"),
                    isSilent: try reader.optionalFlag("silent"), urgency: try reader.optionalInteger("urgency"),
                    outcome: try reader.optionalText("outcome", bytes: 64) ?? ""))
        case "claim":
            // A form of a later version is still a claim.
            let form = SharedClaim.Form(rawValue: try reader.text("form", bytes: 64)) ?? .claimed
            self = .claim(
                SharedClaim(
                    name: try reader.name(), topic: try reader.topic(), form: form,
                    place: try reader.optionalText("place", bytes: 64) ?? "",
                    expires: try reader.optionalInteger("expires")))
        case "removal":
            self = .removal(
                SharedRemoval(
                    name: try reader.name(), topic: try reader.topic(), published: try reader.integer("published")))
        case "nothing": self = .nothing
        default: self = .unknown
        }
    }
}

extension Description {
    /// Screens that are announced; rule 15 of docs/link.md.
    public static let maximumAttended = 64

    fileprivate init(_ reader: MemberReader) throws(MessageError) {
        self.init(
            counter: try reader.integer("counter"), name: try reader.text("name", bytes: 64),
            first: try reader.integer("first"), last: try reader.integer("last"))
        guard first <= last else { throw MessageError("\"last\" is below \"first\"") }
        guard let digests = reader.json["attended"] else { return }
        guard let elements = digests.elements, elements.count <= Self.maximumAttended else {
            throw MessageError("\"attended\" is not an array of at most \(Self.maximumAttended) digests")
        }
        attended = elements.compactMap { $0.string.flatMap(Digest.init) }
        guard attended.count == elements.count else {
            throw MessageError("\"attended\" holds something other than digests")
        }
    }
}

extension Answer {
    /// Rows in one answer.
    public static let maximumItems = 1000

    fileprivate init(_ reader: MemberReader) throws(MessageError) {
        self.init(
            id: try reader.integer("id"), after: try reader.integer("after"), through: try reader.integer("through"),
            items: [], wait: try reader.optionalInteger("wait") ?? 0)
        guard after <= through else { throw MessageError("\"through\" is below \"after\"") }
        guard let elements = reader.json["items"]?.elements, elements.count <= Self.maximumItems else {
            throw MessageError("\"items\" is not an array of at most \(Self.maximumItems) messages")
        }
        var last = after
        for element in elements {
            let item = try StreamEntry(item: element)
            guard item.number > last, item.number <= through else {
                throw MessageError("the numbers of an answer do not ascend within its range")
            }
            last = item.number
            items.append(item)
        }
    }
}

extension JSON {
    fileprivate init(_ fields: Fields) {
        self = .object(fields.map { ($0.key, $0.value.typedJSON) })
    }
}

/// The members of an object, and errors that name them.
struct MemberReader {
    let json: JSON

    init(_ json: JSON) {
        self.json = json
    }

    /// Reads what came from the broker.
    init(parsing bytes: [UInt8]) throws(MessageError) {
        guard bytes.count <= Message.maximumBytes else {
            throw MessageError("a message has \(bytes.count) bytes, more than \(Message.maximumBytes)")
        }
        do { json = try JSONParser.parse(bytes) } catch { throw MessageError("\(error)") }
    }

    func integer<Integer: FixedWidthInteger>(_ name: String) throws(MessageError) -> Integer {
        guard let number = json[name]?.integer(as: Integer.self) else {
            throw MessageError("\"\(name)\" is missing or no integer that fits")
        }
        return number
    }

    func optionalInteger<Integer: FixedWidthInteger>(_ name: String) throws(MessageError) -> Integer? {
        json[name] == nil ? nil : try integer(name)
    }

    func text(_ name: String, bytes: Int = .max) throws(MessageError) -> String {
        guard let text = json[name]?.string, text.utf8.count <= bytes else {
            throw MessageError("\"\(name)\" is missing or no text of at most \(bytes) bytes")
        }
        return text
    }

    func optionalText(_ name: String, bytes: Int = .max) throws(MessageError) -> String? {
        json[name] == nil ? nil : try text(name, bytes: bytes)
    }

    func flag(_ name: String) throws(MessageError) -> Bool {
        guard let flag = json[name]?.boolean else { throw MessageError("\"\(name)\" is missing or no boolean") }
        return flag
    }

    func optionalFlag(_ name: String) throws(MessageError) -> Bool {
        json[name] == nil ? false : try flag(name)
    }

    /// Bytes in Base64.
    func data(_ name: String, count: Int? = nil) throws(MessageError) -> [UInt8] {
        guard let data = json[name]?.string.flatMap(Base64.decode), count == nil || data.count == count else {
            throw MessageError("\"\(name)\" is missing or no Base64 of the right length")
        }
        return data
    }

    func topic() throws(MessageError) -> Topic {
        let text = try text("topic", bytes: 255)
        do { return try Topic(text) } catch { throw MessageError("\"topic\": \(error.reason)") }
    }

    func name() throws(MessageError) -> GlobalName {
        GlobalName(
            source: try text("source", bytes: GlobalName.maximumBytes),
            eventID: try text("event-id", bytes: GlobalName.maximumBytes))
    }

    func fields(_ name: String) throws(MessageError) -> Fields {
        guard let value = json[name] else { return Fields() }
        guard let members = value.members, members.count <= 64 else {
            throw MessageError("\"\(name)\" is not an object with at most 64 members")
        }
        var fields = Fields()
        for (key, value) in members {
            guard key.utf8.count <= 255 else { throw MessageError("a name in \"\(name)\" is too long") }
            fields[key] = try Value(typed: value)
        }
        return fields
    }
}

/// What stands on the broker in place of a message: sealed on a line with a key, and signed on a channel. The shell
/// seals, opens, signs and verifies; this is only the text. See docs/link.md.
///
/// On a channel a message is signed first and sealed then.
public enum Envelope: Equatable, Sendable {
    /// `{"v":…,"key":…,"nonce":…,"sealed":…}`: the id of the key, 12 bytes, and the ciphertext with its tag, in Base64.
    case sealed(key: String, nonce: [UInt8], ciphertext: [UInt8])
    /// `{"v":…,"signer":…,"signature":…,"signed":…}`: an Ed25519 key, its signature, and the message, in Base64.
    case signed(signer: [UInt8], signature: [UInt8], message: [UInt8])

    /// The version of envelopes on the private link.
    public static let linkVersion = 1
    /// The version of envelopes on channels. In version 1, the signature did not bind the topic.
    public static let channelVersion = 2

    /// The envelope in JSON, UTF-8.
    public func encoded(version: Int) -> [UInt8] {
        let json: JSON =
            switch self {
            case .sealed(let key, let nonce, let ciphertext):
                ["v": version, "key": key, "nonce": Base64.encode(nonce), "sealed": Base64.encode(ciphertext)]
            case .signed(let signer, let signature, let message):
                [
                    "v": version, "signer": Base64.encode(signer), "signature": Base64.encode(signature),
                    "signed": Base64.encode(message),
                ]
            }
        return json.bytes
    }

    /// - Returns: `nil` if the bytes are JSON without an envelope, such as a message.
    /// - Throws: `MessageError` if they are not JSON, or an envelope that cannot be read or has another version.
    public static func decode(_ bytes: [UInt8], version: Int) throws(MessageError) -> Envelope? {
        let reader = try MemberReader(parsing: bytes)
        let json = reader.json
        guard json["sealed"] != nil || json["signed"] != nil else { return nil }
        guard json["v"]?.integer() == version else { throw MessageError("\"v\" must be \(version)") }
        guard json["sealed"] != nil else {
            return .signed(
                signer: try reader.data("signer", count: 32), signature: try reader.data("signature", count: 64),
                message: try reader.data("signed"))
        }
        return .sealed(
            key: try reader.text("key", bytes: 64), nonce: try reader.data("nonce", count: 12),
            ciphertext: try reader.data("sealed"))
    }
}
