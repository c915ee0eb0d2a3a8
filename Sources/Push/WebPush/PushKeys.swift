import Crypto

/// The keys of one who receives [Web Push](https://www.rfc-editor.org/rfc/rfc8291): a key pair of the curve P-256 and the secret by
/// which senders are told from the push server. Whoever has ``publicKey`` and ``authentication`` may send.
public struct PushKeys: Sendable {
    private let privateKey: P256.KeyAgreement.PrivateKey
    private let authenticationBytes: [UInt8]

    /// The longest message in bytes, the header included; RFC 8291 section 4.
    public static let maximumMessage = 4096
    static let authenticationLength = 16

    /// Makes new keys.
    public init() {
        privateKey = P256.KeyAgreement.PrivateKey()
        var random = SystemRandomNumberGenerator()
        authenticationBytes = (0..<Self.authenticationLength).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    /// Keys that were kept; `nil` if they are none.
    ///
    /// - Parameters:
    ///   - privateBytes: the 32 bytes of ``privateBytes``.
    ///   - authentication: the 16 bytes of the secret.
    public init?(privateBytes: [UInt8], authentication: [UInt8]) {
        guard authentication.count == Self.authenticationLength,
            let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: privateBytes)
        else { return nil }
        privateKey = key
        authenticationBytes = authentication
    }

    /// The private key, to be kept.
    public var privateBytes: [UInt8] { Array(privateKey.rawRepresentation) }

    /// The secret, to be kept.
    public var authentication: [UInt8] { authenticationBytes }

    /// The public key as senders want it (`p256dh`): an uncompressed point of 65 bytes.
    public var publicKey: [UInt8] { Array(privateKey.publicKey.x963Representation) }

    /// Decrypts a message; [RFC 8291 section 3](https://www.rfc-editor.org/rfc/rfc8291#section-3).
    ///
    /// - Returns: what the sender wrote, without padding.
    /// - Throws: `WebPushError`.
    public func open(_ message: [UInt8]) throws(WebPushError) -> [UInt8] {
        let coded = try CodedContent(message)
        let sender: P256.KeyAgreement.PublicKey
        let shared: SharedSecret
        do {
            sender = try P256.KeyAgreement.PublicKey(x963Representation: coded.keyID)
            shared = try privateKey.sharedSecretFromKeyAgreement(with: sender)
        } catch {
            throw .senderKey
        }
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: authenticationBytes,
            sharedInfo: Array("WebPush: info\0".utf8) + publicKey + coded.keyID, outputByteCount: 32)
        let record = try coded.open(with: input)
        return try CodedContent.text(ofLastRecord: record)
    }
}
