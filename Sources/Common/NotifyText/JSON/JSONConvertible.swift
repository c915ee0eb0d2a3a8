/// A value that has a form in JSON.
package protocol JSONConvertible {
    var json: JSON { get }
}

extension JSON: JSONConvertible, ExpressibleByDictionaryLiteral {
    package var json: JSON { self }

    /// An object. A member whose value is `nil` is null; see ``present(_:)`` for one that is left out instead.
    package init(dictionaryLiteral members: (String, (any JSONConvertible)?)...) {
        self = .object(members.map { ($0, $1?.json ?? .null) })
    }

    /// The members of an object. One whose value is `nil` is null.
    package static func members(_ members: KeyValuePairs<String, (any JSONConvertible)?>) -> [Member] {
        members.map { ($0, $1?.json ?? .null) }
    }

    /// The members of an object that have a value.
    package static func present(_ members: KeyValuePairs<String, (any JSONConvertible)?>) -> [Member] {
        members.compactMap { name, value in value.map { (name, $0.json) } }
    }

    /// An object of the members that have a value.
    package static func object(present members: KeyValuePairs<String, (any JSONConvertible)?>) -> JSON {
        .object(present(members))
    }

    /// For members that are there only if they are true.
    package static func ifTrue(_ flag: Bool) -> Bool? { flag ? true : nil }
}

extension JSONConvertible where Self: BinaryInteger {
    package var json: JSON { .integer(self) }
}

extension JSONConvertible where Self: RawRepresentable, RawValue: JSONConvertible {
    package var json: JSON { rawValue.json }
}

extension Bool: JSONConvertible {
    package var json: JSON { .boolean(self) }
}

extension String: JSONConvertible {
    package var json: JSON { .string(self) }
}

extension Array: JSONConvertible where Element: JSONConvertible {
    package var json: JSON { .array(map(\.json)) }
}

extension Int: JSONConvertible {}
extension Int64: JSONConvertible {}
extension UInt8: JSONConvertible {}
extension UInt32: JSONConvertible {}
extension UInt64: JSONConvertible {}
