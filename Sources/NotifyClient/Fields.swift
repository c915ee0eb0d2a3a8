internal import NotifyText

/// What a publisher adds to an event: values by name.
///
/// It is used like a dictionary: `["from": "Mina", "distance": 5000]`, `fields["from"]`. Names are equal when their bytes
/// are, as on the bus; to a `[String: Value]` two spellings of one character would be one name.
public struct Fields: Hashable, Sendable {
    private var values: [ByteString: Value] = [:]

    public init() {}

    public init(_ values: [String: Value]) {
        for (name, value) in values { self[name] = value }
    }

    /// The value of this name; `nil` takes it away.
    public subscript(name: String) -> Value? {
        get { values[name.bytes] }
        set { values[name.bytes] = newValue }
    }

    /// How many names there are.
    public var count: Int { values.count }
    /// Whether there is no name.
    public var isEmpty: Bool { values.isEmpty }

    /// As the dictionary of the call `Publish`.
    var value: Value {
        var wrapped: [Value: Value] = [:]
        for (name, value) in values { wrapped[.string(name.description)] = .variant(value) }
        return .dictionary(wrapped, keys: .string, values: .variant)
    }
}

extension Fields: ExpressibleByDictionaryLiteral {
    /// Of two values of the same name the last counts.
    public init(dictionaryLiteral elements: (String, Value)...) {
        for (name, value) in elements { self[name] = value }
    }
}

extension Fields: Sequence {
    /// Goes through the fields in the order of their names' bytes.
    public func makeIterator() -> AnyIterator<(key: String, value: Value)> {
        var rest = values.sorted { $0.key < $1.key }.makeIterator()
        return AnyIterator { rest.next().map { ($0.key.description, $0.value) } }
    }
}

extension Value {
    /// The entries of a dictionary whose keys are strings, by the bytes of these; values in variants are taken out of them.
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
}
