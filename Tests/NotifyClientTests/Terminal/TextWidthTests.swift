import Testing

@testable import notifyctl

/// How many columns of a terminal text takes, and how lines are laid out by that.
struct TextWidthTests {
    @Test(arguments: [
        ("", 0), ("/post/27", 8), ("é", 1), ("e\u{301}", 1), ("ﬁ", 1), ("→ …", 3), ("[==]", 4),
        ("/run/r1/mate/영희/finished", 26), ("영희", 4), ("\u{1112}\u{1161}\u{11ab}", 2), ("日本語", 6), ("カナ", 4),
        ("ｶﾅ", 2), ("Ａ", 2), ("〈〉", 4), ("𠮷", 2), ("￦", 2), ("ㅎ", 2),
        ("👟", 2), ("👩‍👩‍👧", 2), ("👍🏽", 2), ("☝🏽", 2), ("🇰🇷", 2), ("❤", 1), ("❤️", 2), ("❤️‍🔥", 2),
        ("1️⃣", 2), ("™", 1), ("⌚", 2),
        ("a\u{fe0f}", 1), ("a\u{200b}b", 2), ("\u{ad}", 1), ("नि", 2), ("שָ", 1), ("ก็", 1), ("\u{7f}", 0),
    ])
    func textTakesTheRoomThatTerminalsGiveIt(_ text: String, _ columns: Int) {
        #expect(text.columns == columns)
    }

    @Test(arguments: [
        ("/post/27", 8, "/post/27"), ("/post/27", 7, "/post/…"), ("영희", 4, "영희"), ("영희", 3, "영…"), ("영희", 2, "…"),
        ("👩‍👩‍👧👩‍👩‍👧", 3, "👩‍👩‍👧…"), ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"), ("abc", 1, "…"), ("abc", 0, ""),
    ])
    func whatDoesNotFitIsCutBetweenCharacters(_ text: String, _ width: Int, _ result: String) {
        #expect(text.truncated(to: width) == result)
        #expect(result.columns <= width)
    }

    @Test func columnsAreAlignedByTheRoomTheyTake() {
        let rows = [
            [Cell("/run/r1/mate/영희"), .number("5"), Cell("뛰었다")], [Cell("/post/27"), .number("120"), Cell("👍🏽 Nice!")],
        ]
        #expect(
            Columns.lines(rows, indentation: "  ", within: nil) == [
                "  /run/r1/mate/영희    5  뛰었다", "  /post/27           120  👍🏽 Nice!",
            ])
    }

    @Test(arguments: 1...60)
    func noLineIsWiderThanTheTerminal(_ width: Int) {
        let rows = [
            [
                Cell("영희 3 s ago"), .number("1795231492321669"), Cell("/run/r1/mate/영희/finished"),
                Cell("뛰었다") + Cell("👟👟"),
            ],
            [Cell("now"), .number("7"), Cell("/post"), Cell("x")],
        ]
        for line in Columns.lines(rows, within: width) { #expect(line.columns <= width) }
    }

    @Test func theWidestColumnMakesRoom() {
        let rows = [[Cell("now"), Cell("/run/r1/mate/영희/finished"), Cell("5 km")]]
        #expect(Columns.lines(rows, within: 30) == ["now  /run/r1/mate/영희/…  5 km"])
        #expect(Columns.lines([[Cell("title") + Cell("  ") + Cell("field=1")]], within: 8) == ["title  …"])
    }

    @Test func linesThatComeOneByOneAreAligned() {
        var columns = Columns()
        #expect(columns.line([Cell("/run/r1"), Cell("a")], within: 80) == "/run/r1  a")
        #expect(columns.line([Cell("/a"), Cell("b")], within: 80) == "/a       b")
    }

    @Test func whatComesFromTheBusIsHarmlessInEveryCell() {
        #expect(Cell("\u{1b}[2J\n").written().text == #"\u{1b}[2J\n"#)
    }

    // MARK: Narrow terminals

    private static let id = "1795231492321669"

    @Test(arguments: [24, 32, 40, 60, 80])
    func anIdIsNeverCut(_ width: Int) {
        let rows = [
            [
                Cell("5 min ago", .dim), .id(Self.id), Cell("claimed"), Cell("/post/27"),
                Cell("Mina has answered – Nice!"),
            ]
        ]
        let lines = Columns.stackedLines(rows, within: width)
        #expect(lines.contains { $0.contains(Self.id) }, "\(lines)")
        for line in lines { #expect(line.columns <= width) }
        var columns = Columns()
        #expect(columns.line(rows[0], within: width).contains(Self.id))
        if width == 40 {
            #expect(lines == ["5 min ago  \(Self.id)  claimed", "    /post/27  Mina has answered – Nice!"])
        }
    }

    @Test func sentencesAreBrokenBetweenWords() {
        let rows = [[Cell("Banners"), Cell("paused: “notifyctl resume” lets them appear again")]]
        #expect(
            Columns.wrapped(rows, indentation: "  ", within: 40) == [
                "  Banners  paused: “notifyctl resume”", "           lets them appear again",
            ])
        #expect(
            Columns.wrapped(rows, indentation: "  ", within: 28) == [
                "  Banners", "    paused: “notifyctl", "    resume” lets them appear", "    again",
            ])
        #expect(Columns.wrapped(rows, within: nil) == ["Banners  paused: “notifyctl resume” lets them appear again"])
    }
}
