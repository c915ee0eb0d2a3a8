import Crypto

/// The key by which a push server knows the sender: [VAPID](https://www.rfc-editor.org/rfc/rfc8292). Its public half is given at the
/// registration. From then on the push server takes messages only from who signs with the private half; a receiver
/// never sees the signature.
public struct ServerKey: Sendable {
    /// An uncompressed point of P-256, 65 bytes.
    public let publicKey: [UInt8]
    /// `nil`: only the sender has it.
    public let privateBytes: [UInt8]?

    /// Makes a key pair, of which the sender gets the private half.
    public init() {
        let key = P256.Signing.PrivateKey()
        publicKey = Array(key.publicKey.x963Representation)
        privateBytes = Array(key.rawRepresentation)
    }

    /// The public key of a sender.
    ///
    /// - Parameter text: 87 characters of base64url; `nil` if it is none of a point of the curve.
    public init?(_ text: String) {
        guard text.utf8.count == 87, let bytes = Base64URL.decode(text),
            let key = try? P256.Signing.PublicKey(x963Representation: bytes)
        else { return nil }
        publicKey = Array(key.x963Representation)
        privateBytes = nil
    }

    /// A key pair that was kept.
    public init?(privateBytes: [UInt8]) {
        guard let key = try? P256.Signing.PrivateKey(rawRepresentation: privateBytes) else { return nil }
        publicKey = Array(key.publicKey.x963Representation)
        self.privateBytes = privateBytes
    }
}

extension ServerKey: CustomStringConvertible {
    /// The public key in base64url.
    public var description: String { Base64URL.encode(publicKey) }
}
