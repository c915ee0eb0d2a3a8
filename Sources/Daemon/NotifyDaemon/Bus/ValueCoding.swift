import NotifyText
package import Routing
package import Systemd

/// Reads the dictionaries that publishers write. sd-bus has validated the wire format. Checked here are our own rules:
/// types, the number of fields, nesting, size, and unique names.
package struct DictionaryReader {
    /// Most dictionaries are short, and an array that grows moves its elements.
    private static let usualFields = 4

    let limits: Limits
    /// The word for an entry in errors: "field" or "option".
    let noun: String
    /// Bytes read, as on the bus without padding: empty values count too.
    package private(set) var size = 0

    package init(_ noun: String, limits: Limits) {
        self.noun = noun
        self.limits = limits
    }

    /// Reads an `a{sv}`, in its order.
    package mutating func read(_ message: borrowing BusMessage) throws -> [Field] {
        var fields: [Field] = []
        guard try message.enter("a", "{sv}") else { return [] }
        while try message.enter("e", "sv") {
            let name = try message.readText("name of a \(noun)")
            guard !fields.contains(where: { $0.name.bytes == name.bytes }) else {
                throw Refusal.invalidEvent("the \(noun) '\(name.quotable)' is there twice")
            }
            guard fields.count < limits.fields else {
                throw Refusal.invalidEvent(
                    "the \(noun) '\(name.quotable)' is one too many; \(limits.fields) \(noun)s are allowed")
            }
            if fields.isEmpty { fields.reserveCapacity(Self.usualFields) }
            try charge(5 + name.utf8.count)
            guard let next = try message.peek(), try message.enter("v", next.contents) else {
                throw Refusal.invalidEvent("the \(noun) '\(name.quotable)' has no value")
            }
            fields.append(Field(name: name, value: try value(message, of: name, depth: 0)))
            try message.leave()
            try message.leave()
        }
        try message.leave()
        return fields
    }

    private mutating func value(_ message: borrowing BusMessage, of name: String, depth: Int) throws -> FieldValue {
        guard let (type, contents) = try message.peek() else {
            throw Refusal.invalidEvent("the \(noun) '\(name.quotable)' has no value")
        }
        switch type {
        case "s": return .string(try text(message, type, of: name))
        case "o": return .objectPath(try text(message, type, of: name))
        case "g": return .signature(try text(message, type, of: name))
        case "b": return .boolean(try fixed(4, message.readBoolean()))
        case "y": return .byte(try fixed(1, message.readNumber(type)))
        case "n": return .int16(try fixed(2, message.readNumber(type)))
        case "q": return .uint16(try fixed(2, message.readNumber(type)))
        case "i": return .int32(try fixed(4, message.readNumber(type)))
        case "u": return .uint32(try fixed(4, message.readNumber(type)))
        case "x": return .int64(try fixed(8, message.readNumber(type)))
        case "t": return .uint64(try fixed(8, message.readNumber(type)))
        case "d": return .double(try fixed(8, message.readNumber(type)))
        case "a", "v":
            guard depth < limits.nesting else {
                throw Refusal.invalidEvent(
                    "the \(noun) '\(name.quotable)' has more than \(limits.nesting) containers within one another")
            }
            return try container(message, type, contents, of: name, depth: depth + 1)
        default:
            throw Refusal.invalidEvent(
                "the \(noun) '\(name.quotable)' holds the type '\(type)'; basic types, arrays and "
                    + "dictionaries are allowed"
            )
        }
    }

    private mutating func container(
        _ message: borrowing BusMessage, _ type: Unicode.Scalar, _ contents: String, of name: String, depth: Int
    ) throws -> FieldValue {
        guard try message.enter(type, contents) else {
            throw Refusal.invalidEvent("the \(noun) '\(name.quotable)' has no value")
        }
        try charge(type == "v" ? 2 + contents.utf8.count : 4)
        defer { try? message.leave() }
        if type == "v" { return .variant(try value(message, of: name, depth: depth)) }
        guard contents.hasPrefix("{") else {
            guard !contents.contains("("), !contents.contains("h") else {
                throw Refusal.invalidEvent(
                    "the \(noun) '\(name.quotable)' is an array of '\(contents)', which is not allowed")
            }
            var elements: [FieldValue] = []
            while try message.peek() != nil { elements.append(try value(message, of: name, depth: depth)) }
            return .array(of: contents, elements)
        }
        let inner = contents.dropFirst().dropLast()
        guard !inner.contains("("), !inner.contains("h") else {
            throw Refusal.invalidEvent(
                "the \(noun) '\(name.quotable)' is a dictionary of '\(contents)', which is not allowed")
        }
        var pairs: [FieldValue.Pair] = []
        while try message.enter("e", String(inner)) {
            let key = try value(message, of: name, depth: depth)
            pairs.append(FieldValue.Pair(key: key, value: try value(message, of: name, depth: depth)))
            try message.leave()
        }
        return .dictionary(key: String(inner.prefix(1)), value: String(inner.dropFirst()), pairs)
    }

    private mutating func text(
        _ message: borrowing BusMessage, _ type: Unicode.Scalar, of name: String
    ) throws -> String {
        let text = try message.readText("\(noun) '\(name.quotable)'", as: type)
        try charge((type == "g" ? 2 : 5) + text.utf8.count)
        return text
    }

    private mutating func fixed<Number>(_ bytes: Int, _ number: Number) throws(Refusal) -> Number {
        try charge(bytes)
        return number
    }

    /// Reading stops as soon as a message is too large, because a byte on the bus takes many bytes in memory.
    private mutating func charge(_ bytes: Int) throws(Refusal) {
        size += bytes
        guard size <= limits.messageBytes else {
            throw .tooLarge("the \(noun)s have more than the \(limits.messageBytes) bytes that are allowed")
        }
    }
}

