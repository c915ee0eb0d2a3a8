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
