import NotifyText

// Strings: "basic" and 'literal' ones, on one line or, between three quotes, on several.
extension TOMLParser {
    mutating func readString() throws(Mistake) -> String {
        let start = index
        guard let quote = peek() else { preconditionFailure("a string begins with a quote") }
        let isLong = peek(1) == quote && peek(2) == quote
        index += isLong ? 3 : 1
        // A line end directly after the opening quotes is not part of the string.
        if isLong { index += peek() == 0x0A ? 1 : peek() == 0x0D && peek(1) == 0x0A ? 2 : 0 }
        var text: [UInt8] = []
        while let byte = peek() {
            if byte == quote, !isLong {
                index += 1
                return String(decoding: text, as: UTF8.self)
            }
            if byte == quote, peek(1) == quote, peek(2) == quote {
                // The string may end with two quotes before the three that close it.
                let extra = peek(3) == quote ? (peek(4) == quote ? 2 : 1) : 0
                text.append(contentsOf: repeatElement(quote, count: extra))
                index += 3 + extra
                return String(decoding: text, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                try readEscape(into: &text, isLong: isLong)
            } else if isLong, byte == 0x0A || byte == 0x0D && peek(1) == 0x0A {
                text.append(0x0A)
                index += byte == 0x0A ? 1 : 2
            } else {
                if !isLong, byte == 0x0A || byte == 0x0D { break }
                try refuseControlCharacter(byte)
                text.append(byte)
                index += 1
            }
        }
        let name = String(repeating: Character(Unicode.Scalar(quote)), count: isLong ? 3 : 1)
        // The string probably lacks its closing quote. Parsing goes on with the next line.
        throw Mistake(
            offset: start,
            reason: isLong
                ? "this string goes on to the end of the file; it ends with \(name)"
                : "this string does not end on its line; it ends with \(name), and one of several "
                    + "lines is in three quotes"
        )
    }

    private mutating func readEscape(into text: inout [UInt8], isLong: Bool) throws(Mistake) {
        let start = index
        index += 1
        let letter = peek()
        index += 1
        switch letter {
        case UInt8(ascii: "b")?: text.append(0x08)
        case UInt8(ascii: "t")?: text.append(0x09)
        case UInt8(ascii: "n")?: text.append(0x0A)
        case UInt8(ascii: "f")?: text.append(0x0C)
        case UInt8(ascii: "r")?: text.append(0x0D)
        case UInt8(ascii: "\"")?, UInt8(ascii: "\\")?: text.append(letter!)
        case UInt8(ascii: "u")?: try readScalar(digits: 4, into: &text, from: start)
        case UInt8(ascii: "U")?: try readScalar(digits: 8, into: &text, from: start)
        default:
            index = start
            guard isLong, skipLineContinuation() else {
                throw Mistake(
                    offset: start, reason: "there is no such escape; a backslash is written \\\\, or in 'single quotes'"
                )
            }
        }
    }

    private mutating func readScalar(digits: Int, into text: inout [UInt8], from start: Int) throws(Mistake) {
        let end = index + digits
        guard end <= bytes.count, bytes[index..<end].allSatisfy({ $0.hexadecimalDigit != nil }),
            let number = UInt32(String(decoding: bytes[index..<end], as: UTF8.self), radix: 16),
            let scalar = Unicode.Scalar(number)
        else {
            throw Mistake(
                offset: start, reason: "this is not a character; one is written like \\u00E9 or \\U0001F600")
        }
        text.append(contentsOf: Character(scalar).utf8)
        index = end
    }

    /// A backslash at the end of a line: the string contains neither it, nor the line end, nor the blanks that follow.
    private mutating func skipLineContinuation() -> Bool {
        var end = index + 1
        while end < bytes.count, bytes[end] == 0x20 || bytes[end] == 0x09 { end += 1 }
        guard end < bytes.count,
            bytes[end] == 0x0A || bytes[end] == 0x0D && end + 1 < bytes.count && bytes[end + 1] == 0x0A
        else { return false }
        while end < bytes.count,
            [0x20, 0x09, 0x0A].contains(bytes[end])
                || bytes[end] == 0x0D && end + 1 < bytes.count && bytes[end + 1] == 0x0A
        {
            end += 1
        }
        index = end
        return true
    }
}
