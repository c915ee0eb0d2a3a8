import NotifyText

/// Values with their D-Bus types, as `busctl --json=short` prints them: `{"type":"s","data":"Mina"}`.
///
/// The type belongs to the whole: the elements of `{"type":"au","data":[1,2]}` have none of their own, and variants in
/// it do. Keys of dictionaries are strings in JSON, in the order of their bytes. Numbers that are not finite are the
/// strings `NaN`, `Infinity` and `-Infinity`.
extension Value {
    /// Containers within containers; notifyd takes four, and variants are counted here too.
    fileprivate static let maximumNesting = 8

    var typedJSON: JSON {
        .object([("type", .string(type.signature)), ("data", data)])
    }

    private var data: JSON {
        switch self {
        case .boolean(let flag): .boolean(flag)
        case .double(let number): Value.data(of: number)
        case .string(let text), .objectPath(let text), .signature(let text): .string(text)
        case .array(let elements, _), .structure(let elements): .array(elements.map(\.data))
        case .bytes(let bytes): .array(bytes.map { JSON.integer($0) })
        case .dictionary(let entries, _, _):
            .object(
                entries.map { ($0.key.plainText ?? "", $0.value.data) }.sorted { $0.0.bytes < $1.0.bytes })
        case .variant(let value): value.typedJSON
        default: .integer(integer(as: Int128.self) ?? 0)
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
        guard let type = ValueType(signature: signature), type.isOfField() else {
            throw MessageError("\"\(signature.prefix(32))\" is not the type of a field")
        }
        try self.init(type, data, depth: depth)
    }

    private init(_ type: ValueType, _ data: JSON, depth: Int) throws(MessageError) {
        guard depth <= Value.maximumNesting else {
            throw MessageError("a value nests more than \(Value.maximumNesting) levels")
        }
        switch type {
        case .array(let element):
            guard let elements = data.elements else { throw MessageError("the data of an array is not an array") }
            var values: [Value] = []
            values.reserveCapacity(elements.count)
            for data in elements { values.append(try Value(element, data, depth: depth + 1)) }
            self = .array(values, of: element)
        case .dictionary(let keys, let values):
            guard let members = data.members else { throw MessageError("the data of a dictionary is not an object") }
            var entries: [Value: Value] = [:]
            for (text, data) in members {
                guard let key = Value(key: text, keys) else {
                    throw MessageError("a key does not fit the type \"\(keys.signature)\"")
                }
                entries[key] = try Value(values, data, depth: depth + 1)
            }
            self = .dictionary(entries, keys: keys, values: values)
        case .variant: self = .variant(try Value(typed: data, depth: depth + 1))
        default:
            guard let value = Value(basic: type, data) else {
                throw MessageError("data does not fit the type \"\(type.signature)\"")
            }
            self = value
        }
    }

    private init?(basic type: ValueType, _ data: JSON) {
        let value: Value? =
            switch type {
            case .byte: data.integer().map(Value.byte)
            case .boolean: data.boolean.map(Value.boolean)
            case .int16: data.integer().map(Value.int16)
            case .uint16: data.integer().map(Value.uint16)
            case .int32: data.integer().map(Value.int32)
            case .uint32: data.integer().map(Value.uint32)
            case .int64: data.integer().map(Value.int64)
            case .uint64: data.integer().map(Value.uint64)
            case .double: Value.number(data).map(Value.double)
            case .string: data.string.map(Value.string)
            case .objectPath: data.string.map(Value.objectPath)
            case .signature: data.string.map(Value.signature)
            case .array, .dictionary, .structure, .variant: nil
            }
        guard let value else { return nil }
        self = value
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

    /// What is not a number is not a key either: no entry could be found by it.
    private init?(key text: String, _ type: ValueType) {
        switch type {
        case .string, .objectPath, .signature: self.init(basic: type, .string(text))
        case .boolean:
            guard text == "true" || text == "false" else { return nil }
            self = .boolean(text == "true")
        case .double:
            guard let number = Double(text), !number.isNaN else { return nil }
            self = .double(number)
        default: self.init(basic: type, .number(text))
        }
    }
}

extension ValueType {
    /// Whether a field may have it: notifyd takes no structures.
    fileprivate func isOfField(depth: Int = 0) -> Bool {
        switch self {
        case .array(let inner), .dictionary(_, let inner):
            depth < Value.maximumNesting && inner.isOfField(depth: depth + 1)
        case .structure: false
        default: true
        }
    }
}
