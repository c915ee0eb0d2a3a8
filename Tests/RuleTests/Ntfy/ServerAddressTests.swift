import Mapping
import Testing

struct ServerAddressTests {
    @Test(arguments: [
        ("https://ntfy.sh", "https://ntfy.sh", "ntfy.sh"), ("https://NTFY.Sh/", "https://ntfy.sh", "ntfy.sh"),
        ("https://a.example:443//", "https://a.example", "a.example"),
        ("http://localhost:8080", "http://localhost:8080", "localhost:8080"),
        ("https://[::1]:4", "https://[::1]:4", "[::1]:4"),
        ("https://A/Push/ntfy_2/", "https://a/Push/ntfy_2", "a/Push/ntfy_2"),
    ])
    func addressesAreRead(_ text: String, _ description: String, _ name: String) throws {
        let address = try #require(ServerAddress(text))
        #expect(address.description == description)
        #expect(address.name == name)
    }

    @Test(arguments: [
        "", "ntfy.sh", "ftp://a", "https://", "https://a b", "https://user@a", "https://a:0", "https://a:99999",
        "https://a//b", "https://a/b/../c", "https://a/b?c", "https://a/b%20c", "https://a/?b", "https://a/#b",
        "https://a/ö", "https://[::1", "https://a:b", "https://ö",
        "http://[::", "https://[1::2::3]", "https://..", "https://1.2.3.400", "https://a:",
    ])
    func othersAreRefused(_ text: String) { #expect(ServerAddress(text) == nil) }

    @Test func onlyThisMachineIsLocal() throws {
        for text in ["http://localhost", "http://127.0.0.1:5", "http://[::1]"] {
            #expect(try #require(ServerAddress(text)).isLocal)
        }
        for text in ["http://127.evil.example", "http://localhost.example", "http://10.0.0.1"] {
            #expect(try !#require(ServerAddress(text)).isLocal)
        }
    }

    @Test func sourcesNameATopicOfAServer() throws {
        let address = try #require(ServerAddress("https://ntfy.sh"))
        #expect(address.source(ofTopic: "a") == "ntfy:ntfy.sh/a")
        #expect(address.topic(ofSource: "ntfy:ntfy.sh/a") == "a")
        #expect(address.topic(ofSource: "ntfy:ntfy.sh/a/b") == nil)
        #expect(address.topic(ofSource: "ntfy:ntfy.sh.example/a") == nil)
        #expect(address.topic(ofSource: "mqtt:ntfy.sh/a") == nil)
        let below = try #require(ServerAddress("https://ntfy.sh/b"))
        #expect(below.source(ofTopic: "a") == "ntfy:ntfy.sh/b/a")
        #expect(below.topic(ofSource: "ntfy:ntfy.sh/b/a") == "a" && below.topic(ofSource: "ntfy:ntfy.sh/b") == nil)
        #expect(address.topic(ofSource: "ntfy:ntfy.sh/b/a") == nil)
    }
}

struct AddressTests {
    @Test(arguments: [
        "https://a", "HTTP://a/b?c", "https://bücher.example", "https://[::1]:8/a", "https://mina@a",
        "mailto:a@b", "tel:+49", "geo:1,2", "geo:0,0?q=Main Street 5", "https://a/b c",
    ])
    func usualAddressesAreOpened(_ address: String) { #expect(OpenableAddress.isOpenable(address)) }

    @Test func blanksAreEncoded() {
        #expect(OpenableAddress.openable("geo:0,0?q=Main Street 5") == "geo:0,0?q=Main%20Street%205")
        #expect(OpenableAddress.openable("https://a/b%20c") == "https://a/b%20c")
    }

    @Test(arguments: [
        "", "a", "file:///etc/passwd", "javascript:1", "https://a b", "https://a\n", "smb://a", "-x:https:",
        "http://[::", "https://",
        "https:a", "https://a:99999", "https://a:b/", "HTTPS://[::1", "https://256.1.1.1/",
    ])
    func othersAreNot(_ address: String) { #expect(!OpenableAddress.isOpenable(address)) }

    @Test(arguments: [[8, 8, 8, 8], [100, 128, 0, 1], [172, 32, 0, 1], [192, 0, 1, 1]] as [[UInt8]])
    func addressesOfVersion4ArePublic(_ bytes: [UInt8]) { #expect(PublicAddress.isPublic(bytes)) }

    @Test(
        arguments: [
            [0, 0, 0, 0], [10, 1, 2, 3], [127, 0, 0, 1], [100, 64, 0, 1], [169, 254, 169, 254], [172, 16, 0, 1],
            [192, 168, 1, 1], [192, 0, 2, 1], [198, 18, 0, 1], [224, 0, 0, 1], [255, 255, 255, 255], [1, 2, 3], [],
        ] as [[UInt8]])
    func othersOfVersion4AreNot(_ bytes: [UInt8]) { #expect(!PublicAddress.isPublic(bytes)) }

    @Test func addressesOfVersion6AreOfTheSameKind() {
        func isPublic(_ head: [UInt8], _ tail: [UInt8] = [1]) -> Bool {
            PublicAddress.isPublic(head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail)
        }
        #expect(isPublic([0x2A, 0x00, 0x14, 0x50]))
        #expect(isPublic([0x20, 0x02, 8, 8, 8, 8]))
        #expect(isPublic([0, 0x64, 0xFF, 0x9B], [8, 8, 8, 8]))
        #expect(isPublic([], [0xFF, 0xFF, 8, 8, 8, 8]))
        for head in [
            [], [0xFE, 0x80], [0xFC], [0xFF, 2], [0x20, 1, 0x0D, 0xB8], [0x20, 1, 0, 0], [0x20, 2, 10, 0, 0, 1],
        ]
            as [[UInt8]]
        {
            #expect(!isPublic(head))
        }
        #expect(!isPublic([0, 0x64, 0xFF, 0x9B], [192, 168, 1, 1]))
        #expect(!isPublic([], [0xFF, 0xFF, 127, 0, 0, 1]))
    }
}

/// What the log says of the address of a request.
struct AddressHostTests {
    @Test(arguments: [
        ("https://example.com/door?key=secret", "example.com"), ("http://mina:secret@10.0.0.7:8123/a", "10.0.0.7:8123"),
        ("https://a@b@c#@d", "c"), ("https://[::1]:8/x", "[::1]:8"), ("https://e\\@x/", "e"), ("nothing", ""),
    ])
    func onlyTheHostIsTold(_ address: String, _ host: String) {
        #expect(AddressHost.host(of: address) == host)
    }
}
