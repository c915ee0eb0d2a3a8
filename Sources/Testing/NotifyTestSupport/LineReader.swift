import NotifyText
internal import Routing

/// Where and why a scenario cannot be read.
public struct ScenarioError: Error, Equatable, CustomStringConvertible {
    public let file: String
    public let line: Int
    /// Characters from the start of the line, from 1.
    public let column: Int
    public let reason: String

    public var description: String { "\(file):\(line):\(column): \(reason)" }
}

/// Reads one line of a scenario from left to right.
struct LineReader {
    let file: String
    let line: Int
    private let characters: [Character]
    private(set) var position = 0

    init(_ text: some StringProtocol, file: String, line: Int) {
        (self.file, self.line, characters) = (file, line, Array(text))
    }

    var isAtEnd: Bool { position == characters.count }
    var next: Character? { isAtEnd ? nil : characters[position] }

    /// An error at the place where the reader stands, or where it stood before.
    func error(_ reason: String, at place: Int? = nil) -> ScenarioError {
        ScenarioError(file: file, line: line, column: (place ?? position) + 1, reason: reason)
    }

    mutating func take() -> Character? {
        guard let next else { return nil }
        position += 1
        return next
    }

    mutating func skipSpaces() {
        while next == " " { position += 1 }
    }

    mutating func take(while condition: (Character) -> Bool) -> String {
        var text = ""
        while let character = next, condition(character) {
            text.append(character)
            position += 1
        }
        return text
    }

    /// Takes what stands up to the next space, and the spaces after it.
    mutating func word() -> String {
        let word = take { $0 != " " }
        skipSpaces()
        return word
    }

    mutating func rest() -> String {
        take { _ in true }
    }

    /// Takes this text if it stands here, and the spaces after it.
    mutating func skip(_ text: String) -> Bool {
        guard characters[position...].starts(with: text) else { return false }
        position += text.count
        skipSpaces()
        return true
    }

    mutating func expect(_ text: String) throws(ScenarioError) {
        guard skip(text) else { throw error("here '\(text)' is expected") }
    }

    mutating func expectEnd() throws(ScenarioError) {
        skipSpaces()
        guard isAtEnd else { throw error("nothing more is expected on this line") }
    }

    mutating func symbol() throws(ScenarioError) -> Symbol {
        guard let next, next.isSymbol else { throw error("here the letter of an event is expected") }
        position += 1
        skipSpaces()
        return next
    }

    mutating func name(_ what: String) throws(ScenarioError) -> String {
        let start = position
        let name = take { $0.isASCII && $0.isLetter }
        guard !name.isEmpty else { throw error("here \(what) is expected", at: start) }
        skipSpaces()
        return name
    }

    mutating func integer(_ what: String) throws(ScenarioError) -> Int64 {
        let start = position
        let digits = take { $0.isASCII && ($0.isNumber || $0 == "-") }
        guard let number = Int64(digits) else { throw error("here \(what) is expected", at: start) }
        skipSpaces()
        return number
    }

    mutating func count(_ what: String) throws(ScenarioError) -> Int {
        let start = position
        let number = try integer(what)
        guard number >= 0, let count = Int(exactly: number) else { throw error("here \(what) is expected", at: start) }
        return count
    }

    /// Takes a length of time: a whole number and `ms`, `s`, `m` or `h`.
    mutating func duration() throws(ScenarioError) -> Duration {
        let start = position
        let text = take { $0.isASCII && ($0.isNumber || $0.isLetter) }
        guard text.last?.isLetter == true, let length = Duration(text: text) else {
            throw error("here a length of time such as 100ms, 2s, 10m or 12h is expected", at: start)
        }
        skipSpaces()
        return length
    }
}

extension Duration {
    /// The duration as scenarios and configurations write it.
    var written: String { self == .zero ? "0ms" : text }
}
