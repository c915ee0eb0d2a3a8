import Crypto
import NotifyText

/// Turns messages of one line into what stands on the broker, and back: sealed where the line has a key, signed on a
/// channel. `docs/link.md` has the format.
public struct LineCipher: Sendable {
    /// Two may be accepted at once; the first one seals.
    private let keys: [LineKey]
    private let signer: SigningKey?
    private let own: Device
    /// Of the envelopes.
    private var version: Int { signer == nil ? Envelope.linkVersion : Envelope.channelVersion }
    /// The keys of devices from which messages came, by the name of the key in the envelope.
    private var messageKeys: [String: SymmetricKey] = [:]
    private static let maximumMessageKeys = 2048

    /// - Parameters:
    ///   - own: who seals.
    ///   - keys: none for a line that everybody can read; the first one seals.
    ///   - signer: for a channel.
    public init(own: Device, keys: [LineKey], signer: SigningKey? = nil) {
        self.own = own
        self.keys = keys
        self.signer = signer
    }

    /// Whether the line has a key.
    public var isSealed: Bool { !keys.isEmpty }

    /// Bytes of a nonce: RFC 8439, section 2.8. A combined box begins with it.
    private static let nonceCount = 12

    // MARK: Names that the broker sees

    /// The name of a topic on the broker: `v/DIGEST`, and screens.
    public func digest(of topic: String) -> Linking.Digest {
        Linking.Digest(name(.topic, of: topic))!
    }

    /// The id of the session on the broker. Brokers of MQTT 3.1.1 need not take more than 23 characters.
    public func clientID(line: String) -> String { "n" + name(.client, of: "\(line) \(own)").prefix(22) }

    private func name(_ purpose: LineKey.Purpose, of text: String) -> String {
        if let key = keys.first { return key.digest(purpose, of: text) }
        return SHA256.hash(data: Array(text.utf8)).prefix(16).hexadecimal
    }

    // MARK: Messages

    /// How long the text of a message may be, in bytes, so that it fits into a payload on the broker.
    public func longestText(inPayload count: Int) -> Int {
        func inside(_ count: Int, _ frame: Envelope) -> Int {
            max(0, (count - frame.encoded(version: version).count) / 4 * 3)
        }
        var count = count
        if let key = keys.first {
            let nonce = [UInt8](repeating: 0, count: Self.nonceCount)
            count = inside(count, .sealed(key: "\(key.id).\(own)", nonce: nonce, ciphertext: [])) - 16
        }
        if let signer {
            let signature = [UInt8](repeating: 0, count: 64)
            count = inside(count, .signed(signer: signer.publicBytes, signature: signature, message: []))
        }
        return max(0, count)
    }

    /// A message as it stands on a topic of the broker. The topic is the whole one, with the prefix of the line.
    public mutating func seal(_ message: Message, on topic: String) throws -> [UInt8] {
        try seal(message, on: topic, nonce: ChaChaPoly.Nonce())
    }

    mutating func seal(_ message: Message, on topic: String, nonce: ChaChaPoly.Nonce) throws -> [UInt8] {
        var text = message.encoded
        if let signer {
            let signature = try signer.sign(Self.signed(text, on: topic))
            text = Envelope.signed(signer: signer.publicBytes, signature: signature, message: text)
                .encoded(version: version)
        }
        guard let key = keys.first else { return text }
        let name = "\(key.id).\(own)"
        let box = try ChaChaPoly.seal(
            text, using: messageKey(key, of: own, name), nonce: nonce, authenticating: header(name, topic))
        let combined = Array(box.combined)
        return Envelope.sealed(
            key: name, nonce: Array(combined.prefix(Self.nonceCount)),
            ciphertext: Array(combined.dropFirst(Self.nonceCount))
        ).encoded(version: version)
    }

    /// What came from the broker.
    public mutating func open(_ payload: [UInt8], on topic: String) -> Delivery.Content {
        if payload.isEmpty { return .empty }
        guard isSealed || signer != nil else {
            do throws(MessageError) {
                return .message(try Message(decoding: payload), signer: nil)
            } catch {
                // Sealed by those who have a key.
                return (try? Envelope.decode(payload, version: version)) != nil ? .unopened : .malformed(error)
            }
        }
        var text = payload
        var device: Device?
        if isSealed {
            guard let opened = unseal(payload, on: topic) else { return .unopened }
            (text, device) = opened
        }
        var who: Signer?
        if signer != nil {
            guard case .signed(let signer, let signature, let message) = try? Envelope.decode(text, version: version)
            else { return .unopened }
            guard SigningKey.verifies(signature, of: Self.signed(message, on: topic), by: signer) else {
                return .forged
            }
            text = message
            who = Signer(Base64.encode(signer))
        }
        do throws(MessageError) {
            let message = try Message(decoding: text)
            // Every device has the key of every other: this keeps mistakes apart, not people.
            guard device == nil || device == message.device else { return .forged }
            return .message(message, signer: who)
        } catch {
            return .malformed(error)
        }
    }

