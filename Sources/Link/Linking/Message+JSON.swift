import NotifyText

/// The text of messages. A decoder passes over members it does not know; an unknown kind and a greater version are kept
/// as `Said.Content.unknown` where the number is known.
extension Message {
    /// The message in JSON, UTF-8.
    public var encoded: [UInt8] {
        var members: [JSON.Member] = [
            ("v", .integer(Self.version)), ("device", .string(device.description)),
            ("at", .integer(at)),
        ]
        switch body {
        case .said(let said): members += said.members
        case .description(let description): members += description.members
        case .presence(let presence):
            members += [
                ("kind", .string("presence")), ("connection", .integer(presence.connection)),
                ("online", .boolean(presence.isOnline)),
            ]
            if presence.isShared { members.append(("shared", .boolean(true))) }
            if presence.hasLeft { members.append(("left", .boolean(true))) }
        case .question(let question):
            members += [
                ("kind", .string("question")), ("id", .integer(question.id)),
                ("after", .integer(question.after)), ("through", .integer(question.through)),
            ]
        case .answer(let answer): members += answer.members
        case .ping(let id): members += [("kind", .string("ping")), ("id", .integer(id))]
        case .pong(let id): members += [("kind", .string("pong")), ("id", .integer(id))]
        }
        return JSON.object(members).bytes
    }

    /// - Throws: `MessageError`, which says what was wrong.
    public init(decoding bytes: [UInt8]) throws(MessageError) {
        guard bytes.count <= Self.maximumBytes else {
            throw MessageError("a message has \(bytes.count) bytes, more than \(Self.maximumBytes)")
        }
        let json: JSON
        do { json = try JSONParser.parse(bytes) } catch { throw MessageError("\(error)") }
        let reader = Reader(json)
        let version = try reader.integer("v") as UInt32
        guard version >= 1 else { throw MessageError("\"v\" is not 1 or more") }
        device = try reader.device("device")
        at = try reader.integer("at")
        let kind = try reader.text("kind", bytes: 64)
        guard version <= Self.version else {
            body = .said(Said(number: try reader.integer("number"), previous: try reader.previous(), content: .unknown))
            return
        }
        switch kind {
        case "description": body = .description(try Description(reader))
        case "presence":
            body = .presence(
                Presence(
                    connection: try reader.integer("connection"), isOnline: try reader.flag("online"),
                    isShared: try reader.optionalFlag("shared"), hasLeft: try reader.optionalFlag("left")))
        case "question":
            let question = Question(
                id: try reader.integer("id"), after: try reader.integer("after"), through: try reader.integer("through")
            )
            guard question.after < question.through else { throw MessageError("\"through\" is not above \"after\"") }
            body = .question(question)
        case "answer": body = .answer(try Answer(reader))
        case "ping": body = .ping(try reader.integer("id"))
        case "pong": body = .pong(try reader.integer("id"))
        default: body = .said(try Said(reader))
        }
    }
}

extension Said {
    fileprivate var members: [JSON.Member] {
        let members: [JSON.Member] = [("number", .integer(number)), ("previous", .integer(previous))]
        switch content {
        case .event(let event): return members + event.members
        case .claim(let claim): return members + claim.members
        case .removal(let removal): return members + removal.members
        case .nothing, .unknown, .malformed: return members + [("kind", .string("nothing"))]
        }
    }

    fileprivate init(_ reader: Reader) throws(MessageError) {
        number = try reader.integer("number")
        previous = try reader.previous()
        guard previous < number else { throw MessageError("\"previous\" is not below \"number\"") }
        do throws(MessageError) { content = try Content(reader) } catch { content = .malformed(error.description) }
    }

    /// In an answer each item may be of a version of its own.
    fileprivate init(item json: JSON) throws(MessageError) {
        let reader = Reader(json)
        try self.init(reader)
        let version = json["v"]?.integer(as: UInt32.self) ?? 1
        if version > Message.version { content = .unknown }
    }

    /// How many bytes it takes in a message, at most.
    public var encodedCount: Int { JSON.object(members).bytes.count }
}

