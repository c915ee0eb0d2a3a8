import NotifyJSON
import NotifyText

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
