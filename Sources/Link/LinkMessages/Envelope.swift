import NotifyJSON
import NotifyText
/// What stands on the broker in place of a message: sealed on a line with a key, and signed on a channel. The shell seals, opens,
/// signs and verifies; this is only the text. LINK.md section 3.
///
/// On a channel a message is signed first and sealed then.
public enum Envelope: Equatable, Sendable {
    /// `{"v":1,"key":…,"nonce":…,"sealed":…}`: the id of the key, 12 bytes, and the ciphertext with its tag, in Base64.
    case sealed(key: String, nonce: [UInt8], ciphertext: [UInt8])
    /// `{"v":1,"signer":…,"signature":…,"signed":…}`: an Ed25519 key, its signature, and the bytes that are signed, in Base64.
    case signed(signer: [UInt8], signature: [UInt8], message: [UInt8])

    /// The envelope in JSON, UTF-8.
    public var encoded: [UInt8] {
        let version: JSON.Member = ("v", .integer(Message.version))
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
    /// - Throws: `MessageError` if they are no JSON, or an envelope that cannot be read.
    public static func decode(_ bytes: [UInt8]) throws(MessageError) -> Envelope? {
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
        if json["sealed"] != nil {
            guard let key = json["key"]?.string, key.utf8.count <= 64 else {
                throw MessageError("\"key\" is missing or no text of at most 64 bytes")
            }
            return .sealed(key: key, nonce: try data("nonce", count: 12), ciphertext: try data("sealed"))
        }
        if json["signed"] != nil {
            return .signed(
                signer: try data("signer", count: 32), signature: try data("signature", count: 64),
                message: try data("signed"))
        }
        return nil
    }
}
