import Crypto

/// Content in the coding `aes128gcm` with one record; [RFC 8188 section 2](https://www.rfc-editor.org/rfc/rfc8188#section-2).
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
