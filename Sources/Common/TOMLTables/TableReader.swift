import Glibc
import NotifyText

/// Reads one TOML table strictly: keys are read by name and type, and any key left over is a mistake.
///
/// A wrong value is noted as a mistake and read as `nil`, so that all mistakes are found. A key that was not read
/// counts as unknown.
public struct TableReader {
    /// The most bytes of a text.
    package static let maximumText = 8 * 1024
    /// The most elements of a list.
    package static let maximumTexts = 256

    private let table: TOMLTable
    private let isRoot: Bool
    package let source: ConfigurationSource
    private var known: [String] = []
    private var refused: Set<ByteString> = []

    package init(_ table: TOMLTable, in source: ConfigurationSource, isRoot: Bool = false) {
        self.table = table
        self.source = source
        self.isRoot = isRoot
    }

    package var offset: Int { table.offset }

    /// The folder of the file, which the paths in it begin at.
    package var folder: String { source.file.lastIndex(of: "/").map { String(source.file[..<$0]) } ?? "." }

    /// Whether the key is there, whatever its value.
    public func has(_ key: String) -> Bool { table[key] != nil }

    /// Whether the syntax of the file is right. Otherwise a key that is missing may be in what could not be read, so
    /// its absence is not reported.
    public var isWhole: Bool { source.isWhole }

    package func isEmptyList(_ key: String) -> Bool { table[key]?.node.array?.isEmpty == true }

    // MARK: Values

    /// A text.
    public mutating func string(_ key: String) -> String? {
        guard let text = value(key, "a string such as \"text\"", \.string) else { return nil }
        return deliverable(text, key, at: table[key]?.offset)
    }

    /// A text as it was read, if a message on the bus can carry it.
    private func deliverable(_ text: String, _ key: String, at offset: Int?) -> String? {
        guard text.utf8.count <= Self.maximumText else {
            source.note(at: offset, "'\(key)' must have at most \(Self.maximumText) bytes; it has \(text.utf8.count)")
            return nil
        }
        guard text.fitsIntoMessage else {
            source.note(at: offset, "'\(key)' has a character that no message can carry, such as NUL or U+FFFE")
            return nil
        }
        return text
    }

    /// `true` or `false`.
    public mutating func boolean(_ key: String) -> Bool? { value(key, "true or false", \.boolean) }

