extension Unicode.Scalar {
    /// Whether a terminal or a notification server interprets it instead of drawing it: a control character (C0, DEL,
    /// C1), a line or paragraph separator, a bidirectional or digit-shape control, or an interlinear annotation
    /// character. Joiners of emoji and letters are not included.
    @inlinable
    package var isActive: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x206F, 0xFFF9...0xFFFB: true
        default: false
        }
    }

    /// Whether Unicode calls it a noncharacter; no message and no markup holds one.
    package var isForInternalUse: Bool {
        (0xFDD0...0xFDEF).contains(value) || value & 0xFFFE == 0xFFFE
    }
}

extension String {
    /// The text with every active character escaped, such as `\u{1b}`, `\n` and `\t`, so that it is safe to print.
    ///
    /// - Parameter keepsLines: line breaks and tabs are not escaped.
    package func visible(keepsLines: Bool = false) -> String {
        guard unicodeScalars.contains(where: \.isActive) else { return self }
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar {
            case "\n" where keepsLines, "\t" where keepsLines: result.append(scalar)
            case "\n": result.append(contentsOf: "\\n".unicodeScalars)
            case "\t": result.append(contentsOf: "\\t".unicodeScalars)
            case _ where scalar.isActive:
                result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
