import NotifyText
import Routing

/// Values with their D-Bus types, as `busctl --json=short` prints them: `{"type":"s","data":"Mina"}`.
///
/// The type belongs to the whole: the elements of `{"type":"au","data":[1,2]}` have none of their own, and variants in
/// it do. Keys of dictionaries are strings in JSON. Numbers that are not finite are the strings `NaN`, `Infinity` and
/// `-Infinity`.
extension Value {
    /// Containers within containers; notifyd takes four, and variants are counted here too.
    static let maximumNesting = 8

    var typedJSON: JSON {
        .object([("type", .string(signature)), ("data", data)])
    }

    private var data: JSON {
        switch self {
        case .byte(let number): .integer(number)
        case .boolean(let flag): .boolean(flag)
        case .int16(let number): .integer(number)
        case .uint16(let number): .integer(number)
        case .int32(let number): .integer(number)
        case .uint32(let number): .integer(number)
        case .int64(let number): .integer(number)
        case .uint64(let number): .integer(number)
        case .double(let number): Value.data(of: number)
        case .string(let text), .objectPath(let text), .signature(let text): .string(text)
        case .array(_, let elements): .array(elements.map(\.data))
        case .dictionary(_, _, let pairs): .object(pairs.map { ($0.key.text ?? "", $0.value.data) })
        case .variant(let value): value.typedJSON
        }
    }

    private static func data(of number: Double) -> JSON {
        if number.isFinite { return .number("\(number)") }
        return .string(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
    }

    // MARK: Reading

    init(typed json: JSON) throws(MessageError) {
        try self.init(typed: json, depth: 0)
    }

    private init(typed json: JSON, depth: Int) throws(MessageError) {
        guard let signature = json["type"]?.string, let data = json["data"] else {
            throw MessageError("a value has no type or no data")
        }
        var type = Signature(signature)
        self = try type.value(data, depth: depth)
        guard type.isAtEnd else { throw MessageError("\"\(signature.prefix(32))\" is not one complete type") }
    }

    /// Reads a signature and the data of that type side by side.
    private struct Signature {
        private let codes: [UInt8]
        private var index = 0

        init(_ signature: String) {
            codes = Array(signature.utf8.prefix(256))
        }

        var isAtEnd: Bool { index == codes.count }

        private var unknown: MessageError {
            MessageError("\"\(String(decoding: codes.prefix(32), as: UTF8.self))\" is not a type of a field")
        }

        mutating func value(_ data: JSON, depth: Int) throws(MessageError) -> Value {
            guard depth <= Value.maximumNesting else {
                throw MessageError("a value nests more than \(Value.maximumNesting) levels")
            }
            guard index < codes.count else { throw unknown }
            let code = codes[index]
            index += 1
            switch code {
            case UInt8(ascii: "a"):
                if index < codes.count, codes[index] == UInt8(ascii: "{") { return try dictionary(data, depth: depth) }
                return try array(data, depth: depth)
            case UInt8(ascii: "v"): return .variant(try Value(typed: data, depth: depth + 1))
            default:
                guard let value = Signature.basic(code, data) else {
                    throw MessageError("data does not fit the type \"\(Unicode.Scalar(code))\"")
                }
                return value
            }
        }

        private mutating func array(_ data: JSON, depth: Int) throws(MessageError) -> Value {
            guard let elements = data.elements else { throw MessageError("the data of an array is not an array") }
            let start = index
            let end = try endOfType(from: start, depth: 0)
            var values: [Value] = []
            values.reserveCapacity(elements.count)
            for element in elements {
                index = start
                values.append(try value(element, depth: depth + 1))
            }
            index = end
            return .array(of: String(decoding: codes[start..<end], as: UTF8.self), values)
        }

        private mutating func dictionary(_ data: JSON, depth: Int) throws(MessageError) -> Value {
            guard let members = data.members else { throw MessageError("the data of a dictionary is not an object") }
            guard index + 2 < codes.count, Signature.isBasic(codes[index + 1]) else { throw unknown }
            let key = codes[index + 1]
            let start = index + 2
            let end = try endOfType(from: start, depth: 0)
            guard end < codes.count, codes[end] == UInt8(ascii: "}") else { throw unknown }
            var pairs: [Value.Pair] = []
            pairs.reserveCapacity(members.count)
            for (text, element) in members {
                index = start
                guard let name = Signature.key(key, text) else {
                    throw MessageError("a key does not fit the type \"\(Unicode.Scalar(key))\"")
                }
                pairs.append(Value.Pair(key: name, value: try value(element, depth: depth + 1)))
            }
            index = end + 1
            return .dictionary(
                key: String(Unicode.Scalar(key)), value: String(decoding: codes[start..<end], as: UTF8.self), pairs)
        }

        /// The end of one complete type.
        private func endOfType(from start: Int, depth: Int) throws(MessageError) -> Int {
            guard start < codes.count, depth <= Value.maximumNesting else { throw unknown }
            switch codes[start] {
            case UInt8(ascii: "v"): return start + 1
            case UInt8(ascii: "a"):
                guard start + 1 < codes.count, codes[start + 1] == UInt8(ascii: "{") else {
                    return try endOfType(from: start + 1, depth: depth + 1)
                }
                guard start + 2 < codes.count, Signature.isBasic(codes[start + 2]) else { throw unknown }
                let end = try endOfType(from: start + 3, depth: depth + 1)
                guard end < codes.count, codes[end] == UInt8(ascii: "}") else { throw unknown }
                return end + 1
            case let code:
                guard Signature.isBasic(code) else { throw unknown }
                return start + 1
            }
        }

        private static func isBasic(_ code: UInt8) -> Bool { "ybnqiuxtdsog".utf8.contains(code) }

        private static func basic(_ code: UInt8, _ data: JSON) -> Value? {
            switch code {
            case UInt8(ascii: "y"): data.integer().map(Value.byte)
            case UInt8(ascii: "b"): data.boolean.map(Value.boolean)
            case UInt8(ascii: "n"): data.integer().map(Value.int16)
            case UInt8(ascii: "q"): data.integer().map(Value.uint16)
            case UInt8(ascii: "i"): data.integer().map(Value.int32)
            case UInt8(ascii: "u"): data.integer().map(Value.uint32)
            case UInt8(ascii: "x"): data.integer().map(Value.int64)
            case UInt8(ascii: "t"): data.integer().map(Value.uint64)
            case UInt8(ascii: "d"): number(data).map(Value.double)
            case UInt8(ascii: "s"): data.string.map(Value.string)
            case UInt8(ascii: "o"): data.string.map(Value.objectPath)
            case UInt8(ascii: "g"): data.string.map(Value.signature)
            default: nil
            }
        }

        private static func number(_ data: JSON) -> Double? {
            switch data {
            case .number(let digits): Double(digits)
            case .string("NaN"): .nan
            case .string("Infinity"): .infinity
            case .string("-Infinity"): -.infinity
            default: nil
            }
        }

        private static func key(_ code: UInt8, _ name: String) -> Value? {
            switch code {
            case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"): basic(code, .string(name))
            case UInt8(ascii: "b"): name == "true" ? .boolean(true) : name == "false" ? .boolean(false) : nil
            case UInt8(ascii: "d") where Double(name) == nil: basic(code, .string(name))
            default: basic(code, .number(name))
            }
        }
    }
}
