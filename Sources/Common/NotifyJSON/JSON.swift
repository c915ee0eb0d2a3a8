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

    /// The value of a member; `nil` if there is none, or if this is no object.
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
