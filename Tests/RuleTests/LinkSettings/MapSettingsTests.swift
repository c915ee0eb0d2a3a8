import Linking
import Mapping
import Routing
import TOMLTables
import Testing

struct MapSettingsTests {
    private static let link = "[link]\nserver = \"mqtts://broker.example\"\nuser = \"mina\"\nname = \"desk\"\n"

    private func maps(_ text: String) throws -> MapSettings {
        try TableReader.read(file: "mqtt.toml", text: Self.link + text) { LinkSettings.read(from: &$0, host: "desk") }
            .maps
    }

    /// The mistakes, as they are told.
    private func mistakes(_ text: String) -> [String] {
        #expect(throws: ConfigurationError.self) { try maps(text) }?.lines ?? []
    }

    @Test func everythingIsRead() throws {
        let maps = try maps(
            """
            [[map]]
            filter = "home/{room}/door"
            topic = "/home/{room}"
            title = "{{state}}"
            body = "{{room}}"
            retain = true
            urgency = "{{level}}"
            id = "context.id"
            only = { type = "new", after.label = ["person", 3, true] }
            except = [{ a = "" }, { "a.b" = "*" }]
            banner = false
            silent = { x = false }
            collapse = "after.id"
            link = true
            [[map]]
            publish = "desk/events"
            topics = ["/build", "/run"]
            payload = "{{title}}"
            retain = true
            link = true
            """)
        var rules = MapRules()
        rules.only = [[.init(["type"], ["new"]), .init(["after", "label"], ["person", "3", "true"])]]
        rules.except = [[.init(["a"], [""])], [.init(["a", "b"], ["*"])]]
        rules.banner = []
        rules.silent = [[.init(["x"], ["false"])]]
        rules.collapse = ["after", "id"]
        rules.urgency = try MessageTemplate("{{level}}")
        #expect(
            maps.inbound == [
                InboundMap(
                    filter: try LevelPattern("home/{room}/door"), topic: try TopicPattern("/home/{room}"),
                    title: try MessageTemplate("{{state}}"), body: try MessageTemplate("{{room}}"), isRetained: true,
                    id: ["context", "id"], rules: rules, isLinked: true)
            ])
        #expect(
            maps.outbound == [
                OutboundMap(
                    address: "desk/events", topics: [try TopicPrefix("/build"), try TopicPrefix("/run")],
                    payload: try MessageTemplate("{{title}}"), isRetained: true, isLinked: true)
            ])
    }

    /// Lines 5 and following are those of the map.
    @Test(arguments: [
        ("topic = \"/a\"", 5, "either 'filter'"),
        ("filter = \"a\"\npublish = \"b\"", 6, "either 'filter'"),
        ("filter = \"a\"", 5, "'topic' is missing"),
        ("filter = \"a/#/b\"\ntopic = \"/a\"", 6, "# stands for"),
        ("filter = \"#\"\ntopic = \"/a\"", 6, "topics of the link itself"),
        ("filter = \"+/1/{x}/#\"\ntopic = \"/a\"", 6, "topics of the link itself"),
        ("filter = \"a\"\ntopic = \"/{room}\"", 7, "'filter' has not"),
        ("filter = \"a\"\ntopic = \"a\"", 7, "does not start with '/'"),
        ("filter = \"a\"\ntopic = \"/a\"\ntitle = \"{{#x}}\"", 8, "{{#x}} is not closed"),
        ("filter = \"a\"\ntopic = \"/a\"\npayload = \"x\"", 8, "belongs to what goes out"),
        ("filter = \"a\"\ntopic = \"/a\"\nurgency = \"loud\"", 8, "\"low\", \"normal\""),
        ("filter = \"a\"\ntopic = \"/a\"\nurgency = 3", 8, "a whole number"),
        ("filter = \"a\"\ntopic = \"/a\"\nonly = true", 8, "must be a table such as"),
        ("filter = \"a\"\ntopic = \"/a\"\nonly = {}", 8, "at least one member"),
        ("filter = \"a\"\ntopic = \"/a\"\nexcept = []", 8, "must be a table such as"),
        ("filter = \"a\"\ntopic = \"/a\"\nexcept = [{ a = 1 }, 2]", 8, "must be a table such as"),
        ("filter = \"a\"\ntopic = \"/a\"\nbanner = 1", 8, "must be true, false or a table"),
        ("filter = \"a\"\ntopic = \"/a\"\nsilent = { a = 1.5 }", 8, "this is a number with a fraction"),
        ("filter = \"a\"\ntopic = \"/a\"\nsilent = { \"a..b\" = 1 }", 8, "must name a member"),
        ("filter = \"a\"\ntopic = \"/a\"\ncollapse = \"a.\"", 8, "must name a member"),
        ("filter = \"a\"\ntopic = \"/a\"\nid = \"a..b\"", 8, "must name a member"),
        ("filter = \"a\"\ntopic = \"/a\"\ncolour = \"x\"", 8, "there is no key 'colour'"),
        ("publish = \"a/+\"\ntopics = [\"/a\"]", 6, "one topic on the broker"),
        ("publish = \"a\"\ntopics = []", 7, "at least one topic"),
        ("publish = \"a\"\ntopics = [\"/a\"]\ntitle = \"x\"", 8, "belongs to what comes in"),
        ("publish = \"a\"\ntopics = [\"/a\"]\ncollapse = \"x\"", 8, "belongs to what comes in"),
        ("publish = \"notifyd/1/mina/s/x\"\ntopics = [\"/a\"]", 6, "topics of the link itself"),
        ("filter = \"a/+\"\ntopic = \"/a\"\n[[map]]\nfilter = \"+/b\"\ntopic = \"/b\"", 9, "and not all"),
        ("filter = \"a/+\"\ntopic = \"/a\"\n[[map]]\nfilter = \"a/{b}\"\ntopic = \"/b\"", 9, "belongs to one map"),
        ("filter = \"a/+\"\ntopic = \"/a\"\n[[map]]\npublish = \"a/b\"\ntopics = [\"/b\"]", 9, "takes in already"),
        (
            "publish = \"a/b\"\ntopics = [\"/b\"]\n[[map]]\nfilter = \"a/+\"\ntopic = \"/a\"", 9,
            "would take in what goes out"
        ),
    ])
    func mistakesHaveTheirPlaces(_ text: String, _ line: Int, _ words: String) {
        let found = mistakes("[[map]]\n" + text + "\n")
        #expect(found.contains { $0.hasPrefix("mqtt.toml:\(line):") && $0.contains(words) }, "\(found)")
    }

    @Test func theMostSpecificFilterTakesAMessageAndEachIsSubscribedToOnce() throws {
        let filters = ["home/#", "home/{room}/door", "other/x", "home/bath/door", "home/{room}/{thing}"]
        let maps = try maps(filters.map { "[[map]]\nfilter = \"\($0)\"\ntopic = \"/a\"\n" }.joined())
        #expect(maps.subscriptions == ["home/#", "other/x"])
        func filter(_ topic: String) -> String? { maps.index(ofMapFor: topic).map { filters[$0] } }
        #expect(filter("home/bath/door") == "home/bath/door")
        #expect(filter("home/hall/door") == "home/{room}/door")
        #expect(filter("home/hall/lamp") == "home/{room}/{thing}")
        #expect(filter("home") == "home/#")
        #expect(filter("elsewhere") == nil)
    }
}
