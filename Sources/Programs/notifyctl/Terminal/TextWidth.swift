/// How many columns of a terminal text takes.
///
/// `wcwidth` of the C library needs an installed UTF-8 locale and knows only single characters. Here the unit is the
/// grapheme cluster, as in terminals; the standard library knows emoji; other wide characters, by Unicode's
/// [East Asian Width](https://www.unicode.org/reports/tr11/), are a short list. Ambiguous characters count as narrow, as in
/// terminals by default.
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
    var columns: Int {
        isDrawnAsEmoji ? 2 : unicodeScalars.reduce(0) { $0 + $1.columns }
    }

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
