extension Unicode.Scalar {
    /// Whether it changes how the text around it is drawn or read, and has no look of its own: a control character (C0, DEL,
    /// C1), a line or paragraph separator, a mark that turns the direction of writing or the shape of digits, or one that
    /// hides an annotation. A terminal or a notification server acts on them. What joins emoji and letters is not among them.
    package var isActive: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x206F, 0xFFF9...0xFFFB: true
        default: false
        }
    }
}

extension String {
    /// The text with every active character written out, such as `\u{1b}`, `\n` and `\t`, so that it can be printed between
    /// others.
    ///
    /// - Parameter keepsLines: line breaks and tabs stay what they are.
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