    private mutating func unseal(_ payload: [UInt8], on topic: String) -> ([UInt8], Device)? {
        guard case .sealed(let name, let nonce, let ciphertext) = try? Envelope.decode(payload, version: version),
            let dot = name.firstIndex(of: "."), let key = keys.first(where: { $0.id == name[..<dot] }),
            let device = Device(name[name.index(after: dot)...]),
            let box = try? ChaChaPoly.SealedBox(combined: nonce + ciphertext),
            let text = try? ChaChaPoly.open(
                box, using: messageKey(key, of: device, name), authenticating: header(name, topic))
        else { return nil }
        return (Array(text), device)
    }

    /// What is authenticated besides the message: a message cannot be moved to another topic.
    private func header(_ name: String, _ topic: String) -> [UInt8] {
        Array("\(version) \(name) \(topic)".utf8)
    }

    /// What is signed: a member cannot move what another one has signed to another topic, or to another channel.
    private static func signed(_ message: [UInt8], on topic: String) -> [UInt8] {
        var bytes = Array("notifyd channel".utf8)
        bytes.append(UInt8(Envelope.channelVersion))
        let count = UInt16(clamping: topic.utf8.count)
        bytes += [UInt8(count >> 8), UInt8(count & 0xFF)]
        return bytes + topic.utf8 + message
    }

    private mutating func messageKey(_ key: LineKey, of device: Device, _ name: String) -> SymmetricKey {
        if let known = messageKeys[name] { return known }
        // Only who has the key of the line can make this grow, and the number of devices has a limit elsewhere.
        if messageKeys.count >= Self.maximumMessageKeys { messageKeys = [:] }
        let derived = key.messageKey(of: device)
        messageKeys[name] = derived
        return derived
    }
}

/// The key that all devices of a line share: 32 random bytes.
public struct LineKey: Sendable, CustomStringConvertible {
    /// In bytes.
    public static let count = 32

    /// Eight hexadecimal digits by which messages say which key they are sealed with. They tell nothing of the key.
    public let id: String
    private let secret: SymmetricKey
    /// Names of topics are needed for every event.
    private let topicKey: SymmetricKey

    /// `nil` if the bytes are not 32.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.count else { return nil }
        secret = SymmetricKey(data: bytes)
        id = Array(bytes: Self.derive(secret, "id", count: 4)).hexadecimal
        topicKey = Self.derive(secret, Purpose.topic.rawValue, count: 32)
    }

    /// Shows no key.
    public var description: String { "(key \(id))" }

    /// The key of the messages of one device: each has a nonce of its own, which must never occur twice with a
    /// key.
    func messageKey(of device: Device) -> SymmetricKey { Self.derive(secret, "message \(device)", count: 32) }

    /// What the broker may see and must not understand.
    enum Purpose: String {
        case topic, client
    }

    /// The first 32 hexadecimal digits of a keyed hash.
    func digest(_ purpose: Purpose, of text: String) -> String {
        let key = purpose == .topic ? topicKey : Self.derive(secret, purpose.rawValue, count: 32)
        return HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key).prefix(16).hexadecimal
    }

    /// HKDF with SHA-256: [RFC 5869](https://www.rfc-editor.org/rfc/rfc5869).
    private static func derive(_ secret: SymmetricKey, _ purpose: String, count: Int) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, salt: Array("notifyd link 1".utf8), info: Array(purpose.utf8),
            outputByteCount: count)
    }
}

/// The Ed25519 key with which a device signs its messages on channels. RFC 8032.
public struct SigningKey: Sendable, CustomStringConvertible {
    private let key: Curve25519.Signing.PrivateKey

    /// A random one.
    public init() {
        key = Curve25519.Signing.PrivateKey()
    }

    /// `nil` if the bytes are not 32.
    public init?(_ bytes: [UInt8]) {
        guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes) else { return nil }
        self.key = key
    }

    /// The private key, to be kept.
    public var bytes: [UInt8] { Array(key.rawRepresentation) }
    /// The public key.
    public var publicBytes: [UInt8] { Array(key.publicKey.rawRepresentation) }
    /// Shows the public key only.
    public var description: String { Base64.encode(publicBytes) }

    func sign(_ bytes: [UInt8]) throws -> [UInt8] { Array(try key.signature(for: bytes)) }

    static func verifies(_ signature: [UInt8], of message: [UInt8], by signer: [UInt8]) -> Bool {
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: signer) else { return false }
        return key.isValidSignature(signature, for: message)
    }
}

extension [UInt8] {
    init(bytes key: SymmetricKey) {
        self = key.withUnsafeBytes { Array($0) }
    }
}
