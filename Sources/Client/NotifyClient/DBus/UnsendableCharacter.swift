internal import NotifyText

/// A character that cannot be sent to notifyd: NUL, which ends texts, or a Unicode noncharacter. libdbus sends
/// noncharacters, but sd-bus, with which notifyd reads messages, refuses the whole message and does not tell the place.
struct UnsendableCharacter {
    let scalar: Unicode.Scalar
    /// Its first byte, counted from 1.
    let byte: Int

    /// The first one in a text.
    init?(in text: String) {
        // Noncharacters begin with one of these bytes.
        guard text.utf8.contains(where: { $0 == 0 || $0 >= 0xEF }) else { return nil }
        var offset = 0
        for scalar in text.unicodeScalars {
            if scalar.value == 0 || scalar.isForInternalUse {
                (self.scalar, byte) = (scalar, offset + 1)
                return
            }
            offset += UTF8.width(scalar)
        }
        return nil
    }

    /// The first one in a text of a value.
    init?(in value: Value) {
        switch value {
        case .string(let text), .objectPath(let text), .signature(let text): self.init(in: text)
        case .array(let elements, _), .structure(let elements): self.init(inOneOf: elements)
        case .dictionary(let entries, _, _): self.init(inOneOf: entries.flatMap { [$0.key, $0.value] })
        case .variant(let inner): self.init(in: inner)
        default: return nil
        }
    }

    private init?(inOneOf values: [Value]) {
        guard let found = values.lazy.compactMap(Self.init(in:)).first else { return nil }
        self = found
    }

    var description: String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        let name = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        return "byte \(byte) is \(name), "
            + (scalar.value == 0 ? "which ends a text" : "which Unicode calls a noncharacter")
    }
}

extension NotifyClient {
    /// - Parameter arguments: of a method of the daemon: its texts are the topic, the title and the body.
    /// - Throws: `invalidArgument`, with the name of the argument.
    static func checkTexts(_ arguments: [Value]) throws(NotifyError) {
        for (argument, name) in zip(arguments, ["the topic", "the title", "the body", "field", "option"]) {
            if let entries = argument.fields {
                for (key, value) in entries {
                    try check(.string(key), "the name of a \(name)")
                    try check(value, "the \(name) “\(key)”")
                }
            } else {
                try check(argument, name)
            }
        }
    }

    private static func check(_ value: Value, _ name: String) throws(NotifyError) {
        if let fault = UnsendableCharacter(in: value) {
            throw NotifyError(
                .invalidArgument, "In \(name), \(fault.description). Leave it out: notifyd cannot receive it.")
        }
    }
}
