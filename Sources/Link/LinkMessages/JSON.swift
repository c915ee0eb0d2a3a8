import NotifyText

/// A JSON value ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)). Members of objects keep their order, and numbers keep
/// their digits, so that 64-bit integers stay exact.
package enum JSON: Equatable, Sendable {
    case null
    case boolean(Bool)
    /// The digits, as RFC 8259 section 6 has them.
    case number(String)
    case string(String)
    indirect case array([JSON])
    indirect case object([Member])

    /// A name and a value of an object.
    package struct Member: Equatable, Sendable {
        package let name: String
        package let value: JSON

        package init(_ name: String, _ value: JSON) {
            self.name = name
            self.value = value
        }

        package static func == (left: Member, right: Member) -> Bool {
            left.name.hasBytes(of: right.name) && left.value == right.value
        }
    }

    package static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.boolean(let left), .boolean(let right)): left == right
        case (.number(let left), .number(let right)), (.string(let left), .string(let right)):
            left.hasBytes(of: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    package static func integer(_ number: some BinaryInteger) -> JSON { .number(String(number)) }

    /// The value of a member; `nil` if there is none, or if this is no object.
    package subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.hasBytes(of: name) }?.value
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

    // MARK: Writing

    /// The value as JSON without white space.
    package var text: String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// The same in UTF-8.
    package var bytes: [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(512)
        write(to: &result)
        return result
    }

    private func write(to result: inout [UInt8]) {
        switch self {
        case .null: result += "null".utf8
        case .boolean(let flag): result += (flag ? "true" : "false").utf8
        case .number(let digits): result += digits.utf8
        case .string(let text): JSON.write(text, to: &result)
        case .array(let elements):
            result.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { result.append(UInt8(ascii: ",")) }
                element.write(to: &result)
            }
            result.append(UInt8(ascii: "]"))
        case .object(let members):
            result.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { result.append(UInt8(ascii: ",")) }
                JSON.write(member.name, to: &result)
                result.append(UInt8(ascii: ":"))
                member.value.write(to: &result)
            }
            result.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ text: String, to result: inout [UInt8]) {
        result.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): result += [UInt8(ascii: "\\"), byte]
            case 0..<0x10: result += "\\u000\(String(byte, radix: 16))".utf8
            case 0x10..<0x20: result += "\\u00\(String(byte, radix: 16))".utf8
            default: result.append(byte)
            }
        }
        result.append(UInt8(ascii: "\""))
    }
}
