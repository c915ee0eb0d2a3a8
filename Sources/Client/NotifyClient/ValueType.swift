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
        guard signature.utf8.count <= 255 else { return nil }
        var parser = SignatureParser(rest: signature.utf8[...])
        guard let type = parser.completeType(depth: 0), parser.rest.isEmpty else { return nil }
        self = type
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
    var code: UInt8 {
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
    init?(code: UInt8) {
        let types: [ValueType] = [
            .byte, .boolean, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double,
            .string, .objectPath, .signature, .variant,
        ]
        guard let type = types.first(where: { $0.code == code }) else { return nil }
        self = type
    }
}

/// The daemon has a parser of its own, `TypeSyntax`: client and daemon share no code but the interface.
private struct SignatureParser {
    var rest: Substring.UTF8View

    mutating func completeType(depth: Int) -> ValueType? {
        guard depth < 32, let letter = rest.popFirst() else { return nil }
        switch letter {
        case UInt8(ascii: "a"):
            guard rest.first == UInt8(ascii: "{") else {
                return completeType(depth: depth + 1).map { .array(of: $0) }
            }
            rest.removeFirst()
            guard let keys = completeType(depth: depth + 1), keys.isBasic,
                let values = completeType(depth: depth + 1), rest.popFirst() == UInt8(ascii: "}")
            else { return nil }
            return .dictionary(keys: keys, values: values)
        case UInt8(ascii: "("):
            var members: [ValueType] = []
            while let next = rest.first, next != UInt8(ascii: ")") {
                guard let member = completeType(depth: depth + 1) else { return nil }
                members.append(member)
            }
            guard rest.popFirst() != nil, !members.isEmpty else { return nil }
            return .structure(members)
        default:
            return ValueType(code: letter)
        }
    }
}
