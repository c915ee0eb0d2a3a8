import Routing

/// The fields of an event as bytes: each is its name, its D-Bus signature and its value, all lengths in front.
///
/// Reading checks every length and type, for the bytes come from a disk.
enum FieldCoding {
    /// The bytes say something that was never written.
    struct Malformed: Error {}

    static func encode(_ fields: [Field]) -> [UInt8] {
        var writer = Writer()
        for field in fields {
            writer.text(field.name)
            writer.text(field.value.signature)
            writer.value(field.value)
        }
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8]) throws(Malformed) -> [Field] {
        var reader = Reader(bytes: bytes[...])
        var fields: [Field] = []
        while !reader.bytes.isEmpty {
            let name = try reader.text()
            let signature = Array(try reader.text().utf8)
            var types = signature[...]
            fields.append(Field(name: name, value: try reader.value(&types, depth: 0)))
            guard types.isEmpty else { throw Malformed() }
        }
        return fields
    }

    // MARK: Writing

    private struct Writer {
        var bytes: [UInt8] = []

        mutating func number<Number: FixedWidthInteger>(_ number: Number) {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }

        mutating func text(_ text: String) {
            number(UInt32(text.utf8.count))
            bytes.append(contentsOf: text.utf8)
        }

        mutating func value(_ value: Value) {
            switch value {
            case .byte(let value): number(value)
            case .boolean(let value): number(UInt8(value ? 1 : 0))
            case .int16(let value): number(value)
            case .uint16(let value): number(value)
            case .int32(let value): number(value)
            case .uint32(let value): number(value)
            case .int64(let value): number(value)
            case .uint64(let value): number(value)
            case .double(let value): number(value.bitPattern)
            case .string(let value), .objectPath(let value), .signature(let value): text(value)
            case .array(_, let elements):
                number(UInt32(elements.count))
                for element in elements { self.value(element) }
            case .dictionary(_, _, let pairs):
                number(UInt32(pairs.count))
                for pair in pairs {
                    self.value(pair.key)
                    self.value(pair.value)
                }
            case .variant(let inner):
                text(inner.signature)
                self.value(inner)
            }
        }
    }

    // MARK: Reading

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) throws(Malformed) -> Number {
            let size = MemoryLayout<Number>.size
            guard bytes.count >= size else { throw Malformed() }
            var number: Number = 0
            for (index, byte) in bytes.prefix(size).enumerated() {
                number |= Number(truncatingIfNeeded: byte) << (8 * index)
            }
            bytes = bytes.dropFirst(size)
            return number
        }

        mutating func text() throws(Malformed) -> String {
            let count = Int(try number(UInt32.self))
            guard bytes.count >= count, let text = String(validating: bytes.prefix(count), as: UTF8.self) else {
                throw Malformed()
            }
            bytes = bytes.dropFirst(count)
            return text
        }

        mutating func value(_ types: inout ArraySlice<UInt8>, depth: Int) throws(Malformed) -> Value {
            guard let type = types.popFirst(), depth <= 32 else { throw Malformed() }
            switch Unicode.Scalar(type) {
            case "y": return .byte(try number())
            case "b": return .boolean(try number(UInt8.self) != 0)
            case "n": return .int16(Int16(bitPattern: try number()))
            case "q": return .uint16(try number())
            case "i": return .int32(Int32(bitPattern: try number()))
            case "u": return .uint32(try number())
            case "x": return .int64(Int64(bitPattern: try number()))
            case "t": return .uint64(try number())
            case "d": return .double(Double(bitPattern: try number()))
            case "s": return .string(try text())
            case "o": return .objectPath(try text())
            case "g": return .signature(try text())
            case "v":
                let signature = Array(try text().utf8)
                var inner = signature[...]
                let value = try value(&inner, depth: depth + 1)
                guard inner.isEmpty else { throw Malformed() }
                return .variant(value)
            case "a": return try container(&types, depth: depth + 1)
            default: throw Malformed()
            }
        }

        private mutating func container(_ types: inout ArraySlice<UInt8>, depth: Int) throws(Malformed) -> Value {
            let count = Int(try number(UInt32.self))
            // Every element takes a byte at least, so that a wild count ends here and not with all the memory.
            guard count <= bytes.count, let element = Self.takeType(&types) else { throw Malformed() }
            guard element.first == UInt8(ascii: "{") else {
                var elements: [Value] = []
                for _ in 0..<count {
                    var type = element
                    elements.append(try value(&type, depth: depth))
                }
                return .array(of: Self.string(element), elements)
            }
            var pairs: [Value.Pair] = []
            let inner = element.dropFirst().dropLast()
            for _ in 0..<count {
                var type = inner
                let key = try value(&type, depth: depth)
                pairs.append(Value.Pair(key: key, value: try value(&type, depth: depth)))
            }
            return .dictionary(key: Self.string(inner.prefix(1)), value: Self.string(inner.dropFirst()), pairs)
        }

        /// Takes one complete type off the front.
        private static func takeType(_ types: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
            var end = types.startIndex
            while end < types.endIndex, types[end] == UInt8(ascii: "a") { end += 1 }
            guard end < types.endIndex else { return nil }
            if types[end] == UInt8(ascii: "{") {
                var depth = 0
                repeat {
                    if types[end] == UInt8(ascii: "{") { depth += 1 }
                    if types[end] == UInt8(ascii: "}") { depth -= 1 }
                    end += 1
                } while depth > 0 && end < types.endIndex
                guard depth == 0 else { return nil }
            } else {
                end += 1
            }
            defer { types = types[end...] }
            return types[..<end]
        }

        private static func string(_ bytes: ArraySlice<UInt8>) -> String {
            String(decoding: bytes, as: UTF8.self)
        }
    }
}
