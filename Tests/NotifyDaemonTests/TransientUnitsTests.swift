import Testing

@testable import NotifyDaemon

/// What a unit for the command of a button is made of.
struct CommandUnitsTests {
    @Test func controlCharactersDoNotKeepACommandFromStarting() {
        #expect(TransientUnits.permitted("line\nand\ttab, 영희") == "line\nand\ttab, 영희")
        #expect(TransientUnits.permitted("a\r\nb\u{1}c\u{7f}") == "a\u{fffd}\nb\u{fffd}c\u{fffd}")
    }
}
