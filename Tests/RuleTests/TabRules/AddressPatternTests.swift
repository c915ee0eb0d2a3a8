import Testing
import Watching

struct AddressPatternTests {
    private func captures(_ pattern: String, _ address: String) throws -> [String: String]? {
        try PageAddress(address).flatMap { try AddressPattern(pattern).captures(of: $0) }
    }

    @Test func aCaptureIsOneSegment() throws {
        #expect(try captures("https://example.org/posts/{id}", "https://example.org/posts/27") == ["id": "27"])
        for other in ["posts", "posts/27/edit", "posts/27/", "post/27", "Posts/27"] {
            #expect(try captures("https://example.org/posts/{id}", "https://example.org/\(other)") == nil)
        }
    }

    @Test func queryAndFragmentAreLookedAtOnlyIfThePatternHasThem() throws {
        #expect(try captures("https://e.org/{id}", "https://e.org/27?a=b#c") == ["id": "27"])
        #expect(try captures("https://e.org/?id={id}", "https://e.org/?page=2&id=27") == ["id": "27"])
        #expect(try captures("https://e.org/?id={id}", "https://e.org/?page=2") == nil)
        // Which of the two would the page show?
        #expect(try captures("https://e.org/?id={id}", "https://e.org/?id=1&id=2") == nil)
        #expect(try captures("https://e.org/#/room/{room}", "https://e.org/#/room/42") == ["room": "42"])
        #expect(try captures("https://e.org/#/room/{room}", "https://e.org/#/room") == nil)
        #expect(try captures("https://e.org/?tab=a+b", "https://e.org/?tab=a%20b") == [:])
    }

    @Test func twoStarsTakeAllBelow() throws {
        for address in ["chat", "chat/", "chat/a/b"] {
            #expect(try captures("https://e.org/chat/**", "https://e.org/\(address)") == [:])
        }
        #expect(try captures("https://e.org/chat/**", "https://e.org/chats") == nil)
        #expect(try captures("https://e.org/{team}/**", "https://e.org/red/plan") == ["team": "red"])
        #expect(try captures("https://e.org/**", "https://e.org/") == [:])
    }

    @Test(
        "the host of another is not a host of ours",
        arguments: [
            "https://example.org.evil.net/27", "https://evil.net/https://example.org/27",
            "https://example.org@evil.net/27",
            "https://evil.net#@example.org/27", "https://evil.net?https://example.org/27", "https://example.orgs/27",
            "https://example.org./27", "https://www.example.org/27", "http://example.org/27",
            "https://example.org:8443/27",
            "https://example.org%2eevil.net/27", "https://xn--exmple-4nf.org/27", "https://ex\u{430}mple.org/27",
            "https://user@example.org/27", "https://user:secret@example.org/27", "javascript:https://example.org/27",
            "view-source:https://example.org/27", "https:example.org/27", "https:///example.org/27",
            " https://example.org/27",
            "https://example.org\\@evil.net/27", "https://evil.net\\example.org/27", "file:///example.org/27",
            "about:reader?url=https://example.org/27", "https://example.org:0/27", "https://example.org:99999/27",
            "https://example.org:443:443/27", "https://[::1]example.org/27", "",
        ])
    func anotherHostDoesNotFit(_ address: String) throws {
        #expect(try captures("https://example.org/{id}", address) == nil)
    }

    @Test func theSameHostIsOneHoweverItIsWritten() throws {
        #expect(try captures("https://example.org/{id}", "https://example.org:443/27") == ["id": "27"])
        #expect(try captures("https://Example.org:443/{id}", "https://EXAMPLE.org/27") == ["id": "27"])
        #expect(try captures("http://localhost:8080/{id}", "http://localhost:8080/27") == ["id": "27"])
        #expect(try captures("http://[::1]:8080/{id}", "http://[::1]:8080/27") == ["id": "27"])
        #expect(try captures("https://xn--bcher-kva.example/{id}", "https://xn--bcher-kva.example/27") == ["id": "27"])
    }

    @Test func aSegmentIsDecodedOnce() throws {
        #expect(try captures("https://e.org/{name}", "https://e.org/%EC%98%81%ED%9D%AC") == ["name": "영희"])
        #expect(try captures("https://e.org/영희/{id}", "https://e.org/%ec%98%81%ed%9d%ac/1") == ["id": "1"])
        #expect(try captures("https://e.org/{id}", "https://e.org/%2541") == ["id": "%41"])
        // An encoded slash is not a slash.
        #expect(try captures("https://e.org/{id}", "https://e.org/a%2Fb") == ["id": "a/b"])
        #expect(try captures("https://e.org/{a}/{b}", "https://e.org/a%2Fb") == nil)
    }

    @Test(
        "no browser shows such an address",
        arguments: [
            "https://e.org/a/../27", "https://e.org/./27", "https://e.org/%2e%2e/27", "https://e.org/a/%2E",
            "https://e.org/%",
            "https://e.org/%4", "https://e.org/%zz", "https://e.org/%ff", "https://e.org/%c0%af", "https://e.org/a b",
            "https://e.org/a\nb", "https://e.org/\u{202e}a",
        ])
    func whatCannotBeReadIsNoAddress(_ address: String) {
        #expect(PageAddress(address) == nil)
    }

    @Test func anAddressOfAMegabyteIsNotLookedAt() {
        #expect(PageAddress("https://e.org/" + String(repeating: "a", count: 1 << 20)) == nil)
    }

    @Test func lettersAreComparedByTheirBytes() throws {
        #expect(try captures("https://e.org/\u{E9}", "https://e.org/e%CC%81") == nil)
        #expect(try captures("https://e.org/K", "https://e.org/\u{212A}") == nil)
    }

    @Test(
        arguments: [
            ("example.org/{id}", "an address begins with https:// or http://"),
            ("https://bücher.example/{id}", "xn--"),
            ("https://e.org/post-{id}", "'post-{id}' is not a segment"),
            ("https://e.org/{id}/{id}", "a capture is there twice"),
            ("https://e.org/{1}", "'{1}' is not a segment"),
            ("https://e.org/**/a", "'**' is not a segment"),
            ("https://e.org/../a", "without them"),
            ("https://e.org/%a", "%25"),
            ("https://e.org/?id", "'id' is not a parameter"),
            ("https://me@e.org/", "write the host alone"),
            ("https://e.org:http/", "a number from 1 to 65535"),
            ("https:///a", "a host such as example.org"),
        ])
    func aWrongPatternSaysWhatWouldBeRight(_ pattern: String, _ reason: String) {
        let error = #expect(throws: AddressError.self) { try AddressPattern(pattern) }
        #expect(error?.description.contains(reason) == true, "\(pattern): \(error?.description ?? "")")
    }
}
