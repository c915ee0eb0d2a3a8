import Linking
import Routing
import TOMLTables
import Testing

struct LinkSettingsTests {
    private static let least = """
        [link]
        server = "mqtts://broker.example"
        user = "mina"
        name = "desk"

        """

    private func settings(_ text: String) throws -> LinkSettings {
        try TableReader.read(file: "/c/mqtt.toml", text: text) { LinkSettings.read(from: &$0, host: "desk") }
    }

    /// The mistakes, as they are told.
    private func mistakes(_ text: String) -> [String] {
        do throws(ConfigurationError) {
            _ = try TableReader.read(file: "mqtt.toml", text: text) { LinkSettings.read(from: &$0, host: "desk") }
            return []
        } catch {
            return error.lines
        }
    }

    @Test func whatIsLeftOutHasItsDefault() throws {
        let settings = try settings(Self.least)
        #expect(settings.server == LinkSettings.Server("mqtts://broker.example"))
        #expect(settings.server.address == .host("broker.example", port: 8883))
        #expect(settings.user == "mina")
        #expect(settings.name == "desk")
        #expect(settings.password == nil)
        #expect(settings.lines == [LinkSettings.Line(channel: nil, share: [.all], skip: [], keys: [])])
    }

    @Test func everythingIsRead() throws {
        let settings = try settings(
            """
            [link]
            server = "mqtts://broker.example:18883"
            authorities = "ca.pem"
            certificate = "/etc/desk.pem"
            certificate_key = "desk.key"
            user = "mina"
            name = "desk"
            password = { credential = "mqtt" }
            key = { file = "link.key" }
            accept = { file = "/new.key" }
            share = ["/post", "/run"]
            skip = ["/run/private"]
            screens = false

            [[channel]]
            name = "sunday-run"
            topics = ["/run"]
            skip = ["/run/r1"]
            key = { credential = "sunday-run" }
            """)
        #expect(settings.server.description == "mqtts://broker.example:18883")
        #expect(settings.server.authorities == "/c/ca.pem")
        #expect(settings.server.certificate == .init(chain: "/etc/desk.pem", key: "/c/desk.key"))
        #expect(settings.password == .unit("mqtt"))
        let link = settings.lines[0]
        #expect(link.keys == [.file("/c/link.key"), .file("/new.key")])
        #expect(link.share.map(\.description) == ["/post", "/run"])
        #expect(link.skip.map(\.description) == ["/run/private"])
        #expect(!link.tellsScreens)
        let channel = settings.lines[1]
        #expect(channel.channel == "sunday-run")
        #expect(channel.share.map(\.description) == ["/run"])
        #expect(channel.skip.map(\.description) == ["/run/r1"])
        #expect(channel.keys == [.unit("sunday-run")])
    }

    @Test(arguments: [
        ("mqtt://localhost", LinkSettings.Server.Address.host("localhost", port: 1883), false),
        ("mqtt://127.0.0.1:1999/", .host("127.0.0.1", port: 1999), false),
        ("mqtts://[::1]", .host("::1", port: 8883), true), ("mqtts://[fe80::1]:99", .host("fe80::1", port: 99), true),
        ("mqtts://[fe80::1%eth0]", .host("fe80::1%eth0", port: 8883), true),
        ("mqtts://bücher.example", .host("bücher.example", port: 8883), true),
        ("unix:/run/broker", .socket(path: "/run/broker"), false),
    ])
    func anAddressIsParsed(_ text: String, _ address: LinkSettings.Server.Address, _ isEncrypted: Bool) throws {
        let server = try #require(LinkSettings.Server(text))
        #expect(server.address == address)
        #expect(server.isEncrypted == isEncrypted)
        #expect(LinkSettings.Server(server.description) == server)
    }

    @Test(arguments: [
        "", "broker.example", "https://broker.example", "mqtts://", "mqtts://:8883", "mqtts://a b", "mqtts://a:0",
        "mqtts://a:65536", "mqtts://a:b", "mqtts://mina@a", "mqtts://a/b", "mqtts://[::1", "mqtts://::1",
        "mqtts://[::", "mqtts://[]", "mqtts://[a b]", "mqtts://..", "mqtts://10.0.0.300", "mqtts://a:",
        "mqtts://\(String(repeating: "a", count: 254))",
    ])
    func whatIsNoAddressIsRefused(_ text: String) { #expect(LinkSettings.Server(text) == nil) }

    @Test func withoutEncryptionOnlyThisMachineIsReached() throws {
        let remote = Self.least.replacing("mqtts://", with: "mqtt://")
        #expect(
            mistakes(remote) == [
                "mqtt.toml:2:1: mqtt:// to another machine lets everybody on the way read the "
                    + "password and change messages; "
                    + "write mqtts://, or allow it: insecure = true"
            ])
        #expect(mistakes(remote + "insecure = true").isEmpty)
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            #expect(mistakes(Self.least.replacing("mqtts://broker.example", with: "mqtt://\(host)")).isEmpty)
        }
        // Their names only begin like that of this machine.
        for host in ["127.example.org", "localhost.example.org"] {
            #expect(!mistakes(Self.least.replacing("mqtts://broker.example", with: "mqtt://\(host)")).isEmpty)
        }
    }

    @Test(arguments: [
        ("", "mqtt.toml:1:1: 'link' is missing here"),
        (Self.least + "colour = 1", "mqtt.toml:5:1: there is no key 'colour' here"),
        (Self.least.replacing("\"mina\"", with: "\"a/b\""), "mqtt.toml:3:1: 'user' has 1 to 32 bytes"),
        (Self.least.replacing("mina", with: "channel"), "mqtt.toml:3:1: 'user' cannot be \"channel\""),
        (Self.least.replacing("\"desk\"", with: "\"\""), "mqtt.toml:4:1: 'name' is how people call this device"),
        (Self.least + "share = [\"post\"]", "mqtt.toml:5:10: "),
        (Self.least + "accept = { file = \"a\" }", "mqtt.toml:5:1: 'accept' is a second key, and there is no 'key'"),
        (Self.least + "certificate = \"a\"", "mqtt.toml:5:1: 'certificate' and 'certificate_key' belong together"),
        (
            Self.least + "[[channel]]\nname = \"a\"\ntopics = []\nkey = { file = \"k\" }",
            "mqtt.toml:7:1: a channel shares at least one topic"
        ),
        (Self.least + "[[channel]]\nname = \"a\"\ntopics = [\"/run\"]", "mqtt.toml:5:1: 'key' is missing here"),
        (
            Self.least.replacing("mqtts://broker.example", with: "mqtt://localhost") + "authorities = \"ca\"",
            "mqtt.toml:5:1: 'authorities' is for mqtts://"
        ),
    ])
    func aMistakeIsToldWithItsPlace(_ text: String, _ beginning: String) throws {
        let lines = mistakes(text)
        #expect(lines.contains { $0.hasPrefix(beginning) }, "\(lines)")
    }

    @Test func twoChannelsHaveTwoNames() {
        let channel = "[[channel]]\nname = \"a\"\ntopics = [\"/run\"]\nkey = { file = \"k\" }\n"
        #expect(mistakes(Self.least + channel + channel).contains { $0.contains("there are two channels \"a\"") })
    }
}