extension Said.Content {
    fileprivate init(_ reader: Reader) throws(MessageError) {
        switch try reader.text("kind", bytes: 64) {
        case "event": self = .event(try SaidEvent(reader))
        case "claim": self = .claim(try SaidClaim(reader))
        case "removal":
            self = .removal(
                SaidRemoval(
                    name: try reader.name(), topic: try reader.topic(), published: try reader.integer("published")))
        case "nothing": self = .nothing
        default: self = .unknown
        }
    }
}

extension SaidEvent {
    fileprivate var members: [JSON.Member] {
        var members: [JSON.Member] =
            [("kind", .string("event"))] + name.members + [
                ("topic", .string(topic.description)), ("title", .string(title)),
                ("body", .string(body)), ("published", .integer(published)),
                ("expires", .integer(expires)),
            ]
        if !fields.isEmpty { members.append(("fields", JSON(fields))) }
        if !options.isEmpty { members.append(("options", JSON(options))) }
        if isRetained { members.append(("retained", .boolean(true))) }
        if isSilent { members.append(("silent", .boolean(true))) }
        if let urgency { members.append(("urgency", .integer(urgency))) }
        if !outcome.isEmpty { members.append(("outcome", .string(outcome))) }
        return members
    }

    fileprivate init(_ reader: Reader) throws(MessageError) {
        self.init(
            name: try reader.name(), topic: try reader.topic(), title: try reader.text("title", bytes: 64 << 10),
            body: try reader.text("body", bytes: 64 << 10), fields: try reader.fields("fields"),
            options: try reader.fields("options"), published: try reader.integer("published"),
            expires: try reader.integer("expires"), isRetained: try reader.optionalFlag("retained"),
            isSilent: try reader.optionalFlag("silent"), urgency: try reader.optionalInteger("urgency"),
            outcome: try reader.optionalText("outcome", bytes: 64))
    }
}

extension SaidClaim {
    fileprivate var members: [JSON.Member] {
        var members: [JSON.Member] =
            [("kind", .string("claim"))] + name.members + [
                ("topic", .string(topic.description)), ("form", .string(form.rawValue)),
                ("place", .string(place)),
            ]
        if let expires { members.append(("expires", .integer(expires))) }
        return members
    }

    fileprivate init(_ reader: Reader) throws(MessageError) {
        // A form of a later version is still a claim.
        let form = Form(rawValue: try reader.text("form", bytes: 64)) ?? .claimed
        self.init(
            name: try reader.name(), topic: try reader.topic(), form: form,
            place: try reader.optionalText("place", bytes: 64), expires: try reader.optionalInteger("expires"))
    }
}

extension SaidRemoval {
    fileprivate var members: [JSON.Member] {
        [("kind", .string("removal"))] + name.members + [
            ("topic", .string(topic.description)), ("published", .integer(published)),
        ]
    }
}

extension Description {
    /// Screens that are told; rule 15 of docs/link.md.
    public static let maximumAttended = 64

    fileprivate var members: [JSON.Member] {
        [
            ("kind", .string("description")), ("counter", .integer(counter)),
            ("name", .string(name)), ("first", .integer(first)),
            ("last", .integer(last)),
            ("attended", .array(attended.map { .string($0.description) })),
        ]
    }

    fileprivate init(_ reader: Reader) throws(MessageError) {
        self.init(
            counter: try reader.integer("counter"), name: try reader.text("name", bytes: 64),
            first: try reader.integer("first"), last: try reader.integer("last"))
        guard first <= last else { throw MessageError("\"last\" is below \"first\"") }
        guard let digests = reader.json["attended"] else { return }
        guard let elements = digests.elements, elements.count <= Self.maximumAttended else {
            throw MessageError("\"attended\" is not an array of at most \(Self.maximumAttended) digests")
        }
        for element in elements {
            guard let digest = element.string.flatMap(Digest.init) else {
                throw MessageError("\"attended\" holds something other than digests")
            }
            attended.append(digest)
        }
    }
}

extension Answer {
    /// Rows in one answer.
    public static let maximumItems = 1000

    fileprivate var members: [JSON.Member] {
        var members: [JSON.Member] = [
            ("kind", .string("answer")), ("id", .integer(id)),
            ("after", .integer(after)), ("through", .integer(through)),
            ("items", .array(items.map { .object($0.members) })),
        ]
        if wait > 0 { members.append(("wait", .integer(wait))) }
        return members
    }

