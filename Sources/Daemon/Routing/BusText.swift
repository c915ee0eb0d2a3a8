import NotifyText

extension String {
    /// Whether a D-Bus message can carry the text: no NUL, and no Unicode noncharacter (U+FDD0 to U+FDEF and the last
    /// two code points of every plane), which libsystemd refuses.
    package var fitsIntoMessage: Bool {
        // The first bytes of these code points are rare.
        guard utf8.contains(where: { $0.mayNotFitIntoMessage }) else { return true }
        return unicodeScalars.allSatisfy { $0.value != 0 && !$0.isForInternalUse }
    }

    /// A text of a message: valid UTF-8 that fits into one; `nil` for other bytes.
    package init?(ofMessage bytes: UnsafeRawBufferPointer) {
        // The generic initializer of a text takes several times as long.
        guard let text = try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span) else { return nil }
        self = String(copying: text)
        guard !bytes.contains(where: { $0.mayNotFitIntoMessage }) || fitsIntoMessage else { return nil }
    }

    /// The text, shortened for an error message, with its active characters escaped. It is cut by scalars, because a
    /// character has no maximum length.
    package var quotable: String {
        let text = utf8.count <= 64 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(32))) + "…"
        return text.visible()
    }
}

extension UInt8 {
    /// Whether a code point begins with it that no message can carry.
    fileprivate var mayNotFitIntoMessage: Bool { self == 0 || self >= 0xEF }
}

extension UnsafeRawBufferPointer {
    /// Removes bytes from the front.
    ///
    /// - Returns: `nil` if there are not so many.
    package mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count >= 0, count <= self.count else { return nil }
        let front = UnsafeRawBufferPointer(rebasing: self[..<count])
        self = UnsafeRawBufferPointer(rebasing: self[count...])
        return front
    }
}
