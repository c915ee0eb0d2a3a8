import NotifyText

// Values, lists and inline tables.
extension TOMLParser {
    mutating func readValue() throws(Mistake) -> TOMLNode {
        let start = index
        switch peek() {
        case UInt8(ascii: "\"")?, UInt8(ascii: "'")?:
            return TOMLNode(value: .string(try readString()), offset: start)
        case UInt8(ascii: "[")?:
            try descend()
            let nodes = try readArray()
            depth -= 1
            return TOMLNode(value: .array(nodes), offset: start)
        case UInt8(ascii: "{")?:
            try descend()
            let table = try readTable()
            depth -= 1
            return TOMLNode(value: .table(table), offset: start)
        default:
            return TOMLNode(value: try readWord(), offset: start)
        }
    }

    private mutating func descend() throws(Mistake) {
        guard depth < Self.maximumDepth else {
            throw Mistake(
                offset: index, reason: "lists and tables are at most \(Self.maximumDepth) deep within each other")
        }
        depth += 1
    }

    private mutating func readArray() throws(Mistake) -> [TOMLNode] {
        let start = index
        var nodes: [TOMLNode] = []
        index += 1
        while true {
            try skipLinesWithoutContent()
            if peek() == UInt8(ascii: "]") { break }
            guard peek() != nil else { throw Mistake(offset: start, reason: "this list is not closed; it ends with ]") }
            nodes.append(try readValue())
            try skipLinesWithoutContent()
            if peek() == UInt8(ascii: ",") {
                index += 1
            } else if peek() != UInt8(ascii: "]") {
                guard peek() != nil else {
                    throw Mistake(offset: start, reason: "this list is not closed; it ends with ]")
                }
                throw Mistake(offset: index, reason: "a comma is missing here, or ] at the end of the list")
            }
        }
        index += 1
        return nodes
    }

    private mutating func readTable() throws(Mistake) -> TOMLTable {
        let table = TOMLTable(.inline, at: index)
        index += 1
        skipBlanks()
        if peek() == UInt8(ascii: "}") {
            index += 1
            return table
        }
        while true {
            try readKeyAndValue(into: table)
            skipBlanks()
            switch peek() {
            case UInt8(ascii: ",")?: index += 1
            case UInt8(ascii: "}")?:
                index += 1
                return table
            default:
                throw Mistake(
                    offset: index,
                    reason: "a comma is missing here, or } at the end of the table, which stands on one line")
            }
        }
    }

    // MARK: Numbers and words

    private mutating func readWord() throws(Mistake) -> TOMLNode.Value {
        let start = index
        while let byte = peek(), byte.isNameCharacter || [0x2B, 0x2E, 0x3A].contains(byte) { index += 1 }
        // A blank may separate date and time.
        if index - start == 10, peek() == 0x20, let digit = peek(1), digit.isDigit, peek(3) == 0x3A {
            index += 1
            while let byte = peek(), byte.isNameCharacter || [0x2B, 0x2E, 0x3A].contains(byte) { index += 1 }
        }
        let word = String(decoding: bytes[start..<index], as: UTF8.self)
        switch word {
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        default: break
        }
        if let value = Self.number(word) { return value }
        index = start
        if !word.isEmpty, word.utf8.allSatisfy({ $0.isDigit || [0x2B, 0x2D].contains($0) }) {
            throw Mistake(offset: start, reason: "this is not a whole number that fits into 64 bits")
        }
        throw Mistake(
            offset: start,
            reason:
                "a value is missing here: a string is in quotes, and there are numbers, true, "
                + "false, [lists] and {tables}"
        )
    }

    private static func number(_ word: String) -> TOMLNode.Value? {
        let sign = word.first == "-" || word.first == "+" ? 1 : 0
        let digits = word.dropFirst(sign)
        guard let first = digits.utf8.first, !digits.hasPrefix("_"), !digits.hasSuffix("_"), !digits.contains("__")
        else { return nil }
        if digits == "inf" || digits == "nan" { return .float(digits == "inf" ? .infinity : .nan) }
        guard first.isDigit else { return nil }
        for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] where digits.hasPrefix(prefix) {
            let text = digits.dropFirst(2)
            guard sign == 0, let last = text.utf8.first, last.isNameCharacter, last != UInt8(ascii: "_"),
                !text.hasPrefix("-")
            else { return nil }
            return Int(text.filter { $0 != "_" }, radix: radix).map { .integer($0) }
        }
        if isMoment(digits) { return sign == 0 ? .moment : nil }
        let plain = word.filter { $0 != "_" }
        let hasLeadingZero =
            first == 0x30 && digits.utf8.dropFirst().first.map { $0.isDigit || $0 == 0x5F } == true
        guard !hasLeadingZero else { return nil }
        if let number = Int(plain) { return .integer(number) }
        return isFloat(digits) ? Double(plain).map { .float($0) } : nil
    }

    /// A date such as 2026-11-22 or a time such as 07:30:00, and what follows it.
    private static func isMoment(_ text: Substring) -> Bool {
        let bytes = Array(text.utf8)
        func isDigit(_ index: Int) -> Bool { bytes.indices.contains(index) && bytes[index].isDigit }
        guard bytes.allSatisfy({ $0.isDigit || "-:.TtZz+ ".utf8.contains($0) }) else { return false }
        let isDate = bytes.count >= 10 && (0..<4).allSatisfy(isDigit) && bytes[4] == UInt8(ascii: "-")
        let isTime = bytes.count >= 8 && isDigit(1) && bytes[2] == UInt8(ascii: ":")
        return isDate || isTime
    }

    /// Digits, with a fraction, an exponent or both.
    private static func isFloat(_ text: Substring) -> Bool {
        func areDigits(_ part: Substring) -> Bool {
            guard let first = part.utf8.first, let last = part.utf8.last else { return false }
            return first.isDigit && last.isDigit
                && part.utf8.allSatisfy { $0.isDigit || $0 == 0x5F }
        }
        let halves = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
        if halves.count == 2 {
            let exponent = halves[1].first == "+" || halves[1].first == "-" ? halves[1].dropFirst() : halves[1]
            guard areDigits(exponent) else { return false }
        }
        let parts = halves[0].split(separator: ".", omittingEmptySubsequences: false)
        return parts.count <= 2 && parts.allSatisfy(areDigits) && (parts.count == 2 || halves.count == 2)
    }
}
