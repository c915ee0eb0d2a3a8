import Crypto
import LinkMessages
import NotifyText

/// The key that all devices of a line share: 32 random bytes.
public struct LineKey: Sendable, CustomStringConvertible {
    /// In bytes.
    public static let count = 32

    /// Eight hexadecimal digits by which messages say which key they are sealed with. They tell nothing of the key.
    public let id: String
    private let secret: SymmetricKey
    /// Names of topics are asked for with every event.
    private let topicKey: SymmetricKey

    /// `nil` if the bytes are not 32.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.count else { return nil }
        secret = SymmetricKey(data: bytes)
        id = hex(Array(bytes: Self.derive(secret, "id", count: 4)))
        topicKey = Self.derive(secret, Purpose.topic.rawValue, count: 32)
    }

    /// Shows no key.
    public var description: String { "(key \(id))" }

    /// The key of the messages that one device says: each has a nonce of its own, which must never occur twice with a
    /// key.
    func messageKey(of device: Device) -> SymmetricKey { Self.derive(secret, "message \(device)", count: 32) }

    /// What the broker may see and must not understand.
    enum Purpose: String {
        case topic, client
    }

    /// The first 32 hexadecimal digits of a keyed hash.
    func digest(_ purpose: Purpose, of text: String) -> String {
        let key = purpose == .topic ? topicKey : Self.derive(secret, purpose.rawValue, count: 32)
        return hex(Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key).prefix(16)))
    }

    /// HKDF with SHA-256: [RFC 5869](https://www.rfc-editor.org/rfc/rfc5869).
    private static func derive(_ secret: SymmetricKey, _ purpose: String, count: Int) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, salt: Array("notifyd link 1".utf8), info: Array(purpose.utf8),
            outputByteCount: count)
    }
}

/// The Ed25519 key with which a device signs what it says on channels. RFC 8032.
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

func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
