/// The syntax of D-Bus signatures and object paths. Text with another syntax cannot be put into a message.
///
/// [Valid signatures](https://dbus.freedesktop.org/doc/dbus-specification.html#type-system) and
/// [object paths](https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-marshaling-object-path)
package enum TypeSyntax {
    private static let basicTypes = Array("ybnqiuxtdsogh".utf8)
    private static let maximumDepth = 32

    package static func isOneType(_ signature: [UInt8]) -> Bool {
        var rest = signature[...]
        return signature.count <= 255 && takeType(&rest) != nil && rest.isEmpty
    }

    /// Any number of complete types.
    package static func isSignature(_ text: String) -> Bool {
        let signature = Array(text.utf8)
        var rest = signature[...]
        while !rest.isEmpty {
            guard takeType(&rest) != nil else { return false }
        }
        return signature.count <= 255
    }

    /// Removes one complete type from the front; `nil` if there is none.
    static func takeType(_ types: inout ArraySlice<UInt8>, arrays: Int = 0, structures: Int = 0) -> ArraySlice<UInt8>? {
        let start = types
        guard let first = types.popFirst() else { return nil }
        switch Unicode.Scalar(first) {
        case "v": break
        case "a":
            guard arrays < maximumDepth,
                takeElement(&types, arrays: arrays + 1, structures: structures) != nil
            else { return nil }
        case "(":
            guard structures < maximumDepth, types.first != UInt8(ascii: ")") else { return nil }
            while types.first != UInt8(ascii: ")") {
                guard takeType(&types, arrays: arrays, structures: structures + 1) != nil else { return nil }
            }
            types.removeFirst()
        default: guard basicTypes.contains(first) else { return nil }
        }
        return start[..<types.startIndex]
    }

    /// Removes the element type of an array. Only an array may have dictionary entries, and their key must be a basic
    /// type.
    package static func takeElement(
        _ types: inout ArraySlice<UInt8>, arrays: Int = 1, structures: Int = 0
    ) -> ArraySlice<UInt8>? {
        guard types.first == UInt8(ascii: "{") else {
            return takeType(&types, arrays: arrays, structures: structures)
        }
        let start = types
        types.removeFirst()
        guard structures < maximumDepth, let key = types.popFirst(), basicTypes.contains(key),
            takeType(&types, arrays: arrays, structures: structures + 1) != nil,
            types.popFirst() == UInt8(ascii: "}")
        else { return nil }
        return start[..<types.startIndex]
    }

    package static func isObjectPath(_ text: String) -> Bool {
        guard text.utf8.first == UInt8(ascii: "/") else { return false }
        let segments = text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return text == "/"
            || segments.allSatisfy { segment in
                !segment.isEmpty && segment.allSatisfy { $0.isNameCharacter && $0 != UInt8(ascii: "-") }
            }
    }
}
