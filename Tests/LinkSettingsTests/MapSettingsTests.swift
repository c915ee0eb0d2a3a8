import LinkSettings
import Mapping
import Routing
import TOMLTables
import Testing

struct MapSettingsTests {
    private static let link = "[link]\nserver = \"mqtts://broker.example\"\nuser = \"mina\"\nname = \"desk\"\n"

    private func maps(_ text: String) throws -> MapSettings {
        try TableReader.read(file: "mqtt.toml", text: Self.link + text) { LinkSettings.read(from: &$0) }.maps
    }

    /// The mistakes, as they are told.
    private func mistakes(_ text: String) -> [String] {
        do throws(ConfigurationError) {
            _ = try TableReader.read(file: "mqtt.toml", text: Self.link + text) { LinkSettings.read(from: &$0) }
            return []
        } catch {
            return error.lines
        }
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
            urgency = "low"
            id = "context.id"
            link = true
            [[map]]
            publish = "desk/events"
            topics = ["/build", "/run"]
            payload = "{{title}}"
            retain = true
            link = true
            """)
        #expect(
            maps.inbound == [
                InboundMap(
                    filter: try LevelPattern("home/{room}/door"), topic: try TopicPattern("/home/{room}"),
                    title: try MessageTemplate("{{state}}"), body: try MessageTemplate("{{room}}"), isRetained: true,
                    urgency: 0, id: ["context", "id"], isLinked: true)
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
        ("filter = \"a\"\ntopic = \"/a\"\nurgency = \"high\"", 8, "low"),
        ("filter = \"a\"\ntopic = \"/a\"\nid = \"a..b\"", 8, "names a member"),
        ("filter = \"a\"\ntopic = \"/a\"\ncolour = \"x\"", 8, "there is no key 'colour'"),
        ("publish = \"a/+\"\ntopics = [\"/a\"]", 6, "one topic on the broker"),
        ("publish = \"a\"\ntopics = []", 7, "at least one topic"),
        ("publish = \"a\"\ntopics = [\"/a\"]\ntitle = \"x\"", 8, "belongs to what comes in"),
        ("publish = \"notifyd/1/mina/s/x\"\ntopics = [\"/a\"]", 6, "topics of the link itself"),
        ("filter = \"a/+\"\ntopic = \"/a\"\n[[map]]\nfilter = \"+/b\"\ntopic = \"/b\"", 9, "takes in already"),
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
}
