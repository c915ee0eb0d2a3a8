import Mapping
import Routing
import TOMLTables
import Testing

@testable import notifyd_ntfy

struct NtfySettingsTests {
    private func read(_ text: String) throws -> NtfySettings {
        try TableReader.read(file: "/folder/ntfy.toml", text: text) { NtfySettings.read(from: &$0) }
    }

    private func mistakes(_ text: String) -> String {
        #expect(throws: ConfigurationError.self) { try read(text) }?.description ?? ""
    }

    @Test func aConfigurationHasServersWithMaps() throws {
        let settings = try read(
            """
            [[server]]
            url = "https://ntfy.sh"
            token = { credential = "ntfy" }

            [[server.map]]
            subscribe = ["backups", "alerts"]
            topic = "/ntfy/{name}"
            urgency = "low"
            only = { json.status = "*" }
            banner = [{ priority = [4, 5] }, { tags = "door" }]
            silent = { json.status = "resolved" }
            collapse = "json.groupKey"
            images = true

            [[server.map]]
            publish = "mina-phone"
            topics = ["/post", "/run"]
            after = "5m"

            [[server]]
            url = "http://localhost:8080"
            user = "mina"
            password = { file = "secret" }
            silence = "5m"

            [[server.map]]
            subscribe = ["door"]
            topic = "/door"
            title = "{{title}}"
            clear = false
            """)
        #expect(settings.servers.map(\.address.name) == ["ntfy.sh", "localhost:8080"])
        #expect(settings.servers[0].login == .token(.unit("ntfy")))
        #expect(settings.servers[1].login == .password(.file("/folder/secret"), user: "mina"))
        #expect(settings.servers[0].topics == ["backups", "alerts", "mina-phone"])
        var rules = MapRules()
        rules.urgency = try MessageTemplate("low")
        rules.only = [[.init(["json", "status"], ["*"])]]
        rules.banner = [[.init(["priority"], ["4", "5"])], [.init(["tags"], ["door"])]]
        rules.silent = [[.init(["json", "status"], ["resolved"])]]
        rules.collapse = ["json", "groupKey"]
        #expect(settings.servers[0].inbound[0].rules == rules)
        #expect(settings.servers[0].inbound[0].hasImages)
        #expect(settings.servers[0].outbound[0].moment == .away(after: .seconds(300)))
        #expect(settings.servers[0].silence == .seconds(100))
        #expect(settings.servers[1].silence == .seconds(300))
        #expect(settings.servers[1].map(ofTopic: "door")?.clears == false)
        #expect(settings.servers[1].map(ofTopic: "window") == nil)
    }

