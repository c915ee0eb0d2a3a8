import Mosquitto
import NotifyBridge
import Routing
import TOMLTables
import Testing

@testable import LinkShell

/// mqtt.toml.
struct SettingsTests {
    private func read(_ text: String) throws -> LinkSettings {
        try TableReader.read(file: "/etc/mqtt.toml", text: text) { LinkBridge.settings(from: &$0) }
    }

    private func mistake(_ text: String) -> String {
        do {
            _ = try read(text)
            return ""
        } catch {
            return "\(error)"
        }
    }

    private func link(_ lines: String) -> String { "[link]\nuser = \"mina\"\n" + lines }

    @Test func whatIsWrittenIsMeant() throws {
        let settings = try read(
            """
            [link]
            server = "mqtts://broker.example"
            user = "mina"
            name = "desk"
            password = { credential = "mqtt" }
            key = { credential = "link" }
            accept = { file = "new.key" }
            share = ["/post", "/run"]
            skip = ["/post/local"]
            screens = false
            authorities = "/etc/ca.pem"

            [[channel]]
            name = "sunday-run"
            topics = ["/run"]
            key = { credential = "sunday-run" }
            """)
        #expect(settings.address == .host("broker.example", port: 8883))
        #expect(settings.tls == Broker.TLS(authorities: "/etc/ca.pem"))
        #expect(settings.user == "mina" && settings.name == "desk" && settings.password == .unit("mqtt"))
        let first = settings.lines[0]
        #expect(first.keys == [.unit("link"), .file("/etc/new.key")] && !first.tellsScreens)
        #expect(first.share.map(\.description) == ["/post", "/run"])
        #expect(first.skip.map(\.description) == ["/post/local"])
        #expect(settings.lines[1].channel == "sunday-run" && settings.lines[1].keys == [.unit("sunday-run")])
    }

    @Test(arguments: [
        ("mqtt://localhost", Broker.Address.host("localhost", port: 1883)),
        ("mqtt://127.0.0.1:1884/", .host("127.0.0.1", port: 1884)),
        ("mqtts://[2001:db8::1]:8884", .host("2001:db8::1", port: 8884)),
        ("mqtt://[::1]", .host("::1", port: 1883)),
        ("unix:/run/broker", .socket(path: "/run/broker")),
    ])
    func serversHaveManyForms(_ text: String, _ address: Broker.Address) throws {
        #expect(try read(link("server = \"\(text)\"")).address == address)
    }

    @Test(arguments: [
        "broker.example", "http://broker.example", "mqtt://", "mqtt://localhost:0", "mqtt://localhost:99999",
        "mqtt://mina:secret@localhost", "mqtt://localhost/path", "mqtt://::1",
    ])
    func otherFormsAreMistakes(_ text: String) {
        #expect(mistake(link("server = \"\(text)\"")).contains("/etc/mqtt.toml:3"))
    }

    @Test func nothingGoesOutInClearUnlessThatIsMeant() throws {
        let text = mistake(link("server = \"mqtt://broker.example\""))
        #expect(text.contains("/etc/mqtt.toml:3") && text.contains("insecure = true"))
        let settings = try read(link("server = \"mqtt://broker.example\"\ninsecure = true"))
        #expect(settings.tls == nil)
    }

    @Test(arguments: [
        ("[link]\nserver = \"mqtt://localhost\"", "'user' is missing"),
        ("[[channel]]\nname = \"a\"", "'link' is missing"),
        ("[link]\nserver = \"mqtt://localhost\"\nuser = \"a/b\"", "'user' has 1 to 32 bytes"),
        ("[link]\nserver = \"mqtt://localhost\"\nuser = \"a\"\npassword = \"x\"", "'password' is"),
        ("[link]\nserver = \"mqtt://localhost\"\nuser = \"a\"\naccept = { file = \"x\" }", "there is no 'key'"),
        ("[link]\nserver = \"mqtt://localhost\"\nuser = \"a\"\nshare = [\"post\"]", ":4:"),
        ("[link]\nserver = \"mqtt://localhost\"\nuser = \"a\"\nauthorities = \"x\"", "for mqtts:// only"),
        ("[link]\nserver = \"mqtts://localhost\"\nuser = \"a\"\ncertificate = \"x\"", "belong together"),
        ("[link]\nserver = \"mqtt://localhost\"\nuser = \"a\"\nserwer = \"x\"", "no key 'serwer'"),
        (
            "[link]\nserver = \"mqtt://localhost\"\nuser = \"a\"\n[[channel]]\nname = \"b\"\ntopics = [\"/run\"]",
            "'key' is missing"
        ),
    ])
    func mistakesAreNamed(_ text: String, _ part: String) {
        #expect(mistake(text).contains(part), "\(mistake(text))")
    }

    @Test func aChannelIsWrittenOnce() {
        let channel = "\n[[channel]]\nname = \"b\"\ntopics = [\"/run\"]\nkey = { file = \"x\" }"
        #expect(mistake(link("server = \"mqtt://localhost\"") + channel + channel).contains("two channels \"b\""))
    }
}
