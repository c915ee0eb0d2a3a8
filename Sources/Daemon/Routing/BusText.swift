import NotifyText

extension String {
    /// Whether a D-Bus message can carry the text: no NUL, and no Unicode noncharacter (U+FDD0 to U+FDEF and the last two code
    /// points of every plane), which libsystemd refuses.
    package var fitsIntoMessage: Bool {
        // The first bytes of these code points are rare.
        guard utf8.contains(where: { $0 == 0 || $0 >= 0xEF }) else { return true }
        return unicodeScalars.allSatisfy { $0.value != 0 && !$0.isForInternalUse }
    }

    /// The text, shortened for an error message, with its active characters escaped. It is cut by scalars, because a character
    /// has no maximum length.
    package var quotable: String {
        let text = utf8.count <= 64 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(32))) + "…"
        return text.visible()
    }
}
