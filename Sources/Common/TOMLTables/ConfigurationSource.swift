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
