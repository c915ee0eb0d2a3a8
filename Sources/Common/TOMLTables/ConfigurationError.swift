/// The mistakes of a configuration, each with its place and a remedy.
public struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// One mistake.
    public struct Mistake: Equatable, Sendable, CustomStringConvertible {
        /// The file that has it.
        public let file: String
        /// Counted from 1; 0 without a place.
        public let line: Int
        /// In characters of Unicode (scalars), counted from 1.
        public let column: Int
        /// What is wrong, and what would be right.
        public let reason: String

        public init(file: String, line: Int, column: Int, reason: String) {
            self.file = PlainText.line(file)
            self.line = line
            self.column = column
            self.reason = PlainText.line(reason)
        }

        public var description: String {
            line > 0 ? "\(file):\(line):\(column): \(reason)" : "\(file): \(reason)"
        }
    }

    /// Mistakes that are listed; further ones are counted.
    package static let told = 20

    /// At least one, in the order of the files and of their lines.
    public let mistakes: [Mistake]
    /// The number of all mistakes.
    public let count: Int

    public init(_ mistakes: [Mistake], of count: Int? = nil) {
        precondition(!mistakes.isEmpty, "an error has a reason")
        self.mistakes = Array(mistakes.prefix(Self.told))
        self.count = count ?? mistakes.count
    }

    public init(file: String, line: Int, column: Int, reason: String) {
        self.init([Mistake(file: file, line: line, column: column, reason: reason)])
    }

    /// The first mistake, on one line.
    public var summary: String { "\(mistakes[0])" + (count > 1 ? " (and \(count - 1) more)" : "") }

    public var description: String { lines.joined(separator: "\n") }

    /// One line for each mistake.
    public var lines: [String] {
        let rest = count - mistakes.count
        let more = rest > 0 ? ["and \(rest) more mistake\(rest == 1 ? "" : "s")"] : []
        return mistakes.map(\.description) + more
    }
}
