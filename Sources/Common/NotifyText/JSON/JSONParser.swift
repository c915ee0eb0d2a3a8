/// Why bytes are not JSON that is accepted.
package struct JSONError: Error, Equatable, CustomStringConvertible {
    /// What is wrong.
    package let reason: String
    /// The offset of the first wrong byte.
    package let offset: Int

    package var description: String { "\(reason) at byte \(offset)" }
}

/// Reads JSON as RFC 8259 has it and no other: one value, UTF-8, no name twice in an object, no unpaired surrogates,
/// and bounded in size and depth. It reads what strangers wrote.
package struct JSONParser {
    /// The deepest nesting of arrays and objects. A field of an event has at most 4 levels, each with a type around it.
    package static let maximumDepth = 24
    /// Values in a text: each costs memory beyond its bytes.
    package static let maximumValues = 65_536

    private static let fewMembers = 8

    private let bytes: [UInt8]
    private let depthLimit: Int
    private let valueLimit: Int
    private let repairsHalfPairs: Bool
    private var index = 0
    private var values = 0

    /// - Parameter repairsHalfPairs: whether U+FFFD stands for an unpaired surrogate, as in `\ud83d`, which is not JSON
    ///   otherwise. Browsers write one if a page has one.
    /// - Throws: `JSONError`, which says what was wrong and where.
    package static func parse(
        _ bytes: [UInt8], depthLimit: Int = maximumDepth, valueLimit: Int = maximumValues,
        repairsHalfPairs: Bool = false
    ) throws(JSONError) -> JSON {
        if let fault = Encoding.firstFault(in: bytes) {
            throw JSONError(reason: "the text is not UTF-8", offset: fault)
        }
        var parser = JSONParser(
            bytes: bytes, depthLimit: depthLimit, valueLimit: valueLimit, repairsHalfPairs: repairsHalfPairs)
        parser.skipSpace()
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.index == bytes.count else { throw parser.error("something follows the value") }
        return value
    }

    private func error(_ reason: String) -> JSONError { JSONError(reason: reason, offset: index) }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { index += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSON {
        values += 1
        guard values <= valueLimit else { throw error("there are more than \(valueLimit) values") }
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .boolean(true))
        case UInt8(ascii: "f"): return try word("false", .boolean(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case .some(let byte) where byte == UInt8(ascii: "-") || byte.isDigit: return try number()
        default: throw error("there is no value")
        }
    }

    private mutating func word(_ word: String, _ value: JSON) throws(JSONError) -> JSON {
        guard bytes[index...].starts(with: word.utf8) else { throw error("there is no value") }
        index += word.utf8.count
        return value
    }

    private func check(_ depth: Int) throws(JSONError) {
        guard depth <= depthLimit else { throw error("more than \(depthLimit) levels are nested") }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSON {
        try check(depth)
        index += 1
        var members: [JSON.Member] = []
        // Only of an object with many members: to look through a few costs less.
        var names: Set<ByteString> = []
        skipSpace()
        if take("}") { return .object([]) }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw error("there is no name") }
            let name = try string()
            if members.count == Self.fewMembers { names = Set(members.map { ByteString($0.0) }) }
            let isNew =
                members.count < Self.fewMembers
                ? !members.contains { $0.0.hasBytes(of: name) } : names.insert(ByteString(name)).inserted
            guard isNew else { throw error("a name is there twice") }
            skipSpace()
            guard take(":") else { throw error("':' is missing") }
            skipSpace()
            members.append((name, try value(depth: depth)))
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw error("',' or '}' is missing") }
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSON {
        try check(depth)
        index += 1
        var elements: [JSON] = []
        skipSpace()
        if take("]") { return .array([]) }
        while true {
            skipSpace()
            elements.append(try value(depth: depth))
            skipSpace()
            if take("]") { return .array(elements) }
            guard take(",") else { throw error("',' or ']' is missing") }
        }
    }

    private mutating func digits() throws(JSONError) {
        guard let byte = next, byte.isDigit else { throw error("a digit is missing") }
        while let byte = next, byte.isDigit { index += 1 }
    }

    private mutating func number() throws(JSONError) -> JSON {
        let start = index
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            if !take("-") { _ = take("+") }
            try digits()
        }
        guard index - start <= 64 else { throw error("a number has more than 64 characters") }
        return .number(String(decoding: bytes[start..<index], as: UTF8.self))
    }

    private mutating func string() throws(JSONError) -> String {
        index += 1
        let start = index
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { index += 1 }
        // Nearly every string is plain.
        if next == UInt8(ascii: "\"") {
            defer { index += 1 }
            return String(decoding: bytes[start..<index], as: UTF8.self)
        }
        var result = Array(bytes[start..<index])
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: result, as: UTF8.self)
            case UInt8(ascii: "\\"): result += try escaped()
            case 0..<0x20:
                index -= 1
                throw error("a control character stands in a string")
            default: result.append(byte)
            }
        }
        throw error("a string does not end")
    }

    private mutating func escaped() throws(JSONError) -> [UInt8] {
        guard let byte = next else { throw error("a string does not end") }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"):
            let first = try codeUnit()
            guard (0xD800...0xDFFF).contains(first) else { return try utf8(UInt32(first)) }
            let end = index
            if first < 0xDC00, take("\\"), take("u") {
                let second = try codeUnit()
                if (0xDC00...0xDFFF).contains(second) {
                    return try utf8(0x10000 + (UInt32(first) - 0xD800) << 10 + UInt32(second) - 0xDC00)
                }
            }
            guard repairsHalfPairs else { throw error("half a surrogate pair") }
            // What follows stands for itself.
            index = end
            return try utf8(0xFFFD)
        default:
            index -= 1
            throw error("an unknown escape")
        }
    }

    private mutating func codeUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = byte.hexadecimalDigit.map({ UInt16($0) }) else {
                throw error("four hexadecimal digits are missing")
            }
            unit = unit << 4 | digit
            index += 1
        }
        return unit
    }

    private func utf8(_ scalar: UInt32) throws(JSONError) -> [UInt8] {
        guard let scalar = Unicode.Scalar(scalar) else { throw error("an unknown character") }
        return Array(String(Character(scalar)).utf8)
    }
}