extension BusMessage {
    /// Reads a text.
    ///
    /// - Parameter name: what it is called in a refusal.
    func readText(_ name: String, as type: Unicode.Scalar = "s") throws -> String {
        do throws(SystemdError) {
            return try readString(as: type)
        } catch {
            guard error.isNoncharacter else { throw error }
            throw Refusal.invalidArguments(Refusal.noncharacter(in: "the \(name)"))
        }
    }
}

extension Refusal {
    /// sd-bus gives out no text with one, so it cannot be told which.
    static func noncharacter(in what: String) -> String {
        "\(what) holds a noncharacter of Unicode, U+FDD0 to U+FDEF or one that ends in FFFE or FFFF, such as U+FFFF; "
            + "leave it out"
    }
}

extension BusMessage {
    /// Writes an `a{sv}` of fields.
    package func append(_ fields: [Field]) {
        appendContainer("a", "{sv}") { message in
            for field in fields {
                message.appendEntry(field.name, field.value.signature) { $0.append(field.value) }
            }
        }
    }

    private func append(_ value: FieldValue) {
        switch value {
        case .byte(let number): append(number, as: "y")
        case .boolean(let flag): append(flag)
        case .int16(let number): append(number, as: "n")
        case .uint16(let number): append(number, as: "q")
        case .int32(let number): append(number, as: "i")
        case .uint32(let number): append(number, as: "u")
        case .int64(let number): append(number, as: "x")
        case .uint64(let number): append(number, as: "t")
        case .double(let number): append(number, as: "d")
        case .string(let text): append(text)
        case .objectPath(let text): append(text, as: "o")
        case .signature(let text): append(text, as: "g")
        case .array(let element, let elements):
            appendContainer("a", element) { message in for element in elements { message.append(element) } }
        case .dictionary(let key, let value, let pairs):
            appendContainer("a", "{\(key)\(value)}") { message in
                for pair in pairs {
                    message.appendContainer("e", key + value) { entry in
                        entry.append(pair.key)
                        entry.append(pair.value)
                    }
                }
            }
        case .variant(let inner): appendContainer("v", inner.signature) { $0.append(inner) }
        }
    }
}

/// Entries of an `a{sv}`, where there is a value.
extension BusMessage {
    func appendEntry(_ key: String, _ text: String?) {
        if let text { appendEntry(key, "s") { $0.append(text) } }
    }

    func appendEntry<Number: BitwiseCopyable & Numeric>(_ key: String, _ number: Number?, as type: Unicode.Scalar) {
        if let number { appendEntry(key, String(type)) { $0.append(number, as: type) } }
    }

    /// A flag that is left out where it is false.
    func appendEntry(_ key: String, _ flag: Bool) {
        if flag { appendEntry(key, "b") { $0.append(true) } }
    }
}
