import NotifyText
import Routing
import Systemd
import TOMLTables
import Testing

@testable import NotifyDaemon

/// TOML as its specification has it.
struct TOMLParserTests {
    @Test(
        arguments: [
            (#"a = "b""#, "{a:s(b)}"), (#"a = 'b\'"#, #"{a:s(b\)}"#), (#"a = """#, "{a:s()}"),
            (#"a = "\t\"\\\u00e9\U0001F600""#, "{a:s(\t\"\\é😀)}"),
            ("a = \"\"\"\nb\n  c\"\"\"", "{a:s(b\n  c)}"), ("a = \"\"\"b \\\n   \n  c\"\"\"", "{a:s(b c)}"),
            ("a = \"\"\"\"b\"\"\"\"\"", "{a:s(\"b\"\")}"), ("a = '''\n'b'''''", "{a:s('b'')}"),
            ("a = \"\"\"b\r\nc\"\"\"\r\n", "{a:s(b\nc)}"),
            ("a = 1", "{a:i(1)}"), ("a = -1_000", "{a:i(-1000)}"), ("a = 0xDEAD_beef", "{a:i(3735928559)}"),
            ("a = 0o17", "{a:i(15)}"), ("a = 0b101", "{a:i(5)}"), ("a = +0", "{a:i(0)}"),
            ("a = 1.5", "{a:f(1.5)}"), ("a = -2e3", "{a:f(-2000.0)}"), ("a = 1_0.2_5E-1", "{a:f(1.025)}"),
            ("a = inf", "{a:f(inf)}"), ("a = -inf", "{a:f(inf)}"), ("a = true # b", "{a:b(true)}"),
            ("a = 2026-11-22T07:30:00Z", "{a:m}"), ("a = 2026-11-22 07:30:00", "{a:m}"), ("a = 07:30:00.5", "{a:m}"),
            ("a = [1, [2],\n # c\n 'd',\n]", "{a:[i(1),[i(2)],s(d)]}"), ("a = []", "{a:[]}"),
            ("a = [ [] ]", "{a:[[]]}"),
            ("a = { b = 1, 'c d'.e = { } }", "{a:{b:i(1),c d:{e:{}}}}"), ("a = {}", "{a:{}}"),
            ("a.b.c = 1\na.\"b\".d = 2", "{a:{b:{c:i(1),d:i(2)}}}"), ("\u{FEFF}a = 1", "{a:i(1)}"),
            ("[a]\nb = 1\n[a.c]\n[d.e]\n[d]\nf = 2", "{a:{b:i(1),c:{}},d:{e:{},f:i(2)}}"),
            ("[[a]]\nb = 1\n[[a]]\n[a.c]\nd = 1\n[[a.e]]\n[[a.e]]", "{a:[{b:i(1)},{c:{d:i(1)},e:[{},{}]}]}"),
            ("  [ a . \"b\" ]  # c\n\tc=1", "{a:{b:{c:i(1)}}}"), ("1 = 1\n\"\" = 2", "{1:i(1),:i(2)}"), ("", "{}"),
            ("é = 1", nil), ("a = 1\na = 2", nil), ("[a]\n[a]", nil), ("a = 1\n[a]", nil), ("[a]\n[[a]]", nil),
            ("a = []\n[[a]]", nil), ("a = {}\n[a.b]", nil), ("a = {}\na.b = 1", nil), ("[a.b]\n[a]\nb.c = 1", nil),
            ("a.b = 1\n[a]", nil), ("a", nil), ("a =", nil), ("= 1", nil), ("a = 1 b = 2", nil), ("a.= 1", nil),
            ("[a", nil), ("[[a]", nil), ("[]", nil), ("[a]]", nil), ("[a] b = 1", nil),
            ("a = \"b", nil), ("a = 'b\n'", nil), (#"a = "\x""#, nil), (#"a = "\uD800""#, nil), (#"a = "\u12""#, nil),
            ("a = \"\u{1}\"", nil), ("a = 1 # \u{7F}", nil), ("a = \"\"\"b", nil), ("a = 1\rb = 2", nil),
            ("a = 01", nil), ("a = 1__0", nil), ("a = _1", nil), ("a = 1_", nil), ("a = 1.", nil), ("a = .5", nil),
            ("a = 1.e2", nil), ("a = 0x", nil), ("a = -0x1", nil), ("a = 0xG", nil), ("a = 9223372036854775808", nil),
            ("a = True", nil), ("a = b", nil), ("a = [1 2]", nil), ("a = [,]", nil), ("a = { b = 1, }", nil),
            ("a = {\nb = 1}", nil), ("a = { b = 1, b = 2 }", nil), ("a = [1", nil), ("\"\"\"a\"\"\" = 1", nil),
            ("a\0 = 1", nil),
        ] as [(String, String?)])
    func whatTheSpecificationTakesIsReadAndTheRestRefused(_ text: String, _ value: String?) {
        let (root, mistakes) = TOMLParser.parse(text)
        if let value {
            #expect(mistakes.isEmpty, "\(mistakes)")
            #expect(Self.text(root) == value)
        } else {
            #expect(!mistakes.isEmpty)
        }
    }

    @Test func twoSpellingsOfOneCharacterAreTwoKeys() {
        let (root, mistakes) = TOMLParser.parse("\"\u{E9}\" = 1\n\"e\u{301}\" = 2\n")
        #expect(mistakes.isEmpty)
        #expect(root.entries.map(\.node.integer) == [1, 2])
        #expect(root["e\u{301}"]?.node.integer == 2)
    }

    @Test func afterAMistakeItGoesOnWithTheNextStatement() {
        let text = "a = \nb = 1\nc = [1,\n[d]\ne = 'f\n[g]\nh = 2\n"
        let (root, mistakes) = TOMLParser.parse(text)
        #expect(mistakes.count == 3, "\(mistakes)")
        #expect(root["a"]?.node.isBad == true)
        #expect(root["b"]?.node.integer == 1)
        #expect(root["g"]?.node.table?["h"]?.node.integer == 2)
    }

    private static func text(_ table: TOMLTable) -> String {
        "{" + table.entries.map { "\($0.key):\(text($0.node))" }.joined(separator: ",") + "}"
    }

    private static func text(_ node: TOMLNode) -> String {
        switch node.value {
        case .string(let text): "s(\(text))"
        case .integer(let number): "i(\(number))"
        case .float(let number): "f(\(number.magnitude == .infinity ? .infinity : number))"
        case .boolean(let flag): "b(\(flag))"
        case .moment: "m"
        case .array(let nodes): "[" + nodes.map { text($0) }.joined(separator: ",") + "]"
        case .table(let table): text(table)
        case .bad: "bad"
        }
    }
}

/// What a configuration says holds for the bytes it is written in, and for no other spelling of them.
struct SpellingTests {
    private let one = "caf\u{E9}"
    private let other = "cafe\u{301}"

    private func configuration(_ text: String) throws -> Configuration {
        var reader = ConfigurationReader()
        reader.add(file: "test.toml", text: text)
        return try reader.finish()
    }

    @Test func aRuleForAUnitIsNotForItsOtherSpelling() throws {
        let policy = try configuration("[[policy]]\ndeny = [\"claim\"]\nunit = \"\(one).service\"\n").policy
        let request = AccessRequest(permission: .claim, scope: .prefix(.all))
        func caller(_ unit: String) -> Caller {
            Caller(Credentials(user: 1, process: 7), ProcessIdentity(startTime: 1, userUnit: unit), owner: 1)
        }
        #expect(policy.denyingRule(for: request, to: caller("\(one).service")) != nil)
        #expect(policy.denyingRule(for: request, to: caller("\(other).service")) == nil)
    }

    @Test func routesInTwoSpellingsKeepTheirTexts() throws {
        let routes = try configuration(
            """
            [[route]]
            topic = "/\(one)"
            title = "one"
            [[route]]
            topic = "/\(other)"
            title = "other"
            """
        ).routes
        for (topic, text) in [(one, "one"), (other, "other")] {
            let route = routes.route(named: "/\(topic)", for: try Topic("/none"))
            #expect((route.wording as? BannerTemplates)?.title?.render([:]) == text)
        }
    }

    @Test func aTemplateNamesFieldsByTheirBytes() throws {
        // A name in a template is made of letters, and a combining mark is none.
        let (one, other) = ("K", "\u{212A}")
        let template = try TextTemplate("{{\(one)}}{{#\(other)}}{{\(other)}}{{/\(other)}}", names: [one.bytes])
        #expect(template.render([one.bytes: "a", other.bytes: "b"]) == "ab")
        #expect(template.render([one.bytes: "a"]) == "a")
        #expect(throws: TextTemplate.Mistake.self) { try TextTemplate("{{\(other)}}", names: [one.bytes]) }
    }

    @Test func twoButtonsMayHaveKeysThatDifferInTheirBytes() throws {
        let routes = try configuration(
            """
            [[route]]
            topic = "/a"
            actions = [ { key = "\(one)", label = "1" }, { key = "\(other)", label = "2" } ]
            """
        ).routes
        #expect(routes.route(for: try Topic("/a")).appearance.actions.count == 2)
    }
}
