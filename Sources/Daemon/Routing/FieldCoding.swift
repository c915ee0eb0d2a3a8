/// The fields of an event as bytes. A field is its name, its D-Bus signature and its value, each with its length in front.
///
/// The journal keeps them so. Reading checks every length and type, because the bytes come from a disk.
package enum FieldCoding {
    /// The bytes are not a valid encoding.
    package struct Malformed: Error {}

    package static func encode(_ fields: [Field]) -> [UInt8] {
        var writer = Writer()
        // Most fields are short.
        writer.bytes.reserveCapacity(64 * fields.count)
        for field in fields {
            writer.text(field.name)
            writer.text(field.value.signature)
            writer.value(field.value)
        }
        return writer.bytes
    }

    package static func decode(_ bytes: [UInt8]) throws(Malformed) -> [Field] {
        var reader = Reader(bytes: bytes[...])
        var fields: [Field] = []
        while !reader.bytes.isEmpty {
            let name = try reader.text()
            var types = try reader.completeType()
            fields.append(Field(name: name, value: try reader.value(&types, depth: 0)))
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
            guard bytes.count >= count, let text = String(validating: bytes.prefix(count), as: UTF8.self),
                text.fitsIntoMessage
            else { throw Malformed() }
            bytes = bytes.dropFirst(count)
            return text
        }

        /// The signature of one complete type.
        mutating func completeType() throws(Malformed) -> ArraySlice<UInt8> {
            let signature = Array(try text().utf8)
            guard TypeSyntax.isOneType(signature) else { throw Malformed() }
            return signature[...]
        }

        private func checked(_ text: String, _ isValid: (String) -> Bool) throws(Malformed) -> String {
            guard isValid(text) else { throw Malformed() }
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
            case "o": return .objectPath(try checked(try text(), TypeSyntax.isObjectPath))
            case "g": return .signature(try checked(try text(), TypeSyntax.isSignature))
            case "v":
                var inner = try completeType()
                return .variant(try value(&inner, depth: depth + 1))
            case "a": return try container(&types, depth: depth + 1)
            default: throw Malformed()
            }
        }

        private mutating func container(_ types: inout ArraySlice<UInt8>, depth: Int) throws(Malformed) -> Value {
            let count = Int(try number(UInt32.self))
            // An element has at least one byte, so a damaged count cannot allocate all memory.
            guard count <= bytes.count, let element = TypeSyntax.takeElement(&types) else { throw Malformed() }
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

        private static func string(_ bytes: ArraySlice<UInt8>) -> String {
            String(decoding: bytes, as: UTF8.self)
        }
    }
}
