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
            return TypeSyntax.isObjectPath(text) ? nil : "an object path is malformed; write it like /a/b"
        case .signature(let text):
            return TypeSyntax.isSignature(text) ? nil : "a type signature is malformed; write it like a{sv}"
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
                if value.type != values { return "a dictionary of \(values.signature) holds a \(value.type.signature)" }
                if let flaw = key.flaw(depth: depth + 1) ?? value.flaw(depth: depth + 1) { return flaw }
            }
            return ValueType(signature: type.signature) == nil ? "the type of a dictionary is malformed" : nil
        case .structure(let members):
            if members.isEmpty { return "a structure has no members" }
            return members.lazy.compactMap { $0.flaw(depth: depth + 1) }.first
        case .variant(let inner): return inner.flaw(depth: depth + 1)
        }
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

/// The type of a ``Value``: one complete type of the D-Bus type system.
///
/// A ``signature-property`` and the type it stands for convert into each other:
/// `ValueType(signature: "a{sv}")` is `.dictionary(keys: .string, values: .variant)`.
///
/// [Type system](https://dbus.freedesktop.org/doc/dbus-specification.html#type-system)
public indirect enum ValueType: Hashable, Sendable {
    /// A basic type of a fixed length.
    case byte, boolean, int16, uint16, int32, uint32, int64, uint64, double
    /// A type of variable length.
    case string, objectPath, signature, variant
    /// Any number of values of one type.
    case array(of: ValueType)
    /// Values of one type, each under a key of a basic type.
    case dictionary(keys: ValueType, values: ValueType)
    /// A fixed row of types.
    case structure([ValueType])

    /// Reads a signature that holds exactly one complete type.
    ///
    /// Returns `nil` for anything else, and for file descriptors (`h`), which are not supported.
    public init?(signature: String) {
        let bytes = Array(signature.utf8)
        guard TypeSyntax.isOneType(bytes), !bytes.contains(UInt8(ascii: "h")) else { return nil }
        self.init(checked: bytes[...])
    }

    private init(checked type: ArraySlice<UInt8>) {
        var rest = type.dropFirst()
        switch type.first {
        case UInt8(ascii: "a") where rest.first == UInt8(ascii: "{"):
            rest = rest.dropFirst().dropLast()
            self = .dictionary(keys: ValueType(checked: rest.prefix(1)), values: ValueType(checked: rest.dropFirst()))
        case UInt8(ascii: "a"): self = .array(of: ValueType(checked: rest))
        case UInt8(ascii: "("):
            var members: [ValueType] = []
            while let member = TypeSyntax.takeType(&rest) { members.append(ValueType(checked: member)) }
            self = .structure(members)
        default: self = type.first.flatMap { ValueType(code: $0) } ?? .byte
        }
    }

    /// The signature of this type, such as `a{sv}`.
    public var signature: String {
        switch self {
        case .array(let element): "a" + element.signature
        case .dictionary(let keys, let values): "a{" + keys.signature + values.signature + "}"
        case .structure(let members): "(" + members.map(\.signature).joined() + ")"
        default: String(UnicodeScalar(code))
        }
    }

    /// Whether the type is neither a container nor a variant. Only these may be keys of a dictionary.
    public var isBasic: Bool {
        switch self {
        case .array, .dictionary, .structure, .variant: false
        default: true
        }
    }

    /// The ASCII letter that stands for the type on the bus; for a container the one that opens it.
    package var code: UInt8 {
        switch self {
        case .byte: UInt8(ascii: "y")
        case .boolean: UInt8(ascii: "b")
        case .int16: UInt8(ascii: "n")
        case .uint16: UInt8(ascii: "q")
        case .int32: UInt8(ascii: "i")
        case .uint32: UInt8(ascii: "u")
        case .int64: UInt8(ascii: "x")
        case .uint64: UInt8(ascii: "t")
        case .double: UInt8(ascii: "d")
        case .string: UInt8(ascii: "s")
        case .objectPath: UInt8(ascii: "o")
        case .signature: UInt8(ascii: "g")
        case .variant: UInt8(ascii: "v")
        case .array, .dictionary: UInt8(ascii: "a")
        case .structure: UInt8(ascii: "r")
        }
    }

    /// The basic type (or variant) a letter stands for.
    package init?(code: UInt8) {
        let types: [ValueType] = [
            .byte, .boolean, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double,
            .string, .objectPath, .signature, .variant,
        ]
        guard let type = types.first(where: { $0.code == code }) else { return nil }
        self = type
    }
}

/// What a publisher adds to an event: values by name.
///
/// Use it like a dictionary: `["from": "Mina", "distance": 5000]`, `fields["from"]`. Names are compared by their bytes,
/// as on the bus; a `[String: Value]` would treat canonically equivalent names as one.
public struct Fields: Hashable, Sendable {
    fileprivate var values: [ByteString: Value] = [:]

    public init() {}

    public init(_ values: [String: Value]) {
        for (name, value) in values { self[name] = value }
    }

    /// The value of a name; setting `nil` removes it.
    public subscript(name: String) -> Value? {
        get { values[name.bytes] }
        set { values[name.bytes] = newValue }
    }

    /// How many names there are.
    public var count: Int { values.count }
    /// Whether there is no name.
    public var isEmpty: Bool { values.isEmpty }

    /// The dictionary for the call `Publish`.
    package var value: Value {
        var wrapped: [Value: Value] = [:]
        for (name, value) in values { wrapped[.string(name.description)] = .variant(value) }
        return .dictionary(wrapped, keys: .string, values: .variant)
    }
}

extension Fields: ExpressibleByDictionaryLiteral {
    /// If a name occurs twice, the last value counts.
    public init(dictionaryLiteral elements: (String, Value)...) {
        for (name, value) in elements { self[name] = value }
    }
}

extension Fields: Sequence {
    /// Iterates over the fields in the order of the bytes of their names.
    public func makeIterator() -> AnyIterator<(key: String, value: Value)> {
        var rest = values.sorted { $0.key < $1.key }.makeIterator()
        return AnyIterator { rest.next().map { ($0.key.description, $0.value) } }
    }
}

extension Value {
    /// The entries of a dictionary whose keys are strings. Values in variants are unwrapped.
    public var fields: Fields? {
        switch self {
        case .dictionary(let entries, .string, _):
            var fields = Fields()
            for (key, value) in entries {
                guard case .string(let name) = key else { return nil }
                if case .variant(let inner) = value { fields[name] = inner } else { fields[name] = value }
            }
            return fields
        case .variant(let inner): return inner.fields
        default: return nil
        }
    }

    /// The entries of a dictionary whose keys are strings; values in variants are unwrapped. If the keys may be other
    /// than ASCII, use ``fields``, which compares them by bytes.
    public var entries: [String: Value]? {
        fields.map { Dictionary($0.values.map { ($0.key.description, $0.value) }) { $1 } }
    }
}
