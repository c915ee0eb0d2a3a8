import NotifyClient

/// The contents of one column of a line: text without control characters, with styles.
struct Cell: Hashable, Sendable {
    private struct Run: Hashable, Sendable {
        var text: String
        var style: Terminal.Style
    }

    private var runs: [Run]
    /// Numbers are aligned to the right.
    let isNumber: Bool
    /// Text that is useless in part, such as an id, is not cut.
    let isWhole: Bool
    /// Other columns are cut first, or left out.
    let isImportant: Bool

    /// - Parameter text: any text; control characters are replaced.
    init(
        _ text: String, _ style: Terminal.Style = .plain, isNumber: Bool = false, isWhole: Bool = false,
        isImportant: Bool = false
    ) {
        runs = [Run(text: Terminal.plain(text), style: style)]
        (self.isNumber, self.isWhole, self.isImportant) = (isNumber, isWhole, isImportant)
    }

    static func number(_ text: String, _ style: Terminal.Style = .plain) -> Cell { Cell(text, style, isNumber: true) }

    static func id(_ text: String) -> Cell { Cell(text, .dim, isWhole: true) }

    static func topic(_ text: String) -> Cell { Cell(text, .bold, isImportant: true) }

    var words: [Cell] { runs.flatMap { run in run.text.split(separator: " ").map { Cell(String($0), run.style) } } }

    /// Lines that are full, and the rest. A character that is wider than a line has a line of its own.
    func broken(at width: Int) -> [Cell] {
        var lines = [Cell("")]
        var room = width
        for run in runs {
            var piece = ""
            for character in run.text {
                if character.columns > room, room < width || !piece.isEmpty {
                    lines[lines.count - 1] = lines[lines.count - 1] + Cell(piece, run.style)
                    lines.append(Cell(""))
                    (piece, room) = ("", width)
                }
                piece.append(character)
                room -= character.columns
            }
            lines[lines.count - 1] = lines[lines.count - 1] + Cell(piece, run.style)
        }
        return lines
    }

    static func + (left: Cell, right: Cell) -> Cell {
        var sum = left
        sum.runs += right.runs
        return sum
    }

    var columns: Int { runs.reduce(0) { $0 + $1.text.columns } }

    /// The text with its styles, and its width in columns.
    ///
    /// - Parameter width: longer text is cut; `nil`: no limit.
    func written(within width: Int? = nil) -> (text: String, columns: Int) {
        guard let width, columns > width else {
            return (runs.map { Terminal.styled($0.text, $0.style) }.joined(), columns)
        }
        var result = ""
        var room = width
        for run in runs {
            let isCut = run.text.columns >= room
            // Something is missing, even if it is the next part alone.
            let text = isCut ? (run.text + "……").truncated(to: room) : run.text
            result += Terminal.styled(text, run.style)
            room -= text.columns
            if isCut { break }
        }
        return (result, width - room)
    }
}

extension [Cell] {
    /// The cells with two spaces between them.
    func joined() -> Cell { dropFirst().reduce(first ?? Cell("")) { $0 + Cell("  ") + $1 } }
}

/// Aligns lines in columns by their width on a terminal. A column is as wide as its widest cell so far, so that lines
/// are aligned even if they arrive one by one.
struct Columns: Sendable {
    private static let gap = "  "
    /// The smallest width of a column that is cut.
    private static let least = 8

    private let indentation: String
    private var widths: [Int] = []
    /// The columns with cells that are whole, and with important ones.
    private var whole: Set<Int> = []
    private var important: Set<Int> = []

    init(_ rows: [[Cell]] = [], indentation: String = "") {
        self.indentation = indentation
        for row in rows { widen(for: row) }
    }

    static func lines(_ rows: [[Cell]], indentation: String = "", within limit: Int?) -> [String] {
        var rows = rows
        var columns = Columns(rows, indentation: indentation)
        while let limit, let index = columns.expendable(within: limit) {
            for row in rows.indices where index < rows[row].count { rows[row].remove(at: index) }
            columns = Columns(rows, indentation: indentation)
        }
        let widths = columns.fitted(to: limit)
        return rows.map { columns.line($0, widths, within: limit) }
    }

    /// The next line, aligned with those before it.
    ///
    /// - Parameter limit: the width of a line; `nil`: no limit.
    mutating func line(_ row: [Cell], within limit: Int?) -> String {
        widen(for: row)
        if let limit, isTooNarrow(limit) { return stacked(row, within: limit).joined(separator: "\n") }
        return line(row, fitted(to: limit), within: limit)
    }

