import Glibc
import NotifyText
import Routing

/// Reads one TOML table strictly: keys are read by name and type, and any key left over is a mistake.
///
/// A wrong value is noted as a mistake and read as `nil`, so that all mistakes are found.
struct TableReader {
    /// Bytes of a text.
    static let maximumText = 8 * 1024
    /// Elements of a list of texts.
    static let maximumTexts = 256

    private let table: TOMLTable
    private let isRoot: Bool
    let source: ConfigurationSource
    private var known: [String] = []
    private var refused: Set<ByteString> = []

    init(_ table: TOMLTable, in source: ConfigurationSource, isRoot: Bool = false) {
        self.table = table
        self.source = source
        self.isRoot = isRoot
    }

    var offset: Int { table.offset }

    /// Whether the key is there, whatever its value.
    func has(_ key: String) -> Bool { table[key] != nil }

    func isEmptyList(_ key: String) -> Bool { table[key]?.node.array?.isEmpty == true }

    // MARK: Values

    mutating func string(_ key: String) -> String? {
        guard let (text, _) = value(key, "a string such as \"text\"", \.string) else { return nil }
        return deliverable(text, key, at: table[key]?.offset)
    }

    /// Texts of a configuration are sent in messages.
    private func deliverable(_ text: String, _ key: String, at offset: Int?) -> String? {
        guard text.utf8.count <= Self.maximumText else {
            source.note(at: offset, "'\(key)' has \(text.utf8.count) bytes; it has at most \(Self.maximumText)")
            return nil
        }
        guard text.fitsIntoMessage else {
            source.note(at: offset, "'\(key)' has a character that no message can carry, such as NUL or U+FFFE")
            return nil
        }
        return text
    }

    mutating func boolean(_ key: String) -> Bool? { value(key, "true or false", \.boolean)?.0 }

    mutating func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let (number, _) = value(key, "a whole number", \.integer) else { return nil }
        guard range.contains(number) else {
            note(key, "'\(key)' is \(number); it is \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    mutating func duration(_ key: String, upTo maximum: Duration, from minimum: Duration = .zero) -> Duration? {
        let wanted = "a duration such as \"100ms\", \"5s\", \"10m\" or \"12h\""
        guard let (text, _) = value(key, wanted, \.string) else { return nil }
        guard text.utf8.count <= Self.maximumText, let duration = Duration(text: text) else {
            note(key, "'\(key)' is \"\(PlainText.excerpt(text))\"; it is \(wanted)")
            return nil
        }
        guard duration >= minimum, duration <= maximum else {
            note(key, "'\(key)' is \(duration.text); it is \(minimum.text) to \(maximum.text)")
            return nil
        }
        return duration
    }

    /// One of the raw values of a type.
    mutating func word<Word: RawRepresentable & CaseIterable>(_ key: String, of _: Word.Type) -> Word?
    where Word.RawValue == String {
        let words = Word.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        guard let (text, _) = value(key, words, \.string) else { return nil }
        guard let word = Word(rawValue: text) else {
            note(key, "'\(key)' is \"\(PlainText.excerpt(text))\"; it is one of \(words)")
            return nil
        }
        return word
    }

    /// A user of this machine, by number or by name.
    mutating func user(_ key: String) -> UInt32? {
        guard
            let (user, _) = value(key, "the number or the name of a user", { $0.integer.map { "\($0)" } ?? $0.string })
        else { return nil }
        if let number = UInt32(user) { return number }
        guard user.utf8.count <= 256, !user.utf8.contains(0), let entry = getpwnam(user) else {
            note(
                key,
                "'\(key)' is \"\(PlainText.excerpt(user))\", and there is no such user; it is the number or the name of one"
            )
            return nil
        }
        return entry.pointee.pw_uid
    }

    mutating func subtable(_ key: String) -> TOMLTable? {
        value(key, "a table" + (isRoot ? ", which begins with [\(key)]" : ""), \.table)?.0
    }

    /// A list of strings, each with its place.
    mutating func strings(_ key: String) -> [(text: String, offset: Int)]? {
        guard let (nodes, _) = list(key, "a list of strings") else { return nil }
        var strings: [(text: String, offset: Int)] = []
        for node in nodes {
            guard let string = node.string else {
                source.note(at: node.offset, "'\(key)' is a list of strings, and this is \(node.kind)")
                continue
            }
            if let text = deliverable(string, key, at: node.offset) { strings.append((text, node.offset)) }
        }
        return strings
    }

    mutating func tables(_ key: String, upTo maximum: Int) -> [TOMLTable] {
        let wanted = "a list of tables" + (isRoot ? ", each of which begins with [[\(key)]]" : "")
        guard let (nodes, _) = list(key, wanted, upTo: maximum) else { return [] }
        return nodes.compactMap { node in
            if node.table == nil { source.note(at: node.offset, "'\(key)' is \(wanted), and this is \(node.kind)") }
            return node.table
        }
    }

    private mutating func list(_ key: String, _ wanted: String, upTo maximum: Int = Self.maximumTexts)
        -> (nodes: [TOMLNode], offset: Int)?
    {
        guard let (nodes, offset) = value(key, wanted, \.array) else { return nil }
        guard nodes.count <= maximum else {
            source.note(at: nodes[maximum].offset, "'\(key)' has \(nodes.count) elements; it has at most \(maximum)")
            return nil
        }
        return (nodes, offset)
    }

    private mutating func value<Result>(_ key: String, _ wanted: String, _ read: (TOMLNode) -> Result?)
        -> (Result, offset: Int)?
    {
        known.append(key)
        guard let entry = table[key], !entry.node.isBad else { return nil }
        guard let result = read(entry.node) else {
            source.note(at: entry.offset, "'\(key)' is \(entry.node.kind); it is \(wanted)")
            return nil
        }
        return (result, entry.node.offset)
    }

    // MARK: The end

    /// Notes every key that was not read.
    func finish() {
        let names = known.sorted().joined(separator: ", ")
        let expected = Set(known.map(\.bytes))
        for entry in table.entries
        where !expected.contains(entry.key.bytes) && !refused.contains(entry.key.bytes) {
            source.note(
                at: entry.offset, "there is no key '\(PlainText.excerpt(entry.key))' here; the keys are \(names)")
        }
    }

    /// Notes that a key must not be here, if it is.
    mutating func refuse(_ key: String, _ reason: @autoclosure () -> String) {
        refused.insert(key.bytes)
        if let entry = table[key] { source.note(at: entry.offset, reason()) }
    }

    /// Notes a mistake at a key, or at the table if the key is missing.
    func note(_ key: String, _ reason: @autoclosure () -> String) {
        source.note(at: table[key]?.offset ?? table.offset, reason())
    }
}
