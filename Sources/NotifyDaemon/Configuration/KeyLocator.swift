/// Finds where in a TOML text a key stands, for the TOML library tells the place of syntax errors only.
///
/// It knows what configurations look like, not all of TOML: a key it does not find is reported at its table's header.
struct KeyLocator {
    typealias Place = (line: Int, column: Int)

    private var places: [String: Place] = [:]
    private let lines: [Substring]

    init(_ text: String) {
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
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

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text.filter { $0 != "\"" && $0 != "'" })
    }
}
