import NotifyText
import Testing

@testable import Routing

/// Two texts are one when their bytes are. To a `String`, those here are equal.
@Suite struct ByteEqualityTests {
    /// “é” as one scalar and as two, “Å” and the Ångström sign, “K” and the Kelvin sign.
    private static let pairs = [("caf\u{E9}", "cafe\u{301}"), ("\u{C5}", "\u{212B}"), ("K", "\u{212A}")]

    private static let now = Now(instant: Instant(microseconds: 1), uptime: Uptime(microseconds: 1))

    private func router(_ routes: Route...) -> Router {
        var table = RouteTable(fallback: Route(pattern: nil, window: .milliseconds(100)))
        for route in routes { table.add(route) }
        return Router(routes: table, firstID: EventID(1))
    }

    private func answer(
        _ router: inout Router, at topic: String, fields: [Field] = [], origin: Origin = Origin()
    ) throws -> Result<Reply, Refusal> {
        var publication = Publication(topic: try Topic(topic), title: "", body: "", fields: fields, sender: ":1.1")
        publication.options.origin = origin
        return router.handle(.published(publication), at: Self.now).reply
    }

    @Test(arguments: pairs) func twoSpellingsOfASourceOrAnEventIDNameTwoEvents(_ one: String, _ other: String) throws {
        #expect(one == other)
        var router = router()
        #expect(
            try answer(&router, at: "/a", origin: Origin(source: one, eventID: "1")) == .success(.accepted(EventID(1))))
        #expect(
            try answer(&router, at: "/a", origin: Origin(source: other, eventID: "1"))
                == .success(.accepted(EventID(2))))
        #expect(
            try answer(&router, at: "/a", origin: Origin(source: "s", eventID: one)) == .success(.accepted(EventID(3))))
        #expect(
            try answer(&router, at: "/a", origin: Origin(source: "s", eventID: other))
                == .success(.accepted(EventID(4))))
        #expect(
            try answer(&router, at: "/a", origin: Origin(source: "s", eventID: other))
                == .success(.accepted(EventID(4))))
    }

    @Test(arguments: pairs) func aRequiredFieldIsNotMetByItsOtherSpelling(_ one: String, _ other: String) throws {
        var router = router(
            Route(pattern: try TopicPattern("/a"), window: .zero, required: [(name: one, type: .string)]))
        let answer = try answer(&router, at: "/a", fields: [Field(name: other, value: .string("x"))])
        #expect(answer.refused(Refusal.invalidEvent) != nil)
        #expect(
            try self.answer(&router, at: "/a", fields: [Field(name: one, value: .string("x"))])
                == .success(.accepted(EventID(1))))
    }

    @Test(arguments: pairs) func twoSpellingsAreTwoRoutesWithWindowsOfTheirOwn(_ one: String, _ other: String) throws {
        var router = router(
            Route(pattern: try TopicPattern("/\(one)/{x}"), window: .seconds(1), coalescing: .route),
            Route(pattern: try TopicPattern("/\(other)/{x}"), window: .seconds(1), coalescing: .route))
        _ = try answer(&router, at: "/\(one)/1")
        _ = try answer(&router, at: "/\(other)/1")
        #expect(router.openWindows == 2)
        #expect(try TopicPattern("/\(one)") != TopicPattern("/\(other)"))
    }

    /// Else one could write as many topics with the same hash as one likes, and every table would become a list.
    @Test(arguments: pairs) func twoSpellingsOfATopicHashDifferently(_ one: String, _ other: String) throws {
        #expect(try Topic("/\(one)").hashValue != Topic("/\(other)").hashValue)
        #expect(Origin(source: "ab", eventID: "c").hashValue != Origin(source: "a", eventID: "bc").hashValue)
    }

    @Test(arguments: pairs) func valuesAndButtonsAreEqualWhenTheirBytesAre(_ one: String, _ other: String) {
        #expect(FieldValue.string(one) != .string(other))
        #expect(FieldValue.array(of: "s", [.string(one)]) != .array(of: "s", [.string(other)]))
        #expect(Field(name: one, value: .byte(1)) != Field(name: other, value: .byte(1)))
        #expect(Route.Action(key: one, label: "x") != Route.Action(key: other, label: "x"))
        #expect(
            Route.Action(key: "x", label: "x", command: [one]) != Route.Action(key: "x", label: "x", command: [other]))
        #expect(FieldValue.string(one) == .string(String(decoding: Array(one.utf8), as: UTF8.self)))
    }

    @Test func textsAreSortedByTheirBytes() {
        #expect(["\u{E9}".bytes, "z", "e\u{301}", "Z"].sorted() == ["Z", "e\u{301}", "z", "\u{E9}"])
    }
}

/// The one rule for hosts and ports of addresses.
struct AuthorityTests {
    @Test(
        arguments: [
            ("push.example", "push.example", nil), ("Push.Example:8443", "push.example", 8443), ("a", "a", nil),
            ("a-b_c.example.", "a-b_c.example.", nil), ("xn--bcher-kva.example", "xn--bcher-kva.example", nil),
            ("127.evil.example", "127.evil.example", nil), ("192.0.2.7:1", "192.0.2.7", 1),
            ("255.255.255.255", "255.255.255.255", nil), ("[::]", "::", nil), ("[::1]:65535", "::1", 65535),
            ("[2001:DB8::7]", "2001:db8::7", nil), ("[1:2:3:4:5:6:7:8]", "1:2:3:4:5:6:7:8", nil),
            ("[1:2:3:4:5:6:7::]", "1:2:3:4:5:6:7::", nil), ("[::ffff:192.0.2.7]", "::ffff:192.0.2.7", nil),
            ("[1:2:3:4:5:6:192.0.2.7]", "1:2:3:4:5:6:192.0.2.7", nil),
        ] as [(String, String, UInt16?)])
    func hostsAreRead(_ text: String, _ host: String, _ port: UInt16?) throws {
        let authority = try #require(Authority(text))
        #expect(authority.host == host && authority.port == port)
    }

