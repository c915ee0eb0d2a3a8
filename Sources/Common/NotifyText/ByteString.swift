/// A text that is compared, hashed and sorted by its UTF-8 bytes, as D-Bus and SQLite compare.
///
/// A `String` is compared by canonical equivalence: “é” as one scalar equals “é” as two, and the Kelvin sign equals
/// “K”. Two texts that differ on the bus would be equal. So text from outside is compared as this type, and dictionary
/// keys from outside have this type. Unique bus names are ASCII and may stay a `String`; so may a comparison with a
/// literal of ASCII characters other than “K”, “;” and “`”, which nothing else is equivalent to.
public struct ByteString: Hashable, Comparable, Sendable {
    private let text: String

    public init(_ text: String) {
        self.text = text
    }

    public static func == (left: ByteString, right: ByteString) -> Bool {
        left.text.hasBytes(of: right.text)
    }

    public static func < (left: ByteString, right: ByteString) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        text.hashBytes(into: &hasher)
    }
}

extension ByteString: CustomStringConvertible, ExpressibleByStringLiteral {
    /// The text itself.
    public var description: String { text }

    public init(stringLiteral text: String) {
        self.init(text)
    }
}

extension StringProtocol {
    /// The text as its bytes, for comparing: `left.bytes == right.bytes`.
    package var bytes: ByteString { ByteString(String(self)) }

    /// Whether two texts have the same UTF-8 bytes. It compares them in place: the hot path asks this for every topic.
    @inlinable
    package func hasBytes(of other: some StringProtocol) -> Bool {
        let areEqual = utf8.withContiguousStorageIfAvailable { bytes in
            other.utf8.withContiguousStorageIfAvailable { others in
                bytes.elementsEqual(others)
            }
        }
        return (areEqual ?? nil) ?? utf8.elementsEqual(other.utf8)
    }

    /// Hashes the UTF-8 bytes of a text.
    @inlinable
    package func hashBytes(into hasher: inout Hasher) {
        let isHashed: Void? = utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isHashed == nil { Array(utf8).withUnsafeBytes { hasher.combine(bytes: $0) } }
        // Ends the text: no UTF-8 holds this byte, so two texts in a row hash differently from the same bytes split
        // elsewhere.
        hasher.combine(0xFF as UInt8)
    }
}

extension Unicode.Scalar {
    /// Whether a terminal or a notification server interprets it instead of drawing it: a control character (C0, DEL,
    /// C1), a line or paragraph separator, a bidirectional or digit-shape control, or an interlinear annotation
    /// character. Joiners of emoji and letters are not included.
    @inlinable
    package var isActive: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x206F, 0xFFF9...0xFFFB: true
        default: false
        }
    }

    /// Whether Unicode calls it a noncharacter; no message and no markup holds one.
    package var isForInternalUse: Bool {
        (0xFDD0...0xFDEF).contains(value) || value & 0xFFFE == 0xFFFE
    }
}

extension String {
    /// The text within the markup of the Desktop Notifications Specification.
    package var escapedMarkup: String {
        var result = ""
        result.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The text with every active character escaped, such as `\u{1b}`, `\n` and `\t`, so that it is safe to print.
    ///
    /// - Parameter keepsLines: line breaks and tabs are not escaped.
    package func visible(keepsLines: Bool = false) -> String {
        guard unicodeScalars.contains(where: \.isActive) else { return self }
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar {
            case "\n" where keepsLines, "\t" where keepsLines: result.append(scalar)
            case "\n": result.append(contentsOf: "\\n".unicodeScalars)
            case "\t": result.append(contentsOf: "\\t".unicodeScalars)
            case _ where scalar.isActive:
                result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
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
            bytes.append(UInt8(bits >> 16 & 0xFF))
            bytes.append(UInt8(bits >> 8 & 0xFF))
            bytes.append(UInt8(bits & 0xFF))
            bits = 0
        }
        guard bytes.suffix(padded).allSatisfy({ $0 == 0 }) else { return nil }
        bytes.removeLast(padded)
        return bytes
    }
}

extension Sequence<UInt8> {
    /// The bytes in lower-case hexadecimal digits.
    package var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

/// The checksum [FNV-1a](http://www.isthe.com/chongo/tech/comp/fnv/) of 64 bits.
package enum FNV1a {
    package static func sum(of bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

/// Finds bytes that are not UTF-8. `String(cString:)` and `String(decoding:as:)` silently replace them with U+FFFD.
package enum Encoding {
    /// The offset of the first invalid byte; `nil` if there is none.
    package static func firstFault(in bytes: some Collection<UInt8>) -> Int? {
        // The standard library checks many bytes at a time, and does not say where a fault is.
        if String(validating: bytes, as: UTF8.self) != nil { return nil }
        var decoder = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var offset = 0
        while true {
            switch decoder.parseScalar(from: &rest) {
            case .valid(let scalar): offset += scalar.count
            case .emptyInput: return nil
            case .error: return offset
            }
        }
    }
}

extension StringProtocol {
    /// Whether it can be the name of a capture such as `{id}`: letters, digits and _, and no digit first.
    package var isCaptureName: Bool {
        guard let first = utf8.first, !first.isDigit else { return false }
        return utf8.allSatisfy { $0.isNameCharacter && $0 != UInt8(ascii: "-") }
    }
}

extension UInt8 {
    /// Whether it is a digit of ASCII.
    package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// Whether it is a letter of ASCII.
    package var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercased) }

    /// Whether it is a letter or a digit of ASCII, `-` or `_`.
    package var isNameCharacter: Bool {
        isLetter || isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }

    /// The small letter of a capital one of ASCII.
    package var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }

    /// The value of a hexadecimal digit; `nil` for other characters.
    package var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension String {
    /// Whether a D-Bus message can carry the text: no NUL, and no Unicode noncharacter (U+FDD0 to U+FDEF and the last
    /// two code points of every plane), which libsystemd refuses.
    package var fitsIntoMessage: Bool {
        // The first bytes of these code points are rare.
        guard utf8.contains(where: { $0.mayNotFitIntoMessage }) else { return true }
        return unicodeScalars.allSatisfy { $0.value != 0 && !$0.isForInternalUse }
    }

    /// A text of a message: valid UTF-8 that fits into one; `nil` for other bytes.
    package init?(ofMessage bytes: UnsafeRawBufferPointer) {
        // The generic initializer of a text takes several times as long.
        guard let text = try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span) else { return nil }
        self = String(copying: text)
        guard !bytes.contains(where: { $0.mayNotFitIntoMessage }) || fitsIntoMessage else { return nil }
    }
}

extension UInt8 {
    /// Whether a code point begins with it that no message can carry.
    fileprivate var mayNotFitIntoMessage: Bool { self == 0 || self >= 0xEF }
}
