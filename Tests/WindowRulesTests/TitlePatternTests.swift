import Testing

@testable import WindowRules

/// What `Regex` finds in titles, ``TitlePattern`` finds too; it only takes less time for it.
@Suite struct TitlePatternTests {
    private static let patterns = [
        "^Post (?<id>[0-9]+) ", "(?<room>[^ |]+) \\| Element", "a|ab|abc", "(?<x>a|ab)(?<y>c|bcd)(?<z>d*)", "a*?b",
        "(?<a>a*)(?<b>a*)", "(?<a>a*?)(?<b>a*)", "^$", "", "x{0}y", "(?:ab){2,3}", "(?:ab){2,3}?", "[a-c]{2,}",
        "\\bfoo\\b",
        "o\\B", "[^\\d\\s]+$", "(?<w>\\w+) — (?<v>.*)$", "\\(\\d+\\)", "[\\]\\-^]", "(?<a>a)|(?<b>b)", "(?:a*)*b",
        "(?<o>x(?<i>y)?)+", "\\u{20AC}", "a?b??c",
    ]

    private static let titles = [
        "", "a", "ab", "abc", "abcd", "aaab", "aaaa", "Post 27 – Example", "Post 27", "My Post 27 ", "Lounge | Element",
        "(3) Inbox", "foo bar", "food", "xyx", "xy", "ababab", "ab]-^", "word — rest of it", "€ 5", "cabbage", "b", "y",
        "bc", "ac",
    ]

    @Test(arguments: patterns) func itFindsWhatRegexFinds(_ text: String) throws {
        let pattern = try TitlePattern(text)
        let regex = try Regex(text)
        for title in Self.titles {
            let match = title.firstMatch(of: regex)
            let captures = pattern.captures(in: title)
            #expect((captures == nil) == (match == nil), "\(text) in \(title)")
            for name in pattern.captureNames {
                let expected = match?[name]?.substring.map(String.init)
                #expect(captures?[name] == expected, "\(name) of \(text) in \(title)")
            }
        }
    }

    @Test func capitalsAreIgnoredIfAskedFor() throws {
        let pattern = try TitlePattern("(?i)^ÄRGER (?<id>[a-c]+)")
        #expect(pattern.captures(in: "Ärger ABC")?["id"] == "ABC")
        #expect(try TitlePattern("^ärger").captures(in: "ÄRGER") == nil)
    }

    @Test func digitsAreThoseOfASCII() throws {
        #expect(try TitlePattern("\\d").captures(in: "٣") == nil)
        #expect(try TitlePattern("\\w").captures(in: "영")?.isEmpty == true)
    }

    @Test(
        arguments: [
            ("a(b", "this '(' is not closed", 2), ("a)b", "closes nothing", 2), ("[a", "is not closed", 1),
            ("[]", "is empty", 1), ("*a", "nothing here to repeat", 1), ("^*", "nothing here to repeat", 2),
            ("a**", "cannot be repeated", 3), ("a{b}", "{2}, {2,} or {2,5}", 2), ("a{3,2}", "less than the first", 2),
            ("a{999}", "at most 255", 2), ("(?=a)", "groups are", 1), ("(?<1>a)", "begins with no digit", 4),
            ("(?<a>a)(?<a>b)", "two captures 'a'", 11), ("\\q", "means nothing here", 1), ("a\\", "nothing after", 2),
            ("[z-a]", "ends before it begins", 5), ("\\u{D800}", "\\u{20AC}", 1), ("\\1", "means nothing here", 1),
        ]) func mistakesAreToldWithTheirPlace(_ text: String, _ reason: String, _ position: Int)
    {
        let error = #expect(throws: TitlePatternError.self) { _ = try TitlePattern(text) }
        #expect(error?.reason.contains(reason) == true, "\(String(describing: error))")
        #expect(error?.position == position, "\(String(describing: error))")
    }

    @Test(arguments: ["(?:(?:(?:a{255}){255}){255}){255}", "(?:(?:(?:(?:){255}){255}){255}){255}"])
    func aPatternThatBecomesTooLongIsRefused(_ text: String) {
        let error = #expect(throws: TitlePatternError.self) { _ = try TitlePattern(text) }
        #expect(error?.reason.contains("too long") == true)
    }

    @Test func aPatternWithThousandsOfPartsIsRefused() {
        let error = #expect(throws: TitlePatternError.self) { _ = try TitlePattern("(?:a?){255}(?:b?){255}") }
        #expect(error?.reason.contains("too long") == true)
    }

    @Test func whatStandsAtTheBeginningWeighsNothing() throws {
        #expect(try TitlePattern("^Post ").weight == 1)
        // A loop of three instructions, the end of the capture, a space, and the match.
        #expect(try TitlePattern("^Post (?<id>[0-9]+) ").weight == 6)
        #expect(try TitlePattern("Post ").weight == 6)
        #expect(try TitlePattern("^Post|x").weight == 9)
    }

    /// With these, a matcher that backtracks takes longer than the universe is old.
    @Test(arguments: ["(?:a+)+b", "(?:a|a)*b", "(?:a*)*(?:a*)*(?:a*)*b", "^(?:(?:\\w+\\s?)+)+:$", "(?:.*a){20}b"])
    func noTitleTakesLong(_ text: String) throws {
        let pattern = try TitlePattern(text)
        let title = String(repeating: "a", count: Window.longestTitle)
        let time = ContinuousClock().measure { #expect(pattern.captures(in: title) == nil) }
        #expect(time < .seconds(5))
    }
}
