/// A value that a publisher gave to a field, with its D-Bus type, so that it reaches every subscriber unchanged.
///
/// The types are those of the D-Bus specification, section "Type System", without structures and file descriptors.
/// Texts are equal when their bytes are.
public enum Value: Sendable {
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
    /// The element type is kept for the sake of empty arrays.
    indirect case array(of: String, [Value])
    /// D-Bus type `a{…}`. The types are kept for the sake of empty dictionaries.
    indirect case dictionary(key: String, value: String, [Pair])
    /// D-Bus type `v`: a value that brings its type along.
    indirect case variant(Value)

    /// One entry of a dictionary; entries keep the order in which they were sent.
    public struct Pair: Hashable, Sendable {
        /// Of a basic type.
        public let key: Value
        /// What stands under it.
        public let value: Value

        public init(key: Value, value: Value) {
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

    /// The value as a whole number, where it is one that fits.
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

    /// What a banner's template sees of the value; arrays and dictionaries have no text.
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

/// A named value of an event. Names are equal when their bytes are.
public struct Field: Sendable {
    /// What templates and subscribers know it by.
    public let name: String
    /// What stands under it.
    public let value: Value

    public init(name: String, value: Value) {
        self.name = name
        self.value = value
    }
}
