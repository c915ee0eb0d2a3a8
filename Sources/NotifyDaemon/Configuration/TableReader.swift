import Glibc
import Routing
import TOMLKit

/// Reads one TOML table strictly: every key is asked for by name and type, and what is left over at the end is an error.
struct TableReader {
    private let table: TOMLTable
    /// Where the table is: "" for the file itself, `defaults`, `route[2]`.
    private let path: String
    private let source: ConfigurationSource
    private var known: [String] = []

    init(_ table: TOMLTable, path: String, in source: ConfigurationSource) {
        self.table = table
        self.path = path
        self.source = source
    }

    // MARK: Values

    mutating func string(_ key: String) throws(ConfigurationError) -> String? {
        guard let text = try value(key, "a string such as \"text\"", { $0.string }) else { return nil }
        return try deliverable(text, key)
    }

    /// What a configuration says goes out in messages, sooner or later.
    private func deliverable(_ text: String, _ key: String) throws(ConfigurationError) -> String {
        guard text.fitsIntoMessage else {
            throw error(key, "'\(key)' has a character that no message can carry, such as NUL or U+FFFE")
        }
        return text
    }

    mutating func boolean(_ key: String) throws(ConfigurationError) -> Bool? {
        try value(key, "true or false") { $0.bool }
    }

    mutating func integer(_ key: String, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
        guard let number = try value(key, "a whole number", { $0.int }) else { return nil }
        guard range.contains(number) else {
            throw error(key, "'\(key)' is \(number); it is \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func duration(_ key: String, upTo maximum: Duration, from minimum: Duration = .zero)
        throws(ConfigurationError) -> Duration?
    {
        let wanted = "a duration such as \"100ms\", \"5s\", \"10m\" or \"12h\""
        guard let text = try value(key, wanted, { $0.string }) else { return nil }
        guard let duration = Duration(text: text) else {
            throw error(key, "'\(key)' is \"\(text)\"; it is \(wanted)")
        }
        guard duration >= minimum, duration <= maximum else {
            throw error(key, "'\(key)' is \(duration.text); it is \(minimum.text) to \(maximum.text)")
        }
        return duration
    }

    /// One of the words that a type has.
    mutating func word<Word: RawRepresentable & CaseIterable>(_ key: String, of _: Word.Type)
        throws(ConfigurationError) -> Word? where Word.RawValue == String
    {
        let words = Word.allCases.map { "\"\($0.rawValue)\"" }
        guard let text = try value(key, words.joined(separator: ", "), { $0.string }) else { return nil }
        guard let word = Word(rawValue: text) else {
            throw error(key, "'\(key)' is \"\(text)\"; it is one of \(words.joined(separator: ", "))")
        }
        return word
    }

    /// A user of this machine, by number or by name.
    mutating func user(_ key: String) throws(ConfigurationError) -> UInt32? {
        guard let user = try value(key, "the number or the name of a user", { $0.int.map { "\($0)" } ?? $0.string })
        else { return nil }
        if let number = UInt32(user) { return number }
        guard let entry = getpwnam(user) else {
            throw error(key, "'\(key)' is \"\(user)\", and there is no such user; it is the number or the name of one")
        }
        return entry.pointee.pw_uid
    }

    /// A table inside this one.
    mutating func subtable(_ key: String) throws(ConfigurationError) -> TOMLTable? {
        try value(key, "a table" + (path.isEmpty ? ", which begins with [\(key)]" : "")) { $0.table }
    }

    /// A list of strings.
    mutating func strings(_ key: String) throws(ConfigurationError) -> [String]? {
        guard let array = try value(key, "a list of strings", { $0.array }) else { return nil }
        var strings: [String] = []
        for element in array {
            guard let string = element.string else { throw error(key, "'\(key)' is a list of strings") }
            strings.append(try deliverable(string, key))
        }
        return strings
    }

    /// A list of tables.
    mutating func tables(_ key: String) throws(ConfigurationError) -> [TOMLTable] {
        let wanted = "a list of tables" + (path.isEmpty ? ", each of which begins with [[\(key)]]" : "")
        guard let array = try value(key, wanted, { $0.array }) else { return [] }
        var tables: [TOMLTable] = []
        for element in array {
            guard let table = element.table else { throw error(key, "'\(key)' is \(wanted)") }
            tables.append(table)
        }
        return tables
    }

    private mutating func value<Result>(_ key: String, _ wanted: String, _ read: (any TOMLValueConvertible) -> Result?)
        throws(ConfigurationError) -> Result?
    {
        known.append(key)
        guard let value = table[key] else { return nil }
        guard let result = read(value) else { throw error(key, "'\(key)' is \(Self.name(of: value)); it is \(wanted)") }
        return result
    }

    // MARK: The end

    /// Every key that nobody asked for is a mistake of the writer.
    func finish() throws(ConfigurationError) {
        for key in table.keys where !known.contains(key) {
            let names = known.sorted().joined(separator: ", ")
            throw error(key, "there is no key '\(key)' here; the keys are \(names)")
        }
    }

    func error(_ key: String, inside name: String? = nil, _ reason: String) -> ConfigurationError {
        source.error(path.isEmpty ? key : "\(path).\(key)", inside: name, reason)
    }

    private static func name(of value: any TOMLValueConvertible) -> String {
        switch value.type {
        case .table: "a table"
        case .array: "a list"
        case .string: "a string"
        case .int: "a whole number"
        case .double: "a number with a fraction"
        case .bool: "true or false"
        case .date, .time, .dateTime: "a date or time"
        }
    }
}

/// A configuration text with its name, and the places of its keys.
struct ConfigurationSource {
    let file: String
    private let keys: KeyLocator

    init(file: String, text: String) {
        self.file = file
        keys = KeyLocator(text)
    }

    /// The file and the line of a key, as `config.toml:3`.
    func place(of path: String) -> String { "\(file):\(keys.place(of: path).line)" }

    func error(_ path: String, inside name: String? = nil, _ reason: String) -> ConfigurationError {
        let place = keys.place(of: path, inside: name)
        return ConfigurationError(file: file, line: place.line, column: place.column, reason: reason)
    }

    /// An error that the TOML library found. Where a string goes on to the end of the file, it takes the end of the last line
    /// for one character more.
    func error(at line: Int, _ column: Int, _ reason: String) -> ConfigurationError {
        let last = keys.length(ofLine: line).map { $0 + 1 } ?? column
        return ConfigurationError(file: file, line: line, column: min(column, last), reason: reason)
    }

    /// What the TOML library would not survive.
    func checkSyntax() throws(ConfigurationError) {
        guard let (place, reason) = keys.fault else { return }
        throw ConfigurationError(file: file, line: place.line, column: place.column, reason: reason)
    }

    func error(at index: String.Index, of text: String, _ reason: String) -> ConfigurationError {
        let before = text.utf8[..<index].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return ConfigurationError(file: file, line: before.count, column: before.last!.count + 1, reason: reason)
    }
}
