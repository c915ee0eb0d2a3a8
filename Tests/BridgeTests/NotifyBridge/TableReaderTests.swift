import TOMLTables
import Testing

/// How a bridge reads its configuration.
struct TableReaderTests {
    private struct Settings: Equatable {
        var server: String
        var channels: [String]
    }

    private func read(_ text: String) throws(ConfigurationError) -> Settings {
        try TableReader.read(file: "a.toml", text: text) { table in
            let server = table.table("link") { $0.required("server") { $0.string($1) } }
            let channels = table.tables("channel", upTo: 2) { $0.required("name") { $0.string($1) } }
            return server.map { Settings(server: $0, channels: channels) }
        }
    }

    @Test func tablesAndListsOfTablesAreRead() throws {
        let text = "[link]\nserver = \"a\"\n[[channel]]\nname = \"b\"\n[[channel]]\nname = \"c\"\n"
        #expect(try read(text) == Settings(server: "a", channels: ["b", "c"]))
    }

    @Test(
        arguments: [
            ("[link]\nserver = \"a\"\nuser = \"b\"\n", "a.toml:3:1: there is no key 'user' here; the keys are server"),
            ("[link]\n", "a.toml:1:1: 'server' is missing here"),
            ("[link]\nserver = 7\n", "a.toml:2:1: 'server' must be a string such as \"text\"; it is a whole number"),
            ("[link]\nserver = \"a\"\n[[channel]]\n", "a.toml:3:1: 'name' is missing here"),
            (
                "[link]\nserver = \"a\"\n[other]\n",
                "a.toml:3:1: there is no key 'other' here; the keys are channel, link"
            ),
            ("[link]\nserver = \"a\n", "a.toml:2:10: "),
            ("", "a.toml: something that is needed is missing"),
        ])
    func everyMistakeHasItsPlace(_ text: String, _ wanted: String) {
        let error = #expect(throws: ConfigurationError.self) { try read(text) }
        #expect(error?.mistakes.first?.description.hasPrefix(wanted) == true, "\(error?.description ?? "")")
    }
}
