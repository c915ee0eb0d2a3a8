import Testing

@testable import Routing

struct BusTextTests {
    @Test(arguments: [
        ("colour", "colour"), ("a\u{1B}[2J\nb", #"a\u{1b}[2J\nb"#),
        (String(repeating: "ä", count: 33), String(repeating: "ä", count: 32) + "…"),
    ])
    func whatIsQuotedInAnErrorIsShortAndHasNoControlCharacters(_ text: String, _ quoted: String) {
        #expect(text.quotable == quoted)
    }
}