    @Test(arguments: [
        "", ":443", "[::", "::1", "[", "]", "[]", "[]:1", "[::1", "::1]", "[::1]a", "[::1]:", "a:", "a:0", "a:65536",
        "a:+1", "a:-1", "a: 1", "a:1:2", "a:b", "[1]", "[:::]", "[1::2::3]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7]",
        "[1:2:3:4:5:6:7:8::]", "[12345::]", "[g::]", "[:1::]", "[1::2:]", "[::1.2.3]", "[1.2.3.4::]", "[::256.1.1.1]",
        "[fe80::1%eth0]", ".", "..", "a..b", ".a", "a b", "a/b", "a@b", "a%41", "bücher.example", "1.2.3", "1",
        "256.1.1.1",
        "1.2.3.4.5", "a.1", "\(String(repeating: "a", count: 64)).example",
        String(repeating: "a.", count: 126) + "aa",
    ])
    func othersAreNone(_ text: String) { #expect(Authority(text) == nil, "\(text)") }

    @Test func someAddressesMayHaveMore() throws {
        #expect(Authority("bücher.example", .international)?.host == "bücher.example")
        // It turns what follows around.
        #expect(Authority("b\u{202E}cher.example", .international) == nil)
        #expect(Authority("[FE80::1%Eth0]:1", .zones)?.host == "fe80::1%Eth0")
        for text in ["[fe80::1%]", "[%eth0]", "[fe80::1%a/b]", "a%eth0"] { #expect(Authority(text, .zones) == nil) }
    }

    @Test(arguments: [
        ("https://push.example:8443/path?a@b:0#c", "push.example"), ("http://mina:pass@a.example", "a.example"),
        ("https://a\\@b", "a"), ("https://a@b@c/@d", "c"), ("http://[::1]?x", "::1"),
    ])
    func itIsFoundInAnAddress(_ address: String, _ host: String) {
        #expect(Authority(ofAddress: address)?.host == host)
    }

    @Test(arguments: [
        "", "a", "https:a", "https:/a", "https://", "https:///a", "http://[::", "http://@/", "https://?a",
    ])
    func addressesWithoutAHostHaveNone(_ address: String) { #expect(Authority(ofAddress: address) == nil) }
}

struct BusTextTests {
    @Test(arguments: [
        ("colour", "colour"), ("a\u{1B}[2J\nb", #"a\u{1b}[2J\nb"#),
        (String(repeating: "ä", count: 33), String(repeating: "ä", count: 32) + "…"),
    ])
    func whatIsQuotedInAnErrorIsShortAndHasNoControlCharacters(_ text: String, _ quoted: String) {
        #expect(text.quotable == quoted)
    }
}

/// The fields of an event as one column has them.
struct FieldCodingTests {
    @Test func everyTypeOfFieldComesBackUnchanged() throws {
        let fields: [Field] = [
            Field(name: "y", value: .byte(255)), Field(name: "b", value: .boolean(true)),
            Field(name: "n", value: .int16(-5)), Field(name: "q", value: .uint16(65535)),
            Field(name: "i", value: .int32(.min)), Field(name: "u", value: .uint32(.max)),
            Field(name: "x", value: .int64(.min)), Field(name: "t", value: .uint64(.max)),
            Field(name: "d", value: .double(-0.5)), Field(name: "s", value: .string("영희 \u{1F469}")),
            Field(name: "o", value: .objectPath("/a")), Field(name: "g", value: .signature("a{sv}")),
            Field(name: "empty", value: .array(of: "a{sv}", [])),
            Field(name: "list", value: .array(of: "s", [.string("a"), .string("")])),
            Field(
                name: "map",
                value: .dictionary(
                    key: "s", value: "v",
                    [FieldValue.Pair(key: .string("k"), value: .variant(.array(of: "i", [.int32(1)])))])),
            Field(name: "", value: .variant(.dictionary(key: "u", value: "as", []))),
        ]
        #expect(try FieldCoding.decode(FieldCoding.encode(fields)) == fields)
    }

    @Test func bytesThatWereNeverWrittenAreRefusedAndDoNotCrash() {
        let bytes = FieldCoding.encode([
            Field(
                name: "map",
                value: .dictionary(
                    key: "s", value: "as",
                    [
                        FieldValue.Pair(key: .string("k"), value: .array(of: "s", [.string("v")]))
                    ]))
        ])
        for length in 1..<bytes.count {
            #expect(throws: FieldCoding.Malformed.self) { try FieldCoding.decode(Array(bytes.prefix(length))) }
        }
        var random = SystemRandomNumberGenerator()
        for _ in 0..<5_000 {
            var broken = bytes
            for _ in 0..<3 { broken[Int.random(in: 0..<broken.count, using: &random)] = UInt8.random(in: 0...255) }
            _ = try? FieldCoding.decode(broken)
        }
    }
}
