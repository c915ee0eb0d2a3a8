import Crypto
import Mapping
import NotifyBridge
import NotifyText

/// A place where one sender pushes to: what is kept of it on disk.
struct PushEndpoint: Sendable {
    /// For people, and in the configuration.
    let name: String
    /// Its events are there or below.
    let topic: Topic
    /// By which the distributor and this program call it. Who knows it could pretend to be the distributor, if not for
    /// the name on the bus.
    let token: String
    /// Tells the names of its events from those of an endpoint that had the same name before.
    let generation: String
    let keys: PushKeys
    /// `nil`: the push server takes messages from anybody who knows the address.
    let server: ServerKey?
    /// Where the sender sends to; empty until the distributor has said it.
    var address = ""
    /// When the distributor said another address than before, in microseconds since the epoch; 0 if never.
    var changed: Int64 = 0
    /// The name on the bus of the one that knows it; empty if none does.
    var distributor = ""

    static let maximumCount = 64
    static let maximumName = 32
    /// What the specification of UnifiedPush allows.
    static let maximumAddress = 1000
    static let maximumToken = 100
    static let nameRule = "1 to \(maximumName) letters, digits, -, _ and ., the first a letter or a digit"
    static let recordPrefix = "endpoint/"

    /// Makes an endpoint with keys of its own.
    init(name: String, topic: Topic, server: ServerKey?) {
        self.name = name
        self.topic = topic
        token = Self.random(bytes: 32)
        generation = Self.random(bytes: 6)
        keys = PushKeys()
        self.server = server
    }

    private static func random(bytes count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return Base64URL.encode((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= maximumName else { return false }
        return (first.isLetter || first.isDigit)
            && text.utf8.allSatisfy { $0.isNameCharacter || $0 == UInt8(ascii: ".") }
    }

    /// Why senders cannot push to an address; `nil` if they can. An address is secret, and is not quoted.
    static func flaw(ofAddress text: String) -> String? {
        let count = text.utf8.count
        let given: String? =
            if count == 0 {
                "no address"
            } else if count > maximumAddress {
                "an address of \(count) bytes"
            } else if !["https://", "http://"].contains(where: { text.hasPrefix($0) && count > $0.utf8.count }) {
                "an address that is none of https:// or http://"
            } else if !text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) {
                "an address with a space or another character that is not printable ASCII"
            } else if Authority(ofAddress: text) == nil {
                "an address whose host or port is none: \(Authority.rule)"
            } else {
                nil
            }
        return given.map {
            "the distributor gives \($0); it must be one such as https://push.example/… of at most "
                + "\(maximumAddress) bytes"
        }
    }

    /// The `source` of its events.
    var source: String { "unifiedpush:\(name):\(generation)" }

    // MARK: Its record

    var change: RecordChange {
        let record = JSON.object(present: [
            "name": name, "topic": topic.description, "token": token, "generation": generation,
            "private": Base64URL.encode(keys.privateBytes), "auth": Base64URL.encode(keys.authentication),
            "address": address, "changed": changed, "distributor": distributor, "vapid": server.map { "\($0)" },
            "vapid-private": server?.privateBytes.map(Base64URL.encode),
        ])
        return .put(Self.recordPrefix + name, record.bytes)
    }

    /// `nil` if it is not a record of an endpoint.
    init?(record: [UInt8]) {
        guard let json = try? JSONParser.parse(record), let name = json["name"]?.string, !name.isEmpty,
            let topic = json["topic"]?.string.flatMap({ try? Topic($0) }), let token = json["token"]?.string,
            let generation = json["generation"]?.string, let bytes = json.bytes("private"),
            let authentication = json.bytes("auth"),
            let keys = PushKeys(privateBytes: bytes, authentication: authentication)
        else { return nil }
        (self.name, self.topic, self.token, self.generation, self.keys) = (name, topic, token, generation, keys)
        address = json["address"]?.string ?? ""
        changed = json["changed"]?.integer() ?? 0
        distributor = json["distributor"]?.string ?? ""
        server =
            json.bytes("vapid-private").flatMap { ServerKey(privateBytes: $0) }
            ?? json["vapid"]?.string.flatMap { ServerKey($0) }
    }
}

extension JSON {
    fileprivate func bytes(_ name: String) -> [UInt8]? { self[name]?.string.flatMap(Base64URL.decode) }
}

/// What is known about an endpoint since the start.
struct Registration: Sendable {
    /// The name of the distributor that was asked to register it.
    var distributor = ""
    /// The unique name of the distributor that has registered it.
    var owner: String?
    /// What is wrong with the address that the distributor gives.
    var flaw: String?
    /// Why it is not registered, or not where it should be.
    var problem: Problem?

    struct Problem: Error, Equatable, Sendable {
        var text: String
        /// Whether nothing changes until somebody does something.
        var needsUser = false
        /// What to do about it.
        var advice = BridgeStatus.goesOn
    }
}

/// A problem that nobody has to do something about.
extension Registration.Problem: ExpressibleByStringInterpolation {
    init(stringLiteral text: String) { self.init(text: text) }
}

/// A registration that has no use any more, and that its distributor does not know of yet: its endpoint was removed, or
/// belongs to another distributor. It is kept on disk until it is ended.
struct FormerRegistration: Equatable, Sendable {
    let token: String
    /// The name on the bus.
    let distributor: String

    static let recordPrefix = "removed/"

    private var key: String { Self.recordPrefix + token + "/" + distributor }

    // MARK: Its record

    var change: RecordChange { .put(key, text: distributor) }
    var removal: RecordChange { .remove(key) }
}

extension FormerRegistration {
    /// `nil` if it is not a record of one.
    init?(key: String) {
        let parts = key.dropFirst(Self.recordPrefix.count).split(separator: "/")
        guard key.hasPrefix(Self.recordPrefix), parts.count == 2 else { return nil }
        self.init(token: String(parts[0]), distributor: String(parts[1]))
    }
}

/// A message as the distributor has delivered it.
struct DeliveredPush: Equatable, Sendable {
    /// When, in microseconds since the epoch.
    let at: Int64
    /// Of the endpoint.
    let token: String
    /// Encrypted.
    let message: [UInt8]

    /// The same for the same message. Every one has a salt of its own, so those of two messages differ.
    var digest: String {
        // RFC 8188, section 2.1: a salt of 16 bytes, and the size of records. That alone does not enter into the keys,
        // so whoever carries the message can change it.
        var sealed = message
        for index in 16..<20 where index < sealed.count { sealed[index] = 0 }
        return SHA256.hash(data: sealed).prefix(16).hexadecimal
    }

    // MARK: Its record

    var record: [UInt8] { Array("\(at) \(token)\n".utf8) + message }
}

extension DeliveredPush {
    /// `nil` if it is not a record of a message.
    init?(record: [UInt8]) {
        guard let end = record.firstIndex(of: UInt8(ascii: "\n")),
            let space = record[..<end].firstIndex(of: UInt8(ascii: " ")),
            let at = Int64(String(decoding: record[..<space], as: UTF8.self))
        else { return nil }
        self.at = at
        token = String(decoding: record[(space + 1)..<end], as: UTF8.self)
        message = Array(record[(end + 1)...])
    }
}