    /// Aligned lines; or several lines for each row if its columns do not fit.
    static func stackedLines(_ rows: [[Cell]], indentation: String = "", within limit: Int?) -> [String] {
        let columns = Columns(rows, indentation: indentation)
        guard let limit, columns.isTooNarrow(limit) else { return lines(rows, indentation: indentation, within: limit) }
        return rows.flatMap { columns.stacked($0, within: limit) }
    }

    private mutating func widen(for row: [Cell]) {
        for (index, cell) in row.enumerated() {
            if index == widths.count { widths.append(0) }
            if cell.isWhole { whole.insert(index) }
            if cell.isImportant { important.insert(index) }
            widths[index] = max(widths[index], cell.columns)
        }
    }

    /// The widest columns are cut first.
    private func fitted(to limit: Int?) -> [Int] {
        guard let limit else { return widths }
        var fitted = widths.map { min($0, limit) }
        var excess = total(fitted) - limit
        for isImportant in [false, true] {
            let shrinking = fitted.indices.filter { !whole.contains($0) && important.contains($0) == isImportant }
            while excess > 0, let widest = shrinking.max(by: { fitted[$0] < fitted[$1] }), fitted[widest] > Self.least {
                fitted[widest] -= 1
                excess -= 1
            }
        }
        return fitted
    }

    /// A column to leave out, because an important one would be too narrow: the ids, else the last column.
    private func expendable(within limit: Int) -> Int? {
        guard let topic = important.min() else { return nil }
        let fitted = fitted(to: limit)
        let isTooNarrow = total(fitted) > limit || fitted[topic] < min(widths[topic], 2 * Self.least)
        guard isTooNarrow else { return nil }
        return whole.min() ?? widths.indices.last { !important.contains($0) }
    }

    private func isTooNarrow(_ limit: Int) -> Bool { total(fitted(to: limit)) > limit }

    private func total(_ widths: [Int]) -> Int {
        indentation.columns + widths.reduce(0, +) + Self.gap.columns * max(0, widths.count - 1)
    }

    /// A row that does not fit in columns: each line has as many cells as fit.
    private func stacked(_ row: [Cell], within limit: Int) -> [String] {
        var lines: [Cell] = []
        for cell in row where cell.columns > 0 {
            let margin = lines.count < 2 ? "" : Self.margin
            if let last = lines.last,
                margin.columns + last.columns + Self.gap.columns + min(cell.columns, 2 * Self.least) <= limit
            {
                lines[lines.count - 1] = last + Cell(Self.gap) + cell
            } else {
                lines.append(cell)
            }
        }
        return lines.enumerated().map { index, line in
            let margin = index == 0 ? indentation : indentation + Self.margin
            return margin + line.written(within: max(Self.least, limit - margin.columns)).text
        }
    }

    private static let margin = "    "

    private func line(_ row: [Cell], _ widths: [Int], within limit: Int?) -> String {
        var result = limit.map { String(indentation.prefix($0)) } ?? indentation
        var room = limit.map { $0 - indentation.columns }
        for (index, cell) in row.enumerated() {
            let width = room.map { max(0, min(widths[index], $0)) } ?? widths[index]
            let (text, columns) = cell.written(within: limit == nil ? nil : width)
            let padding = String(repeating: " ", count: max(0, width - columns))
            let isLast = index == row.count - 1
            result += cell.isNumber ? padding + text : isLast ? text : text + padding
            room = room.map { $0 - width - Self.gap.columns }
            if isLast || (room ?? 1) <= 0 { break }
            result += Self.gap
        }
        return result
    }
}

/// Lines that are printed one by one: aligned on a terminal, unaligned elsewhere.
final class Listing: Sendable {
    private let columns = Locked(Columns())

    func line(_ cells: @autoclosure () -> [Cell], elsewhere line: @autoclosure () -> String) -> String {
        guard Terminal.isInteractive else { return line() }
        return columns.withLock { $0.line(cells(), within: Terminal.size?.columns) }
    }
}

extension Cell {
    /// Lines, wrapped between words. A word longer than a line is not broken.
    func wrapped(to width: Int) -> [Cell] {
        if columns <= width { return [self] }
        var lines: [Cell] = []
        for word in words {
            if let last = lines.last, last.columns + 1 + word.columns <= width {
                lines[lines.count - 1] = last + Cell(" ") + word
            } else {
                lines.append(word)
            }
        }
        return lines.isEmpty ? [self] : lines
    }

