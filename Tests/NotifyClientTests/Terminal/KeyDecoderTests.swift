import Testing

@testable import notifyctl

/// Keys from the bytes of a terminal.
struct KeyDecoderTests {
    private func keys(_ inputs: String...) -> [Key] {
        keys(of: inputs.map { Array($0.utf8) })
    }

    private func keys(of inputs: [UInt8]...) -> [Key] { keys(of: inputs) }

    private func keys(of inputs: [[UInt8]]) -> [Key] {
        var decoder = KeyDecoder()
        return inputs.flatMap { decoder.keys($0) }
    }

    @Test func lettersArrowsAndPagesAreKeys() {
        #expect(keys("q é") == [.character("q"), .character(" "), .character("é")])
        #expect(keys("\u{1b}[A\u{1b}OB\u{1b}[5~\u{1b}[6~") == [.up, .down, .pageUp, .pageDown])
        #expect(keys("\u{1b}[H\u{1b}[4~\u{1b}[1;5A") == [.home, .end, .up])
        #expect(keys("\r\n\u{7f}") == [.enter, .enter, .backspace])
    }

    @Test func whatArrivesInPartsIsWaitedFor() {
        #expect(keys("\u{1b}[", "A") == [.up])
        let bytes = Array("영".utf8)
        #expect(keys(of: Array(bytes[..<2]), Array(bytes[2...])) == [.character("영")])
    }

    @Test func escapeAloneIsAKey() {
        #expect(keys("\u{1b}") == [.escape])
        #expect(keys("\u{1b}q") == [.escape, .character("q")])
    }

    @Test func whatMeansNothingIsSkipped() {
        #expect(keys("\u{1b}[15~\u{1}\u{85}j") == [.character("j")])
        #expect(keys(of: [0xff, 0xc3, 0x28, UInt8(ascii: "j")]) == [.character("("), .character("j")])
        // A sequence without an end does not swallow everything.
        let endless = Array("\u{1b}[".utf8) + Array(repeating: UInt8(ascii: "1"), count: 40)
        #expect(keys(of: endless, [UInt8(ascii: "j")]) == [.character("j")])
    }
}
