/// A JSON value ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)). Members of objects keep their order, and numbers
/// keep their digits, so that 64-bit integers stay exact.
package enum JSON: Equatable, Sendable {
    case null
    case boolean(Bool)
    /// The digits, as RFC 8259 section 6 has them.
    case number(String)
    case string(String)
    indirect case array([JSON])
    indirect case object([Member])

    /// A name and a value of an object.
    package typealias Member = (String, JSON)

    /// Texts are equal if their bytes are.
    package static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.boolean(let left), .boolean(let right)): left == right
        case (.number(let left), .number(let right)), (.string(let left), .string(let right)):
            left.hasBytes(of: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)):
            left.elementsEqual(right) { $0.0.hasBytes(of: $1.0) && $0.1 == $1.1 }
        default: false
        }
    }

    package static func integer(_ number: some BinaryInteger) -> JSON { .number(String(number)) }

    // MARK: Reading

    /// The value of a member; `nil` if there is none, or if this is not an object.
    package subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.0.hasBytes(of: name) }?.1
    }

    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    package var boolean: Bool? {
        if case .boolean(let flag) = self { flag } else { nil }
    }

    package var elements: [JSON]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    package var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The number as an integer; `nil` if it has a fraction or an exponent, or does not fit.
    package func integer<Integer: FixedWidthInteger>(as type: Integer.Type = Integer.self) -> Integer? {
        if case .number(let digits) = self { Integer(digits) } else { nil }
    }
}

extension JSON {
    /// The value in UTF-8, without white space.
    package var bytes: [UInt8] {
        var writer = Writer(isPretty: false)
        writer.write(self, indentation: 0)
        return writer.result
    }

    /// The value as text.
    ///
    /// - Parameters:
    ///   - pretty: whether each member and each element has a line of its own.
    ///   - indentation: the spaces before the lines after the first.
    package func text(pretty: Bool = false, indentation: Int = 0) -> String {
        var writer = Writer(isPretty: pretty)
        writer.write(self, indentation: indentation)
        return String(decoding: writer.result, as: UTF8.self)
    }

    private struct Writer {
        let isPretty: Bool
        private(set) var result: [UInt8] = []

        init(isPretty: Bool) {
            self.isPretty = isPretty
            result.reserveCapacity(512)
        }

        mutating func write(_ value: JSON, indentation: Int) {
            switch value {
            case .null: result += "null".utf8
            case .boolean(let flag): result += (flag ? "true" : "false").utf8
            case .number(let digits): result += digits.utf8
            case .string(let text): quote(text)
            case .array(let elements):
                enclose("[", elements, "]", indentation) { writer, element, indentation in
                    writer.write(element, indentation: indentation)
                }
            case .object(let members):
                enclose("{", members, "}", indentation) { writer, member, indentation in
                    writer.quote(member.0)
                    writer.result += (writer.isPretty ? ": " : ":").utf8
                    writer.write(member.1, indentation: indentation)
                }
            }
        }

        private mutating func enclose<Part>(
            _ open: String, _ parts: [Part], _ close: String, _ indentation: Int,
            _ write: (inout Writer, Part, Int) -> Void
        ) {
            result += open.utf8
            for (index, part) in parts.enumerated() {
                if index > 0 { result.append(UInt8(ascii: ",")) }
                breakLine(indentation + 2)
                write(&self, part, indentation + 2)
            }
            if !parts.isEmpty { breakLine(indentation) }
            result += close.utf8
        }

        private mutating func breakLine(_ indentation: Int) {
            guard isPretty else { return }
            result.append(UInt8(ascii: "\n"))
            result += repeatElement(UInt8(ascii: " "), count: indentation)
        }

        private mutating func quote(_ text: String) {
            result.append(UInt8(ascii: "\""))
            var text = text
            let isASCII = text.withUTF8 { bytes in
                guard bytes.allSatisfy({ $0 < 0x80 }) else { return false }
                quote(ascii: bytes)
                return true
            }
            if !isASCII { for scalar in text.unicodeScalars { escape(scalar) } }
            result.append(UInt8(ascii: "\""))
        }

        /// Copies what is plain between two escapes at once.
        private mutating func quote(ascii bytes: UnsafeBufferPointer<UInt8>) {
            var start = 0
            for (index, byte) in bytes.enumerated() where !Self.isPlain(byte) {
                result += bytes[start..<index]
                escape(Unicode.Scalar(byte))
                start = index + 1
            }
            result += bytes[start...]
        }

        private static func isPlain(_ byte: UInt8) -> Bool {
            (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
        }

        private mutating func escape(_ scalar: Unicode.Scalar) {
            switch scalar {
            case "\"": result += "\\\"".utf8
            case "\\": result += "\\\\".utf8
            case "\n": result += "\\n".utf8
            case "\t": result += "\\t".utf8
            case "\r": result += "\\r".utf8
            // Escaped because JSON may be printed on a terminal; a parser gets the same text.
            case _ where scalar.isActive:
                let digits = String(scalar.value, radix: 16)
                result += "\\u".utf8
                result += repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count)
                result += digits.utf8
            default: result += UTF8.encode(scalar)!
            }
        }
    }
}
