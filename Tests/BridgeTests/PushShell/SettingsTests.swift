import Mapping
import TOMLTables
import Testing

@testable import notifyd_unifiedpush

/// unifiedpush.toml.
struct SettingsTests {
    private func read(_ text: String) throws -> PushSettings {
        try TableReader.read(file: "unifiedpush.toml", text: text) { PushSettings.read(from: &$0) }
    }

    private func mistakes(_ text: String) -> [String] {
        #expect(throws: ConfigurationError.self) { try read(text) }?.lines ?? []
    }

    @Test func nothingIsNeeded() throws { #expect(try read("") == PushSettings()) }

    @Test func everyKeyIsRead() throws {
        let settings = try read(
            """
            distributor = "org.unifiedpush.Distributor.kde"
            [[map]]
            endpoint = "post"
            title = "{{a}}"
            body = "{{b}}"
            below = "{{c}}"
            urgency = "high"
            id = "{{d}}"
            fields = { from = "{{e}}" }
            only = { type = ["mention", "poll"] }
            banner = false
            collapse = "post.id"
            """)
        #expect(settings.distributor == "org.unifiedpush.Distributor.kde")
        let map = try #require(settings.maps["post"])
        #expect(map.title?.source == "{{a}}" && map.body?.source == "{{b}}" && map.below?.source == "{{c}}")
        #expect(map.urgency?.source == "high" && map.id?.source == "{{d}}")
        var rules = MapRules()
        rules.only = [[.init(["type"], ["mention", "poll"])]]
        rules.banner = []
        rules.collapse = ["post", "id"]
        #expect(map.rules == rules)
        #expect(map.fields.map(\.name) == ["from"] && map.fields.map(\.text.source) == ["{{e}}"])
    }

    @Test(arguments: [
        ("distributor = \"org.kde.x\"", "must be a name on the bus"),
        ("[[map]]\ntitle = \"a\"", "'endpoint' is missing"),
        ("[[map]]\nendpoint = \"a b\"", "letters, digits"), ("[[map]]\nendpoint = \"a\"\nurgency = \"x\"", "one of"),
        ("[[map]]\nendpoint = \"a\"\nbelow = \"/../x\"", "must stay below the topic"),
        ("[[map]]\nendpoint = \"a\"\ntitle = \"{{\"", "not closed"),
        ("[[map]]\nendpoint = \"a\"\nfields = { x = 7 }", "a field is a text"),
        ("[[map]]\nendpoint = \"a\"\n[[map]]\nendpoint = \"a\"", "two maps"), ("x = 1", "no key 'x'"),
        ("[[map]]\nendpoint = \"a\"\nonly = 1", "a table such as"),
    ])
    func mistakesAreTold(_ text: String, _ part: String) {
        let lines = mistakes(text)
        #expect(lines.contains { $0.contains(part) }, "\(lines)")
    }
}