    fileprivate init(_ reader: Reader) throws(MessageError) {
        self.init(
            id: try reader.integer("id"), after: try reader.integer("after"), through: try reader.integer("through"),
            items: [], wait: try reader.optionalInteger("wait") ?? 0)
        guard after <= through else { throw MessageError("\"through\" is below \"after\"") }
        guard let elements = reader.json["items"]?.elements, elements.count <= Self.maximumItems else {
            throw MessageError("\"items\" is not an array of at most \(Self.maximumItems) messages")
        }
        var last = after
        for element in elements {
            let item = try Said(item: element)
            guard item.number > last, item.number <= through else {
                throw MessageError("the numbers of an answer do not ascend within its range")
            }
            last = item.number
            items.append(item)
        }
    }
}

extension GlobalName {
    fileprivate var members: [JSON.Member] {
        [("source", .string(source)), ("event-id", .string(eventID))]
    }
}

extension JSON {
    fileprivate init(_ fields: Fields) {
        self = .object(fields.map { ($0.key, $0.value.typedJSON) })
    }
}

/// The members of a message, and errors that name them.
private struct Reader {
    let json: JSON

    init(_ json: JSON) {
        self.json = json
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

    func previous() throws(MessageError) -> UInt64 { try integer("previous") }

    func text(_ name: String, bytes: Int) throws(MessageError) -> String {
        guard let text = json[name]?.string, text.utf8.count <= bytes else {
            throw MessageError("\"\(name)\" is missing or no text of at most \(bytes) bytes")
        }
        return text
    }

    func optionalText(_ name: String, bytes: Int) throws(MessageError) -> String {
        json[name] == nil ? "" : try text(name, bytes: bytes)
    }

    func flag(_ name: String) throws(MessageError) -> Bool {
        guard let flag = json[name]?.boolean else { throw MessageError("\"\(name)\" is missing or no boolean") }
        return flag
    }

    func optionalFlag(_ name: String) throws(MessageError) -> Bool {
        json[name] == nil ? false : try flag(name)
    }

    func device(_ name: String) throws(MessageError) -> Device {
        guard let device = json[name]?.string.flatMap(Device.init) else {
            throw MessageError("\"\(name)\" is missing or no device")
        }
        return device
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
        let version: JSON.Member = ("v", .integer(version))
        switch self {
        case .sealed(let key, let nonce, let ciphertext):
            return JSON.object([
                version, ("key", .string(key)), ("nonce", .string(Base64.encode(nonce))),
                ("sealed", .string(Base64.encode(ciphertext))),
            ]).bytes
        case .signed(let signer, let signature, let message):
            return JSON.object([
                version, ("signer", .string(Base64.encode(signer))),
                ("signature", .string(Base64.encode(signature))),
                ("signed", .string(Base64.encode(message))),
            ]).bytes
        }
    }

    /// - Returns: `nil` if the bytes are JSON without an envelope, such as a message.
    /// - Throws: `MessageError` if they are not JSON, or an envelope that cannot be read or has another version.
    public static func decode(_ bytes: [UInt8], version: Int) throws(MessageError) -> Envelope? {
        guard bytes.count <= Message.maximumBytes else {
            throw MessageError("a message has \(bytes.count) bytes, more than \(Message.maximumBytes)")
        }
        let json: JSON
        do { json = try JSONParser.parse(bytes) } catch { throw MessageError("\(error)") }
        func data(_ name: String, count: Int? = nil) throws(MessageError) -> [UInt8] {
            guard let data = json[name]?.string.flatMap(Base64.decode), count == nil || data.count == count else {
                throw MessageError("\"\(name)\" is missing or no Base64 of the right length")
            }
            return data
        }
        guard json["sealed"] != nil || json["signed"] != nil else { return nil }
        guard json["v"]?.integer() == version else { throw MessageError("\"v\" must be \(version)") }
        if json["sealed"] != nil {
            guard let key = json["key"]?.string, key.utf8.count <= 64 else {
                throw MessageError("\"key\" is missing or no text of at most 64 bytes")
            }
            return .sealed(key: key, nonce: try data("nonce", count: 12), ciphertext: try data("sealed"))
        }
        return .signed(
            signer: try data("signer", count: 32), signature: try data("signature", count: 64),
            message: try data("signed"))
    }
}
