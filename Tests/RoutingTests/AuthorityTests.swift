import NotifyText
import Testing

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