    @Test(arguments: [
        ("", "there is no [[server]]"),
        ("[[server]]\nurl = \"https://a\"", "nothing comes or goes"),
        ("[[server]]\nurl = \"http://a\"\nmap = []", "insecure = true"),
        ("[[server]]\nurl = \"ntfy.sh\"\nmap = []", "'url' is such as"),
        ("[[server]]\nurl = \"https://a\"\nmap = []\ntoken = \"tk_x\"", "must be { credential = \"NAME\" }"),
        ("[[server]]\nurl = \"https://a/ntfy?x\"\nmap = []", "https://HOST/PATH"),
        ("[[server]]\nurl = \"https://a\"\nsilence = \"1s\"\nmap = []", "something every 45s only"),
        ("[[server]]\nurl = \"https://a\"\nsilence = \"5m\"\nkeepalive = \"5m\"\nmap = []", "every 5m only"),
        (
            "[[server]]\nurl = \"https://a\"\nmap = [{ subscribe = [\"a\"], topic = \"/a\", urgency = \"loud\" }]",
            "one of \"very-low\", \"low\", \"normal\", \"high\", \"critical\", or a template"
        ),
        (
            "[[server]]\nurl = \"https://a\"\nmap = [{ subscribe = [\"a\"], topic = \"/a\", urgency = 3 }]",
            "it is a whole number"
        ),
        (
            "[[server]]\nurl = \"https://a\"\nmap = [{ subscribe = [\"a\"], topic = \"/a\", only = { status = 1 } }]",
            "'only' has status; the names are name, id, title, message,"
        ),
        (
            "[[server]]\nurl = \"https://a\"\nmap = [{ subscribe = [\"a\"], topic = \"/a\", collapse = \"tag\" }]",
            "'collapse' has tag; the names are"
        ),
        (
            "[[server]]\nurl = \"https://a\"\nmap = [{ subscribe = [\"a\"], topic = \"/a\", title = \"{{nope}}\" }]",
            "has {{nope}}; the names are name, id, title, message,"
        ),
        (
            "[[server]]\nurl = \"https://a\"\nmap = [{ subscribes = [\"a\"], topic = \"/a\" }]",
            "no key 'subscribes' here; the keys are after, banner, body,"
        ),
        ("[[server]]\nurl = \"https://a\"\nmap = []\nuser = \"a\"", "belong together"),
        (
            "[[server]]\nurl = \"https://a\"\nmap = []\n[[server]]\nurl = \"https://A/\"\nmap = []",
            "toml:5:1: there is a already"
        ),
        ("[[server]]\nurl = \"https://a\"\nmap = [{ topic = \"/a\" }]", "either 'subscribe'"),
        ("[[server]]\nurl = \"https://a\"\nmap = [{ subscribe = [\"a b\"], topic = \"/a\" }]", "1 to 64 letters"),
        (
            "[[server]]\nurl = \"https://a\"\nmap = [{ subscribe = [\"a\"], topic = \"/{x}\" }]",
            "the only capture is {name}"
        ),
        ("[[server]]\nurl = \"https://a\"\nmap = [{ subscribe = [\"a\", \"a\"], topic = \"/a\" }]", "taken in already"),
        (
            "[[server]]\nurl = \"https://a\"\nmap = [{ subscribe = [\"a\"], topic = \"/a\", when = \"away\" }]",
            "what goes out"
        ),
        (
            "[[server]]\nurl = \"https://a\"\nmap = [{ subscribe = [\"a\"], topic = \"/a\", title = \"{{\" }]",
            "not closed"
        ),
        ("[[server]]\nurl = \"https://a\"\nmap = [{ publish = \"p\", topics = [] }]", "at least one topic"),
        (
            "[[server]]\nurl = \"https://a\"\nmap = [{ publish = \"p\", topics = [\"/a\"], when = "
                + "\"always\", after = \"1m\" }]",
            "'after' belongs"
        ),
        (
            "[[server]]\nurl = \"https://a\"\nmap = [{ subscribe = [\"p\"], topic = \"/a\" }, { publish = "
                + "\"p\", topics = [\"/a\"] }]",
            "does not come in again"
        ),
    ])
    func mistakesAreToldWithWhatWouldBeRight(_ text: String, _ words: String) {
        #expect(mistakes(text).contains(words))
    }

    @Test(arguments: ["", "subscribe = [\"a\"]\npublish = \"b\"\n"])
    func whoMixesBothWaysIsToldThatAlone(_ keys: String) {
        let text = "[[server]]\nurl = \"https://a\"\n[[server.map]]\n\(keys)topic = \"/a\"\nafter = \"1m\"\n"
        #expect(mistakes(text).split(separator: "\n").count == 1)
        #expect(mistakes(text).contains("a map has either 'subscribe'"))
    }

    @Test func aServerMayBeSilentForLongerThanItsKeepalive() throws {
        func silence(_ keys: String) throws -> Duration? {
            try read(
                "[[server]]\nurl = \"https://a\"\n\(keys)\nmap = [{ subscribe = [\"a\"], topic = \"/a\" }]"
            ).servers.first?.silence
        }
        #expect(try silence("") == .seconds(100))
        #expect(try silence("silence = \"1m\"") == .seconds(60))
        #expect(try silence("keepalive = \"3m\"") == .seconds(370))
        #expect(try silence("keepalive = \"5s\"\nsilence = \"6s\"") == .seconds(6))
    }

    @Test(arguments: [
        (#"["/home"]"#, true), (#"["/home", "/ntfy/a"]"#, true), (#"["/ntfy"]"#, true), (#"["/home/x"]"#, true),
        (#"["/home", "/run"]"#, false), (#"["/"]"#, false), (#"["/homes"]"#, false),
    ])
    func topicsThatOnlyTheServerFillsAreAWarning(_ topics: String, _ isOne: Bool) throws {
        let settings = try read(
            """
            [[server]]
            url = "https://ntfy.sh"
            [[server.map]]
            subscribe = ["home"]
            topic = "/home"
            [[server.map]]
            subscribe = ["a"]
            topic = "/ntfy/{name}"
            [[server.map]]
            publish = "phone"
            topics = \(topics)
            """)
        #expect(settings.warnings.count == (isOne ? 1 : 0))
        #expect(settings.warnings.allSatisfy { $0.contains("publish = \"phone\"") })
    }

    @Test(arguments: ["[[server]\nurl = \"https://ntfy.sh\"", "[[server]]\nurl = \"https://ntfy.sh\"\n[[server.map]\n"])
    func aMistakeInTheSyntaxIsTheOnlyOne(_ text: String) {
        #expect(mistakes(text).split(separator: "\n").count == 1, "\(mistakes(text))")
    }
}
