/// Why a message cannot be decrypted. It holds nothing of the message.
public enum WebPushError: Error, Hashable, Sendable, CaseIterable {
    /// It is shorter than the header, or ends within it.
    case truncatedHeader
    /// It is longer than ``PushKeys/maximumMessage``.
    case tooLong
    /// The header says that records are too small to hold anything.
    case recordSize
    /// The header does not hold the key of a sender.
    case keyLength
    /// What should be the key of the sender is no point of the curve.
    case senderKey
    /// There is more than one record.
    case severalRecords
    /// There is no room for a record.
    case truncatedRecord
    /// It was encrypted for other keys, or changed on the way.
    case notAuthentic
    /// The record does not say where its text ends.
    case noDelimiter
    /// The record says that another one follows, and none does.
    case wrongDelimiter
}

extension WebPushError: CustomStringConvertible {
    /// What is wrong, without the end of a sentence.
    public var description: String {
        switch self {
        case .truncatedHeader: "the message ends within its header"
        case .tooLong: "the message has more than \(PushKeys.maximumMessage) bytes"
        case .recordSize: "the records of the message are too small to hold anything"
        case .keyLength:
            "the message does not begin with the key of its sender, as RFC 8291 demands; its sender has to use the encoding "
                + "aes128gcm, not the older aesgcm; Mastodon does so if it is told subscription[standard]=true"
        case .senderKey: "the key of the sender is no point of the curve P-256"
        case .severalRecords: "the message has several records, and RFC 8291 allows one"
        case .truncatedRecord: "the message ends within its record"
        case .notAuthentic: "the message was encrypted for other keys, or changed on the way"
        case .noDelimiter: "the message does not say where its text ends"
        case .wrongDelimiter: "the message ends before its last record"
        }
    }
}
