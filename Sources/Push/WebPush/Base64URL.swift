import NotifyText

/// base64url without padding, as Web Push writes keys; [RFC 7515 section 2](https://www.rfc-editor.org/rfc/rfc7515#section-2).
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        let text = Base64.encode(bytes).utf8.compactMap { character -> UInt8? in
            switch character {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: character
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// `nil` if the text is anything else. Padding is accepted where it would be right.
    package static func decode(_ text: String) -> [UInt8]? {
        var characters: [UInt8] = []
        for character in text.utf8 {
            switch character {
            case UInt8(ascii: "-"): characters.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): characters.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"): return nil
            default: characters.append(character)
            }
        }
        if characters.last != UInt8(ascii: "=") {
            characters += [UInt8](repeating: UInt8(ascii: "="), count: (4 - characters.count % 4) % 4)
        }
        return Base64.decode(String(decoding: characters, as: UTF8.self))
    }
}
