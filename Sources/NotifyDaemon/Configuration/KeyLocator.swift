/// Finds where in a TOML text a key stands, for the TOML library tells the place of syntax errors only.
///
/// It knows what configurations look like, not all of TOML: a key it does not find is reported at its table's header.
struct KeyLocator {
    typealias Place = (line: Int, column: Int)

    private var places: [String: Place] = [:]
    /// The first header of a table whose name does not begin as one can. The TOML library ends the program over it.
    private(set) var badHeader: Place?
    private let lines: [Substring]

    init(_ text: String) {
        // To Swift, the line end of other systems is one character, and not this one.
        lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Substring($0) }
        var table = ""
        var arrayCounts: [String: Int] = [:]
        var quotes: String?
        for (index, line) in lines.enumerated() {
            if let open = quotes {
                if line.contains(open) { quotes = nil }
                continue
            }
            let content = line.drop { $0 == " " || $0 == "\t" }
            let place = (line: index + 1, column: line.count - content.count + 1)
            if badHeader == nil, content.hasPrefix("["), !Self.beginsAsName(Self.name(inHeader: content)) {
                badHeader = place
            }
            if content.hasPrefix("[[") {
                let name = Self.trimmed(content.dropFirst(2).prefix { $0 != "]" })
                table = "\(name)[\(arrayCounts[name, default: 0])]"
                arrayCounts[name, default: 0] += 1
                places[table] = place
            } else if content.hasPrefix("[") {
                table = Self.trimmed(content.dropFirst().prefix { $0 != "]" })
                places[table] = place
            } else if let equals = content.firstIndex(of: "="), !content.hasPrefix("#"), !content.hasPrefix("{") {
                let key = Self.trimmed(content[..<equals])
                places[table.isEmpty ? key : "\(table).\(key)"] = place
                for mark in ["\"\"\"", "'''"] where content.ranges(of: mark).count % 2 == 1 { quotes = mark }
            }
        }
    }

    /// The place of a key such as `route[2].window`, or of a name inside the value of such a key.
    func place(of path: String, inside name: String? = nil) -> Place {
        guard let place = places[path] else {
            guard let dot = path.lastIndex(of: ".") else { return (1, 1) }
            return self.place(of: String(path[..<dot]))
        }
        guard let name else { return place }
        // An inline value may go on over several lines; the first mention after the key is the one.
        for index in (place.line - 1)..<min(place.line + 20, lines.count) {
            let line = lines[index]
            let start =
                index == place.line - 1 ? line.index(line.startIndex, offsetBy: place.column - 1) : line.startIndex
            if let range = line[start...].firstRange(of: name) {
                return (index + 1, line.distance(from: line.startIndex, to: range.lowerBound) + 1)
            }
        }
        return place
    }

    /// How many characters a line has, as the TOML library counts them; `nil` if the text ends before.
    func length(ofLine line: Int) -> Int? {
        lines.indices.contains(line - 1) ? lines[line - 1].unicodeScalars.count : nil
    }

    /// What comes behind one bracket or two.
    private static func name(inHeader line: Substring) -> Substring {
        line.dropFirst(line.hasPrefix("[[") ? 2 : 1).drop { $0 == " " || $0 == "\t" }
    }

    /// Whether it begins with a letter, a digit or a quote, or with nothing that the library does not name itself.
    private static func beginsAsName(_ text: Substring) -> Bool {
        guard let first = text.utf8.first else { return true }
        return switch Unicode.Scalar(first) {
        case "A"..."Z", "a"..."z", "0"..."9", "_", "-", "\"", "'", "]", "\r": true
        default: false
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text.filter { $0 != "\"" && $0 != "'" })
    }
}
