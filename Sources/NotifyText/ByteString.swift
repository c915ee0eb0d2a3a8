/// A text that is compared, hashed and sorted by its UTF-8 bytes, as D-Bus and SQLite compare.
///
/// A `String` is compared by canonical equivalence: “é” as one scalar equals “é” as two, and the Kelvin sign equals “K”. Two
/// texts that differ on the bus would be one here. So text from outside is compared as this type, and keys of dictionaries
/// that come from outside have it. Unique bus names are ASCII and may stay a `String`; so may a comparison with a literal of
/// ASCII characters other than “K”, “;” and “`”, which nothing else is equivalent to.
public struct ByteString: Hashable, Comparable, Sendable {
    private let text: Substring

    public init(_ text: Substring) {
        self.text = text
    }

    public init(_ text: String) {
        self.text = text[...]
    }

    public static func == (left: ByteString, right: ByteString) -> Bool {
        areEqual(left.text.utf8, right.text.utf8)
    }

    public static func < (left: ByteString, right: ByteString) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // Ends the text: no UTF-8 holds this byte, so two texts in a row hash differently from the same bytes split elsewhere.
        hasher.combine(0xFF as UInt8)
    }

    /// Compares bytes where they lie, without a copy: the hot path asks this for every topic it looks up.
    private static func areEqual(_ left: Substring.UTF8View, _ right: Substring.UTF8View) -> Bool {
        let areEqual = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in
                left.count == right.count && left.elementsEqual(right)
            }
        }
        return (areEqual ?? nil) ?? left.elementsEqual(right)
    }
}

extension ByteString: CustomStringConvertible, ExpressibleByStringLiteral {
    /// The text itself.
    public var description: String { String(text) }

    public init(stringLiteral text: String) {
        self.init(text)
    }
}

extension StringProtocol where SubSequence == Substring {
    /// The text as its bytes, for comparing: `left.bytes == right.bytes`.
    package var bytes: ByteString { ByteString(self[...]) }
}
