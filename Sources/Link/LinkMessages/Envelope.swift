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
        let version = JSON.Member("v", .integer(Message.version))
        switch self {
        case .sealed(let key, let nonce, let ciphertext):
            return JSON.object([
                version, JSON.Member("key", .string(key)), JSON.Member("nonce", .string(Base64.encode(nonce))),
                JSON.Member("sealed", .string(Base64.encode(ciphertext))),
            ]).bytes
        case .signed(let signer, let signature, let message):
            return JSON.object([
                version, JSON.Member("signer", .string(Base64.encode(signer))),
                JSON.Member("signature", .string(Base64.encode(signature))),
                JSON.Member("signed", .string(Base64.encode(message))),
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

/// Base64 with padding ([RFC 4648](https://www.rfc-editor.org/rfc/rfc4648) section 4), and no other.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")
    private static let digits: [UInt8] = {
        var digits = [UInt8](repeating: 0xFF, count: 256)
        for (digit, character) in alphabet.enumerated() { digits[Int(character)] = UInt8(digit) }
        return digits
    }()

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for place in 0..<4 {
                let digit = alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)]
                text.append(place <= group.count ? digit : padding)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// `nil` if the text is anything else, bits beyond the last byte included.
    package static func decode(_ text: String) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count % 4 == 0 else { return nil }
        let padded = characters.reversed().prefix(2).prefix { $0 == padding }.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 4 * 3)
        var bits: UInt32 = 0
        for (index, character) in characters.enumerated() {
            let isPadding = index >= characters.count - padded
            let digit = isPadding ? 0 : digits[Int(character)]
            guard digit < 64 else { return nil }
            bits = bits << 6 | UInt32(digit)
            guard index % 4 == 3 else { continue }
            bytes += [UInt8(bits >> 16 & 0xFF), UInt8(bits >> 8 & 0xFF), UInt8(bits & 0xFF)]
            bits = 0
        }
        guard bytes.suffix(padded).allSatisfy({ $0 == 0 }) else { return nil }
        bytes.removeLast(padded)
        return bytes
    }
}
