/// A key of a terminal.
enum Key: Hashable, Sendable {
    /// A character that can be printed, such as a letter or a space.
    case character(Character)
    case up, down, pageUp, pageDown, home, end
    case enter, backspace, escape
}

/// Makes keys of the bytes that a terminal sends: UTF-8, control characters, and the escape sequences of xterm(1).
///
/// A terminal sends a sequence at once, so an escape character at the end of what was read is the key.
struct KeyDecoder: Sendable {
    /// The longest escape sequence that is waited for. A longer one is not a key.
    private static let longest = 32
    private static let escape: UInt8 = 0x1b

    /// The beginning of a sequence or a character whose end has not been read yet.
    private var rest: [UInt8] = []

    mutating func keys(_ bytes: some Sequence<UInt8>) -> [Key] {
        var input = rest[...] + Array(bytes)[...]
        var keys: [Key] = []
        while let first = input.first {
            guard let (key, length) = Self.key(first, input) else { break }
            if let key { keys.append(key) }
            input = input.dropFirst(length)
        }
        rest = input.count > Self.longest ? [] : Array(input)
        return keys
    }

    /// The first key and its length; without a key if it has no meaning here, and `nil` if its end is missing.
    private static func key(_ first: UInt8, _ input: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
        switch first {
        case escape: return sequence(input)
        case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return (.enter, 1)
        case 0x7f, 0x08: return (.backspace, 1)
        case 0x20..<0x7f: return (.character(Character(Unicode.Scalar(first))), 1)
        case 0xc2..<0xf5:
            let length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
            guard input.count >= length else { return nil }
            guard let text = String(validating: input.prefix(length), as: UTF8.self), let character = text.first else {
                return (nil, 1)
            }
            return (
                character.unicodeScalars.contains { $0.properties.generalCategory == .control }
                    ? nil
                    : .character(character), length
            )
        default: return (nil, 1)
        }
    }

    /// `ESC [ … X` and `ESC O X`.
    private static func sequence(_ input: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
        let body = input.dropFirst()
        guard let kind = body.first else { return (.escape, 1) }
        guard kind == UInt8(ascii: "[") || kind == UInt8(ascii: "O") else { return (.escape, 1) }
        guard let end = body.dropFirst().firstIndex(where: { (0x40..<0x7f).contains($0) }) else { return nil }
        let parameters = body[body.index(after: body.startIndex)..<end].prefix { (0x30..<0x3a).contains($0) }
        return (
            key(body[end], number: String(decoding: parameters, as: UTF8.self)),
            input.distance(from: input.startIndex, to: end) + 1
        )
    }

    private static func key(_ final: UInt8, number: String) -> Key? {
        switch (final, number) {
        case (UInt8(ascii: "A"), _): .up
        case (UInt8(ascii: "B"), _): .down
        case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
        case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
        case (UInt8(ascii: "~"), "5"): .pageUp
        case (UInt8(ascii: "~"), "6"): .pageDown
        default: nil
        }
    }
}
