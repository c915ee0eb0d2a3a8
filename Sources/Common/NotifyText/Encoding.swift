/// Finds bytes that are not UTF-8. `String(cString:)` and `String(decoding:as:)` silently replace them with U+FFFD.
package enum Encoding {
    /// The offset of the first invalid byte; `nil` if there is none.
    package static func firstFault(in bytes: some Collection<UInt8>) -> Int? {
        // The standard library checks many bytes at a time, and does not say where a fault is.
        if String(validating: bytes, as: UTF8.self) != nil { return nil }
        var decoder = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var offset = 0
        while true {
            switch decoder.parseScalar(from: &rest) {
            case .valid(let scalar): offset += scalar.count
            case .emptyInput: return nil
            case .error: return offset
            }
        }
    }
}
