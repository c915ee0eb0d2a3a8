import NotifyText

/// The key of a line as people keep it: in a file, a credential or an invitation.
package enum LinkKey {
    /// In bytes.
    package static let count = 32

    /// A new one, from the generator of the system.
    package static func make() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// Reads Base64, as `link init` writes it, or hexadecimal digits; `nil` if the text is no key.
    package static func parse(_ text: String) -> [UInt8]? {
        if let bytes = Base64.decode(text), bytes.count == count { return bytes }
        let digits = Array(text.utf8)
        guard digits.count == 2 * count, text.allSatisfy(\.isHexDigit) else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
        return bytes.count == count ? bytes : nil
    }
}
