import Testing

@testable import NotifyDaemon

/// What a unit for the command of a button is made of.
struct CommandUnitsTests {
    @Test func controlCharactersDoNotKeepACommandFromStarting() {
        #expect(TransientUnits.permitted("line\nand\ttab, 영희") == "line\nand\ttab, 영희")
        #expect(TransientUnits.permitted("a\r\nb\u{1}c\u{7f}") == "a\u{fffd}\nb\u{fffd}c\u{fffd}")
    }
}

/// Where the programs of buttons are looked for.
struct ProgramPathTests {
    @Test func theFolderOfNotifydComesLast() {
        #expect(ProgramPath.folders(of: "/a:/b", beside: "/own") == ["/a", "/b", "/own"])
        #expect(ProgramPath.folders(of: "/own:/b", beside: "/own") == ["/own", "/b"])
        #expect(ProgramPath.folders(of: nil, beside: "/own") == ["/usr/local/bin", "/usr/bin", "/bin", "/own"])
        #expect(ProgramPath.folders(of: "/a", beside: nil) == ["/a"])
        #expect(ProgramPath.folder?.hasPrefix("/") == true)
    }

    @Test func onlyFoldersThatAUnitTakesAreInIt() {
        #expect(ProgramPath.folders(of: "/a//b/:rel:.::/a/../b:/c/./d", beside: nil) == ["/a/b", "/c/d"])
    }
}
