/// A text that is told apart from others by its bytes, as the bus does: two spellings of the same character are different.
struct Spelling: Hashable, Sendable {
    private let text: Substring

    init(_ text: Substring) {
        self.text = text
    }

    static func == (left: Spelling, right: Spelling) -> Bool {
        areEqual(left.text.utf8, right.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Compares bytes where they lie: this is asked for every topic that is looked up.
    static func areEqual<Text: Collection<UInt8>>(_ left: Text, _ right: Text) -> Bool {
        let areEqual = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in
                left.count == right.count && left.elementsEqual(right)
            }
        }
        return (areEqual ?? nil) ?? left.elementsEqual(right)
    }
}