    /// A whole number.
    public mutating func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let number = value(key, "a whole number", \.integer) else { return nil }
        guard range.contains(number) else {
            note(key, "'\(key)' must be between \(range.lowerBound) and \(range.upperBound); it is \(number)")
            return nil
        }
        return number
    }

    /// A duration such as `"5s"`.
    public mutating func duration(_ key: String, upTo maximum: Duration, from minimum: Duration = .zero) -> Duration? {
        let wanted = "a duration such as \"100ms\", \"5s\", \"10m\" or \"12h\""
        guard let text = value(key, wanted, \.string) else { return nil }
        guard text.utf8.count <= Self.maximumText, let duration = Duration(text: text) else {
            note(key, "'\(key)' must be \(wanted); it is \"\(PlainText.excerpt(text))\"")
            return nil
        }
        guard duration >= minimum, duration <= maximum else {
            note(key, "'\(key)' must be between \(minimum.text) and \(maximum.text); it is \(duration.text)")
            return nil
        }
        return duration
    }

    /// One of the raw values of a type.
    public mutating func word<Word: RawRepresentable & CaseIterable>(_ key: String, of _: Word.Type) -> Word?
    where Word.RawValue == String {
        guard let text = value(key, Word.quoted, \.string) else { return nil }
        guard let word = Word(rawValue: text) else {
            note(key, "'\(key)' must be one of \(Word.quoted); it is \"\(PlainText.excerpt(text))\"")
            return nil
        }
        return word
    }

    /// A user of this machine, by number or by name.
    package mutating func user(_ key: String) -> UInt32? {
        guard let user = value(key, "the number or the name of a user", { $0.integer.map(String.init) ?? $0.string })
        else { return nil }
        if let number = UInt32(user) { return number }
        guard user.utf8.count <= 256, !user.utf8.contains(0), let entry = getpwnam(user) else {
            note(
                key,
                "'\(key)' must be the number or the name of a user; there is no \"\(PlainText.excerpt(user))\""
            )
            return nil
        }
        return entry.pointee.pw_uid
    }

    package mutating func subtable(_ key: String, wanted: String? = nil) -> TOMLTable? {
        value(key, wanted ?? "a table" + (isRoot ? ", which begins with [\(key)]" : ""), \.table)
    }

    /// A list of strings, each with its place.
    public mutating func strings(_ key: String) -> [(text: String, offset: Int)]? {
        guard let nodes = list(key, "a list of strings") else { return nil }
        var strings: [(text: String, offset: Int)] = []
        for node in nodes {
            guard let string = node.string else {
                source.note(at: node.offset, "'\(key)' must be a list of strings; this is \(node.kind)")
                continue
            }
            if let text = deliverable(string, key, at: node.offset) { strings.append((text, node.offset)) }
        }
        return strings
    }

    package mutating func tables(_ key: String, upTo maximum: Int) -> [TOMLTable] {
        let wanted = "a list of tables" + (isRoot ? ", each of which begins with [[\(key)]]" : "")
        guard let nodes = list(key, wanted, upTo: maximum) else { return [] }
        return nodes.compactMap { node in
            if node.table == nil { source.note(at: node.offset, "'\(key)' must be \(wanted); this is \(node.kind)") }
            return node.table
        }
    }

    private mutating func list(_ key: String, _ wanted: String, upTo maximum: Int = Self.maximumTexts) -> [TOMLNode]? {
        guard let nodes = value(key, wanted, \.array) else { return nil }
        guard nodes.count <= maximum else {
            source.note(
                at: nodes[maximum].offset, "'\(key)' must have at most \(maximum) elements; it has \(nodes.count)")
            return nil
        }
        return nodes
    }

    package mutating func value<Result>(_ key: String, _ wanted: String, _ read: (TOMLNode) -> Result?) -> Result? {
        known.append(key)
        guard let entry = table[key], !entry.node.isBad else { return nil }
        guard let result = read(entry.node) else {
            source.note(at: entry.offset, "'\(key)' must be \(wanted); it is \(entry.node.kind)")
            return nil
        }
        return result
    }

    // MARK: Tables inside

    /// Reads the table of a key, if it is there.
    ///
    /// - Parameters:
    ///   - wanted: what the value must be, for the error if it is not a table.
    ///   - read: reads every key that the table may have; `nil` if something was wrong.
    public mutating func table<Content>(
        _ key: String, wanted: String? = nil, _ read: (inout TableReader) -> Content?
    ) -> Content? {
        subtable(key, wanted: wanted).flatMap { Self.read($0, in: source, read) }
    }

    /// Reads a list of tables, such as those that begin with `[[route]]`. Tables with a mistake are left out.
    ///
    /// - Parameters:
    ///   - maximum: how many there may be.
    ///   - read: reads every key that one of them may have; `nil` if something was wrong.
    public mutating func tables<Content>(
        _ key: String, upTo maximum: Int, _ read: (inout TableReader) -> Content?
    ) -> [Content] {
        tables(key, upTo: maximum).compactMap { Self.read($0, in: source, read) }
    }

    private static func read<Content>(
        _ table: TOMLTable, in source: ConfigurationSource, isRoot: Bool = false,
        _ read: (inout TableReader) -> Content?
    ) -> Content? {
        var reader = TableReader(table, in: source, isRoot: isRoot)
        let content = read(&reader)
        reader.finish()
        return content
    }

    /// Reads a whole text.
    ///
    /// - Parameters:
    ///   - file: the name of its file, for errors.
    ///   - read: reads every key that the text may have; `nil` if it has noted a mistake.
    /// - Throws: all mistakes, with their places.
    public static func read<Content>(
        file: String, text: String, _ read: (inout TableReader) -> Content?
    ) throws(ConfigurationError) -> Content {
        let mistakes = ConfigurationSource.Mistakes()
        let source = ConfigurationSource(file: file, text: text, mistakes)
        let (root, syntaxMistakes) = TOMLParser.parse(text)
        source.isWhole = syntaxMistakes.isEmpty
        for mistake in syntaxMistakes { source.note(at: mistake.offset, mistake.reason) }
        let content = Self.read(root, in: source, isRoot: true, read)
        if let error = mistakes.error { throw error }
        guard let content else {
            throw ConfigurationError(file: file, line: 0, column: 0, reason: "something that is needed is missing")
        }
        return content
    }

    /// The value of a key that must be there; notes its absence.
    public mutating func required<Content>(
        _ key: String, _ read: (inout TableReader, String) -> Content?
    ) -> Content? {
        let content = read(&self, key)
        if !has(key) { note(key, "'\(key)' is missing here") }
        return content
    }

    // MARK: The end

    /// Allows keys that are not read because of another mistake.
    public mutating func accept(_ keys: [String]) { known += keys }

    /// Notes every key that was not read. If no key was read at all, the mistake that is the reason is noted already.
    package func finish() {
        guard !known.isEmpty else { return }
        let names = Set(known).sorted().joined(separator: ", ")
        let expected = Set(known.map(\.bytes))
        for entry in table.entries
        where !expected.contains(entry.key.bytes) && !refused.contains(entry.key.bytes) {
            source.note(
                at: entry.offset, "there is no key '\(PlainText.excerpt(entry.key))' here; the keys are \(names)")
        }
    }

    /// Notes that a key must not be here, if it is.
    package mutating func refuse(_ key: String, _ reason: @autoclosure () -> String) {
        refused.insert(key.bytes)
        if let entry = table[key] { source.note(at: entry.offset, reason()) }
    }

    /// Notes a mistake at a place, such as that of one of ``strings(_:)``.
    public func note(at offset: Int, _ reason: @autoclosure () -> String) { source.note(at: offset, reason()) }

    /// Notes a mistake at a key, or at the table if the key is missing.
    public func note(_ key: String, _ reason: @autoclosure () -> String) {
        source.note(at: table[key]?.offset ?? table.offset, reason())
    }
}

extension CaseIterable where Self: RawRepresentable, RawValue == String {
    /// All of them, for errors: `"mon", "tue"`.
    package static var quoted: String { allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ") }
}
