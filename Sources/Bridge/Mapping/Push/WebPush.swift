import Crypto
import NotifyText

/// Content in the coding `aes128gcm` with one record;
/// [RFC 8188 section 2](https://www.rfc-editor.org/rfc/rfc8188#section-2).
struct CodedContent: Sendable {
    let salt: [UInt8]
    /// In Web Push, the public key of the sender.
    let keyID: [UInt8]
    /// Ciphertext and tag.
    let record: [UInt8]

    private static let saltLength = 16
    private static let tagLength = 16
    /// Salt, size of a record and the length of the key's id.
    private static let fixedHeader = saltLength + 5
    /// A byte for the delimiter, and the tag.
    private static let leastRecord = 1 + tagLength
    /// An uncompressed point of P-256.
    private static let keyLength = 65
    /// It ends the text of the last record, and another one that of the others.
    private static let lastDelimiter: UInt8 = 2

    /// - Throws: `WebPushError` if it has another form. Nothing is decrypted here.
    init(_ message: [UInt8]) throws(WebPushError) {
        guard message.count <= PushKeys.maximumMessage else { throw .tooLong }
        guard message.count >= Self.fixedHeader else { throw .truncatedHeader }
        let size = message[Self.saltLength..<Self.saltLength + 4].reduce(0) { $0 << 8 | Int($1) }
        // RFC 8188: values of 17 and less are invalid.
        guard size > Self.leastRecord else { throw .recordSize }
        let length = Int(message[Self.fixedHeader - 1])
        guard length == Self.keyLength else { throw .keyLength }
        let begin = Self.fixedHeader + length
        guard message.count >= begin else { throw .truncatedHeader }
        guard message.count - begin >= Self.leastRecord else { throw .truncatedRecord }
        guard message.count - begin <= size else { throw .severalRecords }
        salt = Array(message[..<Self.saltLength])
        keyID = Array(message[Self.fixedHeader..<begin])
        record = Array(message[begin...])
    }

    /// - Parameter input: the keying material that sender and receiver agree on.
    func open(with input: SymmetricKey) throws(WebPushError) -> [UInt8] {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: input, salt: salt, info: Array("Content-Encoding: aes128gcm\0".utf8), outputByteCount: 16)
        // The number of the first record is 0, which leaves the nonce as it is.
        let nonce = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: input, salt: salt, info: Array("Content-Encoding: nonce\0".utf8), outputByteCount: 12)
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: nonce.withUnsafeBytes { Array($0) }),
                ciphertext: record.dropLast(Self.tagLength), tag: record.suffix(Self.tagLength))
            return Array(try AES.GCM.open(box, using: key))
        } catch {
            throw .notAuthentic
        }
    }

    /// The text of a record without its delimiter and padding.
    static func text(ofLastRecord record: [UInt8]) throws(WebPushError) -> [UInt8] {
        guard let end = record.lastIndex(where: { $0 != 0 }) else { throw .noDelimiter }
        guard record[end] == lastDelimiter else { throw .wrongDelimiter }
        return Array(record[..<end])
    }
}

/// The keys of one who receives [Web Push](https://www.rfc-editor.org/rfc/rfc8291): a key pair of the curve P-256 and
/// the secret by which senders are told from the push server. Whoever has ``publicKey`` and ``authentication`` may
/// send.
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

/// The key by which a push server knows the sender: [VAPID](https://www.rfc-editor.org/rfc/rfc8292). Its public half is
/// given at the registration. From then on the push server takes messages only from who signs with the private half; a
/// receiver never sees the signature.
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

/// Why a message cannot be decrypted. It holds nothing of the message.
public enum WebPushError: String, Error, Sendable, CaseIterable {
    /// It is shorter than the header, or ends within it.
    case truncatedHeader = "the message ends within its header"
    /// It is longer than ``PushKeys/maximumMessage``.
    case tooLong = "the message has more than 4096 bytes"
    /// The header says that records are too small to hold anything.
    case recordSize = "the records of the message are too small to hold anything"
    /// The header does not hold the key of a sender.
    case keyLength = """
        the message does not begin with the key of its sender, as RFC 8291 demands; its sender has to use the encoding \
        aes128gcm, not the older aesgcm; Mastodon does so if it is told subscription[standard]=true
        """
    /// What should be the key of the sender is not a point of the curve.
    case senderKey = "the key of the sender is not a point of the curve P-256"
    /// There is more than one record.
    case severalRecords = "the message has several records, and RFC 8291 allows one"
    /// There is no room for a record.
    case truncatedRecord = "the message ends within its record"
    /// It was encrypted for other keys, or changed on the way.
    case notAuthentic = "the message was encrypted for other keys, or changed on the way"
    /// The record does not say where its text ends.
    case noDelimiter = "the message does not say where its text ends"
    /// The record says that another one follows, and none does.
    case wrongDelimiter = "the message ends before its last record"
}

extension WebPushError: CustomStringConvertible {
    /// What is wrong, without the end of a sentence.
    public var description: String { rawValue }
}

/// base64url without padding, as Web Push writes keys;
/// [RFC 7515 section 2](https://www.rfc-editor.org/rfc/rfc7515#section-2).
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        let text = Base64.encode(bytes).utf8.compactMap { character -> UInt8? in
            switch character {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: character
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// `nil` if the text is anything else. Padding is accepted where it would be right.
    package static func decode(_ text: String) -> [UInt8]? {
        var characters: [UInt8] = []
        for character in text.utf8 {
            switch character {
            case UInt8(ascii: "-"): characters.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): characters.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"): return nil
            default: characters.append(character)
            }
        }
        if characters.last != UInt8(ascii: "=") {
            characters += [UInt8](repeating: UInt8(ascii: "="), count: (4 - characters.count % 4) % 4)
        }
        return Base64.decode(String(decoding: characters, as: UTF8.self))
    }
}
