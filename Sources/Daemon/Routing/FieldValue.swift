import NotifyText

/// The value of a field with its D-Bus type, so that it reaches subscribers unchanged.
///
/// The types are those of the D-Bus specification, section "Type System", without structures and file descriptors.
/// Strings are compared by their bytes.
public enum FieldValue: Sendable {
    /// D-Bus type `y`.
    case byte(UInt8)
    /// D-Bus type `b`.
    case boolean(Bool)
    /// D-Bus type `n`.
    case int16(Int16)
    /// D-Bus type `q`.
    case uint16(UInt16)
    /// D-Bus type `i`.
    case int32(Int32)
    /// D-Bus type `u`.
    case uint32(UInt32)
    /// D-Bus type `x`.
    case int64(Int64)
    /// D-Bus type `t`.
    case uint64(UInt64)
    /// D-Bus type `d`.
    case double(Double)
    /// D-Bus type `s`.
    case string(String)
    /// D-Bus type `o`.
    case objectPath(String)
    /// D-Bus type `g`.
    case signature(String)
    /// D-Bus type `a…`. The element type is needed for empty arrays.
    indirect case array(of: String, [FieldValue])
    /// D-Bus type `a{…}`. The types are needed for empty dictionaries.
    indirect case dictionary(key: String, value: String, [Pair])
    /// D-Bus type `v`: a value with its type.
    indirect case variant(FieldValue)

    /// One entry of a dictionary; entries keep the order in which they were sent.
    public struct Pair: Equatable, Sendable {
        /// Of a basic type.
        public let key: FieldValue
        /// Of any type.
        public let value: FieldValue

        public init(key: FieldValue, value: FieldValue) {
            self.key = key
            self.value = value
        }
    }

    /// The type as a D-Bus signature: one complete type.
    public var signature: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .array(let element, _): "a" + element
        case .dictionary(let key, let value, _): "a{" + key + value + "}"
        case .variant: "v"
        }
    }

    /// The value as an integer; `nil` if it is none or does not fit.
    public var integer: Int64? {
        switch self {
        case .byte(let value): Int64(value)
        case .int16(let value): Int64(value)
        case .uint16(let value): Int64(value)
        case .int32(let value): Int64(value)
        case .uint32(let value): Int64(value)
        case .int64(let value): value
        case .uint64(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The value as text for banner templates; `nil` for arrays and dictionaries.
    public var text: String? {
        switch self {
        case .boolean(let value): value ? "true" : "false"
        case .double(let value): "\(value)"
        case .string(let value), .objectPath(let value), .signature(let value): value
        case .uint64(let value): "\(value)"
        case .variant(let value): value.text
        case .array, .dictionary: nil
        default: integer.map { "\($0)" }
        }
    }
}

/// A named value of an event. Names are compared by their bytes.
public struct Field: Equatable, Sendable {
    /// The key in templates and for subscribers.
    public let name: String
    /// The value with its type.
    public let value: FieldValue

    public init(name: String, value: FieldValue) {
        self.name = name
        self.value = value
    }

    public static func == (left: Field, right: Field) -> Bool {
        left.name.bytes == right.name.bytes && left.value == right.value
    }
}

extension FieldValue: Equatable {
    public static func == (left: FieldValue, right: FieldValue) -> Bool {
        switch (left, right) {
        case (.byte(let left), .byte(let right)): left == right
        case (.boolean(let left), .boolean(let right)): left == right
        case (.int16(let left), .int16(let right)): left == right
        case (.uint16(let left), .uint16(let right)): left == right
        case (.int32(let left), .int32(let right)): left == right
        case (.uint32(let left), .uint32(let right)): left == right
        case (.int64(let left), .int64(let right)): left == right
        case (.uint64(let left), .uint64(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.string(let left), .string(let right)), (.objectPath(let left), .objectPath(let right)),
            (.signature(let left), .signature(let right)):
            left.bytes == right.bytes
        case (.array(let type, let left), .array(let otherType, let right)): type == otherType && left == right
        case (.dictionary(let key, let value, let left), .dictionary(let otherKey, let otherValue, let right)):
            key == otherKey && value == otherValue && left == right
        case (.variant(let left), .variant(let right)): left == right
        default: false
        }
    }
}

extension String {
    /// The text, shortened for an error message, with its active characters escaped. It is cut by scalars, because a
    /// character has no maximum length.
    package var quotable: String {
        let text = utf8.count <= 64 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(32))) + "…"
        return text.visible()
    }
}

extension UnsafeRawBufferPointer {
    /// Removes bytes from the front.
    ///
    /// - Returns: `nil` if there are not so many.
    package mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count >= 0, count <= self.count else { return nil }
        let front = UnsafeRawBufferPointer(rebasing: self[..<count])
        self = UnsafeRawBufferPointer(rebasing: self[count...])
        return front
    }
}
