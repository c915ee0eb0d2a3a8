internal import NotifyText

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