    /// Lines, wrapped between words; a word longer than a line is broken.
    func folded(to width: Int) -> [Cell] {
        wrapped(to: width).flatMap { $0.columns <= width ? [$0] : $0.broken(at: width) }
    }
}

extension Columns {
    /// Lines in two columns without cutting: the second column wraps, below the first one if there is little room
    /// beside it.
    ///
    /// - Parameter limit: the width of a line; `nil`: each row is one line.
    static func wrapped(_ rows: [[Cell]], indentation: String = "", within limit: Int?) -> [String] {
        guard let limit else { return lines(rows, indentation: indentation, within: nil) }
        let first = rows.map { $0[0].columns }.max() ?? 0
        let beside = limit - indentation.columns - first - 2
        let isBeside = beside >= 20 || rows.allSatisfy { $0[1].columns <= beside }
        return rows.flatMap { row in
            guard isBeside || row[1].columns <= beside else {
                return lines([[row[0]]], indentation: indentation, within: nil)
                    + row[1].wrapped(to: limit - indentation.columns - 2).flatMap {
                        lines([[$0]], indentation: indentation + "  ", within: nil)
                    }
            }
            let texts = row[1].wrapped(to: beside)
            let labels = [row[0]] + Array(repeating: Cell(""), count: texts.count - 1)
            let filler = String(repeating: " ", count: first)
            return zip(labels, texts).map { label, text in
                indentation + label.written().text + String(filler.dropFirst(label.columns)) + "  "
                    + text.written().text
            }
        }
    }
}

/// How many columns of a terminal text takes.
///
/// `wcwidth` of the C library needs an installed UTF-8 locale and knows only single characters. Here the unit is the
/// grapheme cluster, as in terminals; the standard library knows emoji; other wide characters, by Unicode's
/// [East Asian Width](https://www.unicode.org/reports/tr11/), are a short list. Ambiguous characters count as narrow,
/// as in terminals by default.
extension StringProtocol {
    var columns: Int {
        if utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) { return utf8.count }
        return reduce(0) { $0 + $1.columns }
    }

    /// The text if it fits, otherwise its beginning with “…”.
    func truncated(to width: Int) -> String {
        if columns <= width { return String(self) }
        guard width > 0 else { return "" }
        var result = ""
        var room = width - 1
        for character in self {
            room -= character.columns
            if room < 0 { break }
            result.append(character)
        }
        return result + "…"
    }
}

extension Character {
    /// How many columns it takes on a terminal, with all the marks, joiners and selectors that belong to it.
    var columns: Int { isDrawnAsEmoji ? 2 : unicodeScalars.reduce(0) { $0 + $1.columns } }

    /// Whether it is an emoji by itself, such as a face or a flag, or one of several that are joined, or made one by
    /// the variation selector 16, as in ❤️.
    private var isDrawnAsEmoji: Bool {
        unicodeScalars.contains { $0.properties.isEmojiPresentation }
            || (unicodeScalars.contains("\u{fe0f}") && unicodeScalars.first?.properties.isEmoji == true)
    }
}

extension Unicode.Scalar {
    fileprivate var columns: Int {
        if (0x20..<0x7f).contains(value) { return 1 }
        return takesNoRoom ? 0 : isWide ? 2 : 1
    }

    private var takesNoRoom: Bool {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .control, .lineSeparator, .paragraphSeparator: true
        // A soft hyphen is drawn.
        case .format: value != 0xad
        // The vowels and finals of Korean syllables that are written in parts are drawn into their first consonant.
        default: (0x1160...0x11ff).contains(value) || (0xd7b0...0xd7ff).contains(value)
        }
    }

    private var isWide: Bool {
        guard value >= Self.wide[0].lowerBound else { return false }
        return Self.wide.contains { $0.contains(value) }
    }

    /// `W` and `F` of EastAsianWidth.txt (Unicode 16) without emoji and marks, and with what is not assigned in
    /// between.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115f, 0x2329...0x232a, 0x2630...0x2637, 0x268a...0x268f, 0x2e80...0x303e, 0x3041...0xa4c6,
        0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6b, 0xff01...0xff60,
        0xffe0...0xffe6, 0x16fe0...0x1b2fb, 0x1d300...0x1d376, 0x1f200...0x1f265, 0x20000...0x3fffd,
    ]
}
