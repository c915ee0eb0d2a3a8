extension String {
    /// Whether a message can carry the text as it is: no NUL, and no code point that Unicode keeps for programs to use inside
    /// (U+FDD0 to U+FDEF, and the last two of every plane), which libsystemd refuses.
    package var fitsIntoMessage: Bool {
        // The first byte of any of these code points: nearly all texts have neither.
        guard utf8.contains(where: { $0 == 0 || $0 >= 0xEF }) else { return true }
        return unicodeScalars.allSatisfy { $0.value != 0 && !$0.isForInternalUse }
    }

    /// A text of unknown length, cut to what fits into the sentence of an error. Scalars are counted, for a character can be
    /// as long as it likes.
    package var quotable: String {
        utf8.count <= 64 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(32))) + "…"
    }
}

extension Unicode.Scalar {
    /// Whether Unicode calls it a noncharacter; no message and no markup holds one.
    package var isForInternalUse: Bool {
        (0xFDD0...0xFDEF).contains(value) || value & 0xFFFE == 0xFFFE
    }
}
