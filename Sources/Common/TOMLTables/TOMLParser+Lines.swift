// Blanks, comments and the ends of lines.
extension TOMLParser {
    func peek(_ distance: Int = 0) -> UInt8? {
        index + distance < bytes.count ? bytes[index + distance] : nil
    }

    func isNext(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[index...].starts(with: $0) }
    }

    mutating func skipBlanks() {
        while let byte = peek(), byte == 0x20 || byte == 0x09 { index += 1 }
    }

    /// Skips blanks, empty lines and comments.
    mutating func skipLinesWithoutContent() throws(Mistake) {
        while true {
            skipBlanks()
            try skipComment()
            guard try skipLineEnd() else { return }
        }
    }

    mutating func requireEndOfLine() throws(Mistake) {
        skipBlanks()
        try skipComment()
        guard try skipLineEnd() || peek() == nil else {
            throw Mistake(offset: index, reason: "the line ends here, or a comment begins with #")
        }
    }

    private mutating func skipComment() throws(Mistake) {
        guard peek() == UInt8(ascii: "#") else { return }
        while let byte = peek(), byte != 0x0A, !(byte == 0x0D && peek(1) == 0x0A) {
            try refuseControlCharacter(byte)
            index += 1
        }
    }

    private mutating func skipLineEnd() throws(Mistake) -> Bool {
        switch peek() {
        case 0x0A?: index += 1
        case 0x0D? where peek(1) == 0x0A: index += 2
        default: return false
        }
        return true
    }

    /// Control characters are not allowed; a tab is.
    func refuseControlCharacter(_ byte: UInt8) throws(Mistake) {
        guard byte < 0x20 && byte != 0x09 || byte == 0x7F else { return }
        let name = byte == 0 ? "a NUL character, which is no text" : "a control character"
        throw Mistake(offset: index, reason: "this is \(name); in a string in double quotes it is written like \\u001B")
    }
}
