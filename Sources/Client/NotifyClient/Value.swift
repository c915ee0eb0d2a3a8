internal import NotifyText

/// A typed D-Bus value, such as a field of an event.
///
/// Literals are strings, `int64`, `double` and `boolean`: `["from": "Mina", "distance": 5000]`. Write the others as
/// `.uint32(7)` or `.array([.string("a")], of: .string)`.
///
/// [Type system](https://dbus.freedesktop.org/doc/dbus-specification.html#type-system)
/// Texts are compared by their bytes, as on the bus.
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
    /// The type is named because an empty array has one as well.
    case array([Value], of: ValueType)
    /// D-Bus type `ay`: an array of bytes, in one piece. It equals the ``array(_:of:)`` of the same bytes, and is what
    /// is read.
    case bytes([UInt8])
    /// D-Bus type `a{…}`. The types are kept for the sake of empty dictionaries.
    case dictionary([Value: Value], keys: ValueType, values: ValueType)
    /// D-Bus type `(…)`.
    case structure([Value])
    /// D-Bus type `v`: a value with its type.
    indirect case variant(Value)

    /// The type of this value.
    public var type: ValueType {
        switch self {
        case .byte: .byte
        case .boolean: .boolean
        case .int16: .int16
        case .uint16: .uint16
        case .int32: .int32
        case .uint32: .uint32
        case .int64: .int64
        case .uint64: .uint64
        case .double: .double
        case .string: .string
        case .objectPath: .objectPath
        case .signature: .signature
        case .array(_, let element): .array(of: element)
        case .bytes: .array(of: .byte)
        case .dictionary(_, let keys, let values): .dictionary(keys: keys, values: values)
        case .structure(let members): .structure(members.map(\.type))
        case .variant: .variant
        }
    }

    /// A dictionary `a{sv}`: each value is wrapped in a variant.
    public static func variants(_ values: [String: Value]) -> Value { Fields(values).value }

    /// An array of strings, `as`.
    public static func strings(_ values: [String]) -> Value { .array(values.map(Value.string), of: .string) }
}

extension Value {
    /// The text of a string, an object path or a signature.
    public var string: String? {
        switch self {
        case .string(let text), .objectPath(let text), .signature(let text): text
        case .variant(let inner): inner.string
        default: nil
        }
    }

    /// The value of a boolean.
    public var boolean: Bool? {
        switch self {
        case .boolean(let flag): flag
        case .variant(let inner): inner.boolean
        default: nil
        }
    }

    /// The value of an integer type, if it fits.
    public func integer<Number: FixedWidthInteger>(as type: Number.Type = Number.self) -> Number? {
        switch self {
        case .byte(let number): Number(exactly: number)
        case .int16(let number): Number(exactly: number)
        case .uint16(let number): Number(exactly: number)
        case .int32(let number): Number(exactly: number)
        case .uint32(let number): Number(exactly: number)
        case .int64(let number): Number(exactly: number)
        case .uint64(let number): Number(exactly: number)
        case .variant(let inner): inner.integer(as: type)
        default: nil
        }
    }

    /// A text, a number or a boolean as text; `nil` for containers.
    package var plainText: String? {
        switch self {
        case .string(let text), .objectPath(let text), .signature(let text): text
        case .boolean(let flag): "\(flag)"
        case .double(let number): "\(number)"
        case .variant(let value): value.plainText
        default: integer(as: Int64.self).map { "\($0)" } ?? integer(as: UInt64.self).map { "\($0)" }
        }
    }

    /// The elements of an array or the members of a structure.
    public var elements: [Value]? {
        switch self {
        case .array(let elements, _), .structure(let elements): elements
        case .bytes(let bytes): bytes.map(Value.byte)
        case .variant(let inner): inner.elements
        default: nil
        }
    }

