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
