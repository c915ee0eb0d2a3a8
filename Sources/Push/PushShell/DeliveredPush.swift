import Crypto

/// A message as the distributor has delivered it.
struct DeliveredPush: Equatable, Sendable {
    /// When, in microseconds since the epoch.
    let at: Int64
    /// Of the endpoint.
    let token: String
    /// Encrypted.
    let message: [UInt8]

    /// The same for the same message. Every one has a salt of its own, so those of two messages differ.
    var digest: String {
        let digits = Array("0123456789abcdef".utf8)
        // RFC 8188, section 2.1: a salt of 16 bytes, and the size of records. That alone does not enter into the keys,
        // so whoever carries the message can change it.
        var sealed = message
        for index in 16..<20 where index < sealed.count { sealed[index] = 0 }
        let bytes = SHA256.hash(data: sealed).prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Its record

    var record: [UInt8] { Array("\(at) \(token)\n".utf8) + message }

    init(at: Int64, token: String, message: [UInt8]) {
        (self.at, self.token, self.message) = (at, token, message)
    }

    /// `nil` if it is no record of a message.
    init?(record: [UInt8]) {
        guard let end = record.firstIndex(of: UInt8(ascii: "\n")),
            let space = record[..<end].firstIndex(of: UInt8(ascii: " ")),
            let at = Int64(String(decoding: record[..<space], as: UTF8.self))
        else { return nil }
        self.at = at
        token = String(decoding: record[(space + 1)..<end], as: UTF8.self)
        message = Array(record[(end + 1)...])
    }
}
