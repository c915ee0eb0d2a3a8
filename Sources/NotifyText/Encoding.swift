/// Finds where bytes stop being UTF-8. `String(cString:)` and `String(decoding:as:)` put U+FFFD there and say nothing.
package enum Encoding {
    /// The offset of the first byte that is not UTF-8; `nil`: all of it is.
    package static func firstFault(in bytes: some Collection<UInt8>) -> Int? {
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