    /// The bytes of an array of bytes.
    public var bytes: [UInt8]? {
        switch self {
        case .bytes(let bytes): bytes
        case .array(let elements, of: .byte):
            elements.compactMap { if case .byte(let byte) = $0 { byte } else { nil } }
        case .variant(let inner): inner.bytes
        default: nil
        }
    }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .int64(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
}

extension Value {
    /// Checks what libdbus would abort the program for. Returns `nil` when the value can be sent, otherwise the reason,
    /// which never quotes a text.
    package func flaw(depth: Int = 0) -> String? {
        guard depth < 16 else { return "it is nested more than 16 levels deep" }
        switch self {
        case .byte, .boolean, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double: return nil
        case .string(let text): return text.utf8.contains(0) ? "a string holds a NUL character" : nil
        case .objectPath(let text):
            return Value.isObjectPath(text) ? nil : "an object path is malformed; write it like /a/b"
        case .signature(let text):
            return Value.isSignature(text) ? nil : "a type signature is malformed; write it like a{sv}"
        case .array(let elements, let type):
            for element in elements {
                if element.type != type { return "an array of \(type.signature) holds a \(element.type.signature)" }
                if let flaw = element.flaw(depth: depth + 1) { return flaw }
            }
            return ValueType(signature: self.type.signature) == nil ? "the type of an array is malformed" : nil
        case .bytes(let bytes):
            return bytes.count > 1 << 26 ? "an array has more than 64 MiB" : nil
        case .dictionary(let entries, let keys, let values):
            for (key, value) in entries {
                if key.type != keys {
                    return "a dictionary with \(keys.signature) keys has a \(key.type.signature) key"
                }
                if value.type != values {
                    return "a dictionary of \(values.signature) holds a \(value.type.signature)"
                }
                if let flaw = key.flaw(depth: depth + 1) ?? value.flaw(depth: depth + 1) { return flaw }
            }
            return ValueType(signature: type.signature) == nil ? "the type of a dictionary is malformed" : nil
        case .structure(let members):
            if members.isEmpty { return "a structure has no members" }
            return members.lazy.compactMap { $0.flaw(depth: depth + 1) }.first
        case .variant(let inner): return inner.flaw(depth: depth + 1)
        }
    }

    private static func isObjectPath(_ text: String) -> Bool {
        guard text.hasPrefix("/") else { return false }
        if text == "/" { return true }
        return text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty && part.allSatisfy { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber) }
        }
    }

    private static func isSignature(_ text: String) -> Bool {
        // A signature is a list of complete types. In parentheses it is one type.
        text.isEmpty || text.utf8.count < 254 && ValueType(signature: "(" + text + ")") != nil
    }
}

extension Value: Hashable {
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.boolean(let left), .boolean(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.string(let left), .string(let right)), (.objectPath(let left), .objectPath(let right)),
            (.signature(let left), .signature(let right)):
            left.bytes == right.bytes
        case (.bytes(let left), .bytes(let right)): left == right
        case (.bytes(let bytes), .array(let elements, of: .byte)), (.array(let elements, of: .byte), .bytes(let bytes)):
            elements.elementsEqual(bytes) { $0 == .byte($1) }
        case (.array(let left, let type), .array(let right, let otherType)): type == otherType && left == right
        case (.dictionary(let left, let keys, let values), .dictionary(let right, let otherKeys, let otherValues)):
            keys == otherKeys && values == otherValues && left == right
        case (.structure(let left), .structure(let right)): left == right
        case (.variant(let left), .variant(let right)): left == right
        // Integers, or values of different types.
        default: left.type == right.type && left.integer(as: Int128.self) == right.integer(as: Int128.self)
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .boolean(let flag): hasher.combine(flag)
        case .double(let number): hasher.combine(number)
        case .string(let text), .objectPath(let text), .signature(let text): hasher.combine(text.bytes)
        case .bytes(let bytes): hasher.combine(bytes)
        // As the same bytes in one piece are hashed.
        case .array(_, of: .byte): hasher.combine(bytes ?? [])
        case .array(let elements, _), .structure(let elements): hasher.combine(elements)
        case .dictionary(let entries, _, _): hasher.combine(entries)
        case .variant(let value): hasher.combine(value)
        default: hasher.combine(integer(as: Int128.self))
        }
    }
}
