import NotifyText

/// Reads a TOML text (https://toml.io/en/v1.0.0) and reports every mistake with its place.
///
/// After a mistake it goes on with the next line that looks like a header or a key. It works on bytes and recurses no
/// deeper than `maximumDepth`, so that no text takes more than time and memory in proportion to its length.
package struct TOMLParser {
    package struct Mistake: Error {
        /// An index into the bytes of the text.
        package var offset: Int
        package var reason: String
    }

    /// Greatest depth of nested lists and inline tables.
    static let maximumDepth = 16
    /// Greatest number of names in a dotted key or a header.
    static let maximumNames = 16
    /// Greatest length of a name in bytes.
    static let maximumNameBytes = 256
    /// After so many mistakes, the rest of the text is not read.
    static let maximumMistakes = 100

    let bytes: [UInt8]
    var index = 0
    var depth = 0
    private(set) var mistakes: [Mistake] = []
    private let root = TOMLTable(.header, at: 0)
    /// The table of the last header.
    private var current: TOMLTable

    private init(_ text: String) {
        bytes = Array(text.utf8)
        current = root
    }

    /// - Returns: what could be read, and what is wrong, in the order of the text.
    package static func parse(_ text: String) -> (root: TOMLTable, mistakes: [Mistake]) {
        var parser = TOMLParser(text)
        parser.parse()
        return (parser.root, parser.mistakes)
    }

    private mutating func parse() {
        // The byte order mark.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
        while mistakes.count < Self.maximumMistakes {
            let start = index
            do throws(Mistake) {
                try skipLinesWithoutContent()
                guard let byte = peek() else { return }
                if byte == UInt8(ascii: "[") { try readHeader() } else { try readKeyAndValue(into: current) }
                try requireEndOfLine()
            } catch {
                mistakes.append(error)
                depth = 0
                recover(from: start, error.offset)
            }
        }
    }

    /// Goes on with the next line that looks like the begin of a header or of a key with its value.
    private mutating func recover(from start: Int, _ offset: Int) {
        index = lineStart(of: max(start, min(offset, bytes.count)))
        let statement = lineStart(of: firstContent(from: start))
        while index <= statement || !looksLikeStatement(index) {
            guard let end = bytes[index...].firstIndex(of: UInt8(ascii: "\n")) else {
                index = bytes.count
                return
            }
            index = end + 1
        }
    }

    private func lineStart(of offset: Int) -> Int {
        bytes[..<offset].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    }

    private func firstContent(from offset: Int) -> Int {
        bytes[offset...].firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? bytes.count
    }

    private func looksLikeStatement(_ line: Int) -> Bool {
        var rest = bytes[line...].drop { $0 == 0x20 || $0 == 0x09 }
        guard let first = rest.first else { return true }
        if first == UInt8(ascii: "[") { return true }
        rest = rest.drop { $0.isNameCharacter || $0 == UInt8(ascii: ".") }
        guard rest.startIndex > line, first.isNameCharacter else { return false }
        return rest.drop { $0 == 0x20 || $0 == 0x09 }.first == UInt8(ascii: "=")
    }

    // MARK: Headers

    private mutating func readHeader() throws(Mistake) {
        let start = index
        // Keys after a bad header belong to no table.
        current = TOMLTable(.header, at: start)
        index += 1
        let isList = peek() == UInt8(ascii: "[")
        if isList { index += 1 }
        skipBlanks()
        guard let byte = peek(), byte.isNameCharacter || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") else {
            throw Mistake(
                offset: start,
                reason:
                    "this is not a table; a table begins like [defaults] or [[route]], with its "
                    + "name in letters or in quotes"
            )
        }
        let names = try readNames()
        for _ in 0..<(isList ? 2 : 1) {
            guard peek() == UInt8(ascii: "]") else {
                throw Mistake(
                    offset: index, reason: "\(isList ? "]]" : "]") is missing here, which ends the name of a table")
            }
            index += 1
        }
        current = try open(names, isList: isList, at: start)
    }

    private mutating func open(_ names: [(name: String, offset: Int)], isList: Bool, at start: Int) throws(Mistake)
        -> TOMLTable
    {
        let table = try descend(from: root, through: names, making: .implied, at: start) { entry in
            let next = entry.node.table ?? (entry.isTableList ? entry.node.array?.last?.table : nil)
            return next?.origin == .inline ? nil : next
        }
        guard let name = names.last?.name else { preconditionFailure("a header has a name") }
        // Before the entry is referenced, which would copy the list.
        if isList, table[name]?.isTableList == true {
            let new = TOMLTable(.element, at: start)
            table.append(new, to: name)
            return new
        }
        guard let entry = table[name] else {
            let new = TOMLTable(isList ? .element : .header, at: start)
            let node = TOMLNode(value: .table(new), offset: start)
            table.add(
                .init(
                    key: name, offset: start,
                    node: isList ? TOMLNode(value: .array([node]), offset: start) : node, isTableList: isList))
            return new
        }
        if !isList, let found = entry.node.table, found.origin == .implied {
            found.origin = .header
            found.offset = start
            return found
        }
        let advice = entry.isTableList ? "; it is a list of tables, each of which begins with [[\(name)]]" : ""
        throw Mistake(offset: start, reason: "'\(name)' is there already\(advice)")
    }

    /// Goes to the table of the last name but one, and makes those on the way that are not there.
    ///
    /// - Parameters:
    ///   - origin: of the tables that are made.
    ///   - place: of these; `nil`: those of their names.
    ///   - open: the table in an entry, if something may be added to it.
    private func descend(
        from root: TOMLTable, through names: [(name: String, offset: Int)], making origin: TOMLTable.Origin,
        at place: Int? = nil, _ open: (TOMLTable.Entry) -> TOMLTable?
    ) throws(Mistake) -> TOMLTable {
        var table = root
        for (name, offset) in names.dropLast() {
            if let entry = table[name] {
                guard let next = open(entry) else {
                    throw Mistake(offset: offset, reason: "'\(name)' is there already, and nothing can be added to it")
                }
                table = next
            } else {
                let start = place ?? offset
                let new = TOMLTable(origin, at: start)
                table.add(.init(key: name, offset: start, node: TOMLNode(value: .table(new), offset: start)))
                table = new
            }
        }
        return table
    }

    // MARK: Keys

    /// Reads `key = value`.
    mutating func readKeyAndValue(into target: TOMLTable) throws(Mistake) {
        let names = try readNames()
        guard peek() == UInt8(ascii: "=") else {
            throw Mistake(offset: index, reason: "= is missing here, between a key and its value")
        }
        index += 1
        skipBlanks()
        let table = try descend(from: target, through: names, making: .dottedKey) {
            $0.node.table?.origin == .dottedKey ? $0.node.table : nil
        }
        guard let (name, offset) = names.last else { preconditionFailure("a key has a name") }
        guard table[name] == nil else {
            throw Mistake(offset: offset, reason: "'\(name)' is there already, and a key has one value")
        }
        let start = index
        do throws(Mistake) {
            table.add(.init(key: name, offset: offset, node: try readValue()))
        } catch {
            // The key is kept, so that it is not reported as missing.
            table.add(.init(key: name, offset: offset, node: TOMLNode(value: .bad, offset: start)))
            throw error
        }
    }

    /// Reads names separated by dots, and the blanks after them.
    private mutating func readNames() throws(Mistake) -> [(name: String, offset: Int)] {
        var names: [(name: String, offset: Int)] = []
        while true {
            skipBlanks()
            let start = index
            guard names.count < Self.maximumNames else {
                throw Mistake(
                    offset: start, reason: "a key has at most \(Self.maximumNames) names with dots between them")
            }
            let name = try readName()
            guard name.utf8.count <= Self.maximumNameBytes else {
                throw Mistake(offset: start, reason: "a name has at most \(Self.maximumNameBytes) bytes")
            }
            names.append((name, start))
            skipBlanks()
            guard peek() == UInt8(ascii: ".") else { return names }
            index += 1
        }
    }

    private mutating func readName() throws(Mistake) -> String {
        switch peek() {
        case UInt8(ascii: "\"")?, UInt8(ascii: "'")?:
            let start = index
            guard !isNext("\"\"\"") && !isNext("'''") else {
                throw Mistake(offset: start, reason: "a name stands on one line, with one quote before and behind it")
            }
            return try readString()
        case let byte? where byte.isNameCharacter:
            let start = index
            while let byte = peek(), byte.isNameCharacter { index += 1 }
            return String(decoding: bytes[start..<index], as: UTF8.self)
        default:
            throw Mistake(
                offset: index,
                reason: "a key is missing here, such as window; other than letters, digits, - and _ are in quotes")
        }
    }
}

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
        let name = byte == 0 ? "a NUL character, which is not text" : "a control character"
        throw Mistake(offset: index, reason: "this is \(name); in a string in double quotes it is written like \\u001B")
    }
}
