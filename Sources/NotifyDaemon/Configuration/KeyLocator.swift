/// Finds where in a TOML text a key stands, for the TOML library tells the place of syntax errors only.
///
/// It knows what configurations look like, not all of TOML: a key it does not find is reported at its table's header.
struct KeyLocator {
    typealias Place = (line: Int, column: Int)

    private var places: [String: Place] = [:]
    /// The first mistake over which the TOML library would end the program.
    private(set) var fault: (place: Place, reason: String)?
    private let lines: [Substring]

    /// The table in which the keys that come next are.
    private var table = ""
    private var arrayCounts: [String: Int] = [:]

    init(_ text: String) {
        // To Swift, the line end of other systems is one character, and not this one.
        lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Substring($0) }
        var scanner = LineScanner()
        for (index, line) in lines.enumerated() {
            if !scanner.isUnderWay { noteStatement(line, at: index) }
            if let found = scanner.read(line) {
                let column = line.unicodeScalars.distance(from: line.startIndex, to: found.index) + 1
                note(found.reason, at: (index + 1, column))
            }
        }
    }

    private mutating func note(_ reason: String, at place: Place) {
        if fault == nil { fault = (place, reason) }
    }

    /// Notes the header or the key that begins with a line.
    private mutating func noteStatement(_ line: Substring, at index: Int) {
        // By scalars: to Swift, a bracket and an accent on it are one character.
        let content = line.unicodeScalars.drop { $0 == " " || $0 == "\t" || index == 0 && $0 == "\u{FEFF}" }
        let place = (line: index + 1, column: line.unicodeScalars.count - content.count + 1)
        if content.first == "[" {
            let isArray = content.dropFirst().first == "["
            let name = content.dropFirst(isArray ? 2 : 1)
            if !Self.beginsAsName(name) {
                note(
                    "this is no table; a table begins like [defaults] or [[route]], with its name in letters or in quotes",
                    at: place)
            }
            let path = Self.trimmed(Substring(name.prefix { $0 != "]" }))
            table = isArray ? "\(path)[\(arrayCounts[path, default: 0])]" : path
            if isArray { arrayCounts[path, default: 0] += 1 }
            places[table] = place
        } else if let equals = content.firstIndex(of: "="), content.first != "#" {
            let key = Self.trimmed(Substring(content[..<equals]))
            places[table.isEmpty ? key : "\(table).\(key)"] = place
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
                index == place.line - 1
                ? line.unicodeScalars.index(line.startIndex, offsetBy: place.column - 1) : line.startIndex
            if let range = line[start...].firstRange(of: name) {
                return (index + 1, line.unicodeScalars.distance(from: line.startIndex, to: range.lowerBound) + 1)
            }
        }
        return place
    }

    /// How many characters a line has, as the TOML library counts them; `nil` if the text ends before.
    func length(ofLine line: Int) -> Int? {
        lines.indices.contains(line - 1) ? lines[line - 1].unicodeScalars.count : nil
    }

    /// Whether what comes behind the brackets of a header begins with a letter, a digit or a quote, or closes it, of which
    /// the library says itself what is wrong.
    private static func beginsAsName(_ text: Substring.UnicodeScalarView) -> Bool {
        guard let first = text.first(where: { $0 != " " && $0 != "\t" }) else { return false }
        return switch first {
        case "A"..."Z", "a"..."z", "0"..."9", "_", "-", "\"", "'", "]": true
        default: false
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text.filter { $0 != "\"" && $0 != "'" })
    }
}
