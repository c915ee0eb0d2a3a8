import NotifyText
import UserFiles

/// A configuration text with its name and lines, which collects its mistakes.
package final class ConfigurationSource {
    /// The mistakes of all texts of a configuration.
    package final class Mistakes {
        /// Further ones are only counted.
        private static let kept = 200

        private var found: [(source: Int, mistake: ConfigurationError.Mistake)] = []
        private var count = 0
        fileprivate var sources = 0

        /// - Parameter source: its place among the texts.
        fileprivate func note(_ mistake: () -> ConfigurationError.Mistake, of source: Int) {
            count += 1
            if found.count < Self.kept { found.append((source, mistake())) }
        }

        /// Notes a mistake outside of a text, such as a file that cannot be read.
        package init() {}

        package func note(_ mistake: ConfigurationError.Mistake) {
            sources += 1
            note({ mistake }, of: sources)
        }

        /// All mistakes, in the order of texts and lines.
        package var error: ConfigurationError? {
            guard !found.isEmpty else { return nil }
            let sorted = found.sorted {
                ($0.source, $0.mistake.line, $0.mistake.column) < ($1.source, $1.mistake.line, $1.mistake.column)
            }
            return ConfigurationError(sorted.map(\.mistake), of: count)
        }
    }

    package let file: String
    /// Whether all of the text could be read. What seems to be missing may be what could not.
    package internal(set) var isWhole = true
    private let bytes: [UInt8]
    /// Where each line begins.
    private let lines: [Int]
    private let mistakes: Mistakes
    private let index: Int

    package init(file: String, text: String, _ mistakes: Mistakes) {
        self.file = file
        let bytes = Array(text.utf8)
        self.bytes = bytes
        lines = [0] + bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
        self.mistakes = mistakes
        mistakes.sources += 1
        index = mistakes.sources
    }

    /// - Parameter offset: an index into the bytes of the text; `nil` without a place.
    package func note(at offset: Int?, _ reason: @autoclosure () -> String) {
        mistakes.note(
            {
                let place = offset.map { self.place(of: $0) } ?? (0, 0)
                return ConfigurationError.Mistake(file: file, line: place.0, column: place.1, reason: reason())
            }, of: index)
    }

    package func line(of offset: Int) -> Int { place(of: offset).line }

    private func place(of offset: Int) -> (line: Int, column: Int) {
        var line = lines.count
        var first = 0
        while first < line {
            let middle = (first + line) / 2
            if lines[middle] <= offset { first = middle + 1 } else { line = middle }
        }
        // Continuation bytes of UTF-8 are not counted.
        let before = bytes[lines[line - 1]..<min(offset, bytes.count)].count { $0 & 0xC0 != 0x80 }
        return (line, before + 1)
    }
}

/// Reads the files of a configuration.
package enum ConfigurationText {
    private static let maximumBytes = 1 << 20

    /// The mistake that there is nothing at a path because of a symbolic link that leads nowhere.
    package static func brokenLink(above path: String) -> ConfigurationError? {
        FileKind.brokenLink(above: path).map { link in
            ConfigurationError(
                file: link.path, line: 0, column: 0,
                reason: "it cannot be read: it is \(link); make what it leads to, or remove the link")
        }
    }

    /// The text of a file, or `nil` if there is none.
    ///
    /// - Throws: if it cannot be read, is too large or is not UTF-8.
    package static func read(_ path: String) throws(ConfigurationError) -> String? {
        let bytes: [UInt8]
        do throws(FileKind.Failure) {
            guard let content = try FileKind.read(path, atMost: maximumBytes + 1) else { return nil }
            bytes = content
        } catch {
            throw ConfigurationError(file: path, line: 0, column: 0, reason: "it cannot be read: \(error)")
        }
        guard bytes.count <= maximumBytes else {
            throw ConfigurationError(
                file: path, line: 0, column: 0, reason: "the file is larger than \(maximumBytes) bytes")
        }
        if let fault = Encoding.firstFault(in: bytes) {
            let lines = bytes[..<fault].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            throw ConfigurationError(
                file: path, line: lines.count,
                column: String(decoding: lines.last!, as: UTF8.self).unicodeScalars.count + 1,
                reason: "this byte (0x\(String(bytes[fault], radix: 16))) is not UTF-8; a configuration is UTF-8 text")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

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
