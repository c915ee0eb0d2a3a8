import NotifyText

/// The fields of an event as bytes. A field is its name, its D-Bus signature and its value, each with its length in
/// front.
///
/// The journal keeps them so. Reading checks every length and type, because the bytes come from a disk.
package enum FieldCoding {
    /// The bytes are not a valid encoding.
    package struct Malformed: Error {
        package init() {}
    }

    package static func encode(_ fields: [Field]) -> [UInt8] {
        var bytes: [UInt8] = []
        // Most fields are short.
        bytes.reserveCapacity(64 * fields.count)
        append(fields, to: &bytes)
        return bytes
    }

    /// Appends the encoding of the fields, but not their number.
    package static func append(_ fields: [Field], to bytes: inout [UInt8]) {
        guard !fields.isEmpty else { return }
        var writer = Writer(bytes: bytes)
        // Two arrays with the same bytes would be copied.
        bytes = []
        for field in fields {
            writer.text(field.name)
            writer.text(field.value.signature)
            writer.value(field.value)
        }
        bytes = writer.bytes
    }

    package static func decode(_ bytes: [UInt8]) throws(Malformed) -> [Field] {
        try bytes.withUnsafeBufferPointer { bytes throws(Malformed) in
            var reader = Reader(bytes: UnsafeRawBufferPointer(bytes))
            var fields: [Field] = []
            while !reader.bytes.isEmpty { fields.append(try reader.field()) }
            return fields
        }
    }

    /// Removes the encoding of fields from the front.
    package static func decode(_ count: Int, from bytes: inout UnsafeRawBufferPointer) throws(Malformed) -> [Field] {
        var reader = Reader(bytes: bytes)
        var fields: [Field] = []
        for _ in 0..<count { fields.append(try reader.field()) }
        bytes = reader.bytes
        return fields
    }

    // MARK: Writing

    private struct Writer {
        var bytes: [UInt8]

        mutating func number<Number: FixedWidthInteger>(_ number: Number) {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }

        mutating func text(_ text: String) {
            let utf8 = text.utf8
            number(UInt32(utf8.count))
            if utf8.withContiguousStorageIfAvailable({ bytes.append(contentsOf: $0) }) == nil {
                bytes.append(contentsOf: utf8)
            }
        }

        mutating func value(_ value: FieldValue) {
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
        var bytes: UnsafeRawBufferPointer

        mutating func field() throws(Malformed) -> Field {
            let name = try text()
            var types = try completeType()
            return Field(name: name, value: try value(&types, depth: 0))
        }

        mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(
            _: Number.Type = Number.self
        ) throws(Malformed) -> Number {
            guard let number = bytes.take(MemoryLayout<Number>.size) else { throw Malformed() }
            return Number(littleEndian: number.loadUnaligned(as: Number.self))
        }

        mutating func text() throws(Malformed) -> String {
            guard let text = String(ofMessage: try textBytes()) else { throw Malformed() }
            return text
        }

        private mutating func textBytes() throws(Malformed) -> UnsafeRawBufferPointer {
            guard let bytes = bytes.take(Int(try number(UInt32.self))) else { throw Malformed() }
            return bytes
        }

        /// The signature of one complete type.
        mutating func completeType() throws(Malformed) -> ArraySlice<UInt8> {
            let signature = Array(try textBytes())
            guard TypeSyntax.isOneType(signature) else { throw Malformed() }
            return signature[...]
        }

        private mutating func boolean() throws(Malformed) -> Bool {
            let byte = try number(UInt8.self)
            guard byte <= 1 else { throw Malformed() }
            return byte == 1
        }

        private func checked(_ text: String, _ isValid: (String) -> Bool) throws(Malformed) -> String {
            guard isValid(text) else { throw Malformed() }
            return text
        }

        mutating func value(_ types: inout ArraySlice<UInt8>, depth: Int) throws(Malformed) -> FieldValue {
            guard let type = types.popFirst(), depth <= 32 else { throw Malformed() }
            switch Unicode.Scalar(type) {
            case "y": return .byte(try number())
            case "b": return .boolean(try boolean())
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

        private mutating func container(_ types: inout ArraySlice<UInt8>, depth: Int) throws(Malformed) -> FieldValue {
            let count = Int(try number(UInt32.self))
            // An element has at least one byte, so a damaged count cannot allocate all memory.
            guard count <= bytes.count, let element = TypeSyntax.takeElement(&types) else { throw Malformed() }
            guard element.first == UInt8(ascii: "{") else {
                var elements: [FieldValue] = []
                for _ in 0..<count {
                    var type = element
                    elements.append(try value(&type, depth: depth))
                }
                return .array(of: Self.string(element), elements)
            }
            var pairs: [FieldValue.Pair] = []
            let inner = element.dropFirst().dropLast()
            for _ in 0..<count {
                var type = inner
                let key = try value(&type, depth: depth)
                pairs.append(FieldValue.Pair(key: key, value: try value(&type, depth: depth)))
            }
            return .dictionary(key: Self.string(inner.prefix(1)), value: Self.string(inner.dropFirst()), pairs)
        }

        private static func string(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
    }
}
