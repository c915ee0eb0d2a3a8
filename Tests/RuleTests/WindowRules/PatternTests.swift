import Testing
import Watching

/// What `Regex` finds in titles, ``Pattern`` finds too, and it gives up where `Regex` would take for ever.
@Suite struct PatternTests {
    private static let patterns = [
        "^Post (?<id>[0-9]+) ", "(?<room>[^ |]+) \\| Element", "a|ab|abc", "(?<x>a|ab)(?<y>c|bcd)(?<z>d*)", "a*?b",
        "(?<a>a*)(?<b>a*)", "(?<a>a*?)(?<b>a*)", "^$", "", "x{0}y", "(?:ab){2,3}", "(?:ab){2,3}?", "[a-c]{2,}",
        "\\bfoo\\b",
        "o\\B", "[^\\d\\s]+$", "(?<w>\\w+) — (?<v>.*)$", "\\(\\d+\\)", "[\\]\\-^]", "(?<a>a)|(?<b>b)", "(?:a*)*b",
        "(?<o>x(?<i>y)?)+", "\\x{20AC}", "a?b??c",
    ]

    private static let titles = [
        "", "a", "ab", "abc", "abcd", "aaab", "aaaa", "Post 27 – Example", "Post 27", "My Post 27 ", "Lounge | Element",
        "(3) Inbox", "foo bar", "food", "xyx", "xy", "ababab", "ab]-^", "word — rest of it", "€ 5", "cabbage", "b", "y",
        "bc", "ac",
    ]

    private static func captures(_ pattern: String, in text: String) throws -> [String: String]? {
        guard case .match(let captures) = try Pattern(pattern).match(text) else { return nil }
        return captures
    }

    @Test(arguments: patterns) func itFindsWhatRegexFinds(_ text: String) throws {
        let pattern = try Pattern(text)
        let regex = try Regex(text)
        for title in Self.titles {
            let match = title.firstMatch(of: regex)
            let captures = try Self.captures(text, in: title)
            #expect((captures == nil) == (match == nil), "\(text) in \(title)")
            for name in pattern.captureNames {
                let expected = match?[name]?.substring.map(String.init)
                #expect(captures?[name] == expected, "\(name) of \(text) in \(title)")
            }
        }
    }

    @Test func capitalsAreIgnoredIfAskedFor() throws {
        #expect(try Self.captures("(?i)^ÄRGER (?<id>[a-c]+)", in: "Ärger ABC")?["id"] == "ABC")
        #expect(try Self.captures("^ärger", in: "ÄRGER") == nil)
    }

    @Test func classesAreThoseOfUnicode() throws {
        #expect(try Self.captures("^(?<w>\\w+)\\s(?<d>\\d)$", in: "영é\u{A0}٣") == ["w": "영é", "d": "٣"])
        #expect(try Self.captures("[0-9]", in: "٣") == nil)
    }

    @Test func aLineFeedIsACharacterAsAnyOther() throws {
        #expect(try Self.captures("^(?<all>.*)$", in: "a\nb\n") == ["all": "a\nb\n"])
        #expect(try Self.captures("a$", in: "a\n") == nil)
    }

    @Test func whatSwayAndI3KnowIsKnown() throws {
        #expect(try Self.captures("(?<![a-z])(?<id>\\d++)(?=\\))", in: "a1) (27)") == ["id": "27"])
        #expect(try Self.captures("(?P<word>\\w+) \\k<word>", in: "one two two")?["word"] == "two")
        #expect(try Self.captures("(?J)#(?<id>a)|!(?<id>b)", in: "!b") == ["id": "b"])
    }

    @Test func capturesAreNamedFromTheLeft() throws {
        #expect(try Pattern("(?<z>a)(b)(?<a>c)|(?<m>d)").captureNames == ["z", "a", "m"])
    }

    @Test func ofALongTextTheBeginningIsLookedAt() throws {
        let text = String(repeating: "é", count: Pattern.longestSubject)
        #expect(try Self.captures("x", in: text + "x") == nil)
        #expect(try Self.captures("^(?<all>é+)$", in: text + "x") == ["all": text])
    }

    @Test func aZeroIsACharacterAsAnyOther() throws {
        #expect(try Self.captures("^a\0(?<b>.)$", in: "a\0b") == ["b": "b"])
    }

    @Test(
        arguments: [
            ("a(b", "missing closing parenthesis", 3), ("a)b", "unmatched closing parenthesis", 1),
            ("é[a", "missing terminating ]", 3), ("*a", "does not follow a repeatable item", 0),
            ("a{3,2}", "numbers out of order", 5), ("(?<1>a)", "must start with a non-digit", 3),
            ("(?<a>a)(?<a>b)", "have the same name", 12), ("\\q", "unrecognized character follows \\", 1),
            ("a\\", "\\ at end of pattern", 2), ("[z-a]", "range out of order", 3),
            ("\\u{20AC}", "a character by its number is written \\x{20AC}", 2), ("\\1", "non-existent subpattern", 1),
            ("(?<=a*)b", "lookbehind assertion is not fixed length", 0), ("\\C", "disabled", 2),
            ("(?:(?:(?:a{255}){255}){255}){255}", "too large", 33),
            (String(repeating: "a", count: 4097), "at most 4096 bytes", 0),
        ]) func mistakesAreToldWithTheirPlace(_ text: String, _ reason: String, _ position: Int)
    {
        let error = #expect(throws: PatternError.self) { _ = try Pattern(text) }
        #expect(error?.reason.contains(reason) == true, "\(String(describing: error))")
        #expect(error?.position == position, "\(String(describing: error))")
    }

    /// With these, a matcher that backtracks without limits takes longer than the universe is old.
    @Test(
        arguments: [
            ("(?:a+)+b", "aaab"), ("(?:a|a)*b", "ab"), ("(?:a*)*(?:a*)*(?:a*)*b", "b"),
            ("^(?:(?:\\w+\\s?)+)+:$", "a:"), ("(?:a|ab|b)*+c|(?:a+)+b", "ab"),
        ]) func aTextThatTakesTooManyStepsIsGivenUp(_ text: String, _ cheap: String) throws
    {
        let pattern = try Pattern(text)
        // Without what the pattern needs at its end, PCRE2 would see at once that there is no match.
        let expensive = String(repeating: "a", count: 100) + "-b:"
        #expect(pattern.match(expensive) == .gaveUp)
        #expect(pattern.match(cheap) == .match([:]), "the pattern is not given up for good")
    }

    @Test func usualPatternsOfTheLongestTextAreNotGivenUp() throws {
        let words = String(repeating: "word ", count: 102) + "#7"
        #expect(try Self.captures("^(?:\\(\\d+\\) )?(?<a>.+?) (?<b>\\w+) #(?<n>[0-9]+)$", in: words)?["n"] == "7")
        #expect(try Pattern("(?<w>\\w+) — (?<v>.*)$").match(words) == .noMatch)
    }
}
