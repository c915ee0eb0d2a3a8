import Routing
import TOMLTables
import Testing

@testable import NotifyDaemon

struct ConfigurationTests {
    @Test func theBuiltInRoutesAreGood() throws {
        let configuration = try ConfigurationReader.builtIn()
        #expect(
            configuration.routes.routes.map(\.name) == [
                "/post/{id}", "/run/{session}/invite", "/run/{session}/mate/{mate}/finished",
                "/run/{session}/mate/{mate}", "/run/{session}/cancelled",
                "/notifyd/digest", "/notifyd/away",
            ])
        #expect(configuration.defaultWindow == .milliseconds(100))
        let invite = configuration.routes.route(for: try Topic("/run/r1/invite"))
        #expect(invite.lifetime == .seconds(600))
        #expect(invite.appearance.actions.map(\.key) == ["accept", "decline"])
        #expect(invite.required.map(\.name) == ["from"])
        let mate = configuration.routes.route(for: try Topic("/run/r1/mate/영희"))
        #expect(!mate.banner)
        #expect(mate.retain)
    }

    @Test func aRouteMayAskForTheBannerOfWhatScreensClaimed() throws {
        let configuration = try read("[screens]\nidle_after = \"2m\"\n[[route]]\ntopic = \"/chat\"\nrescue = true\n")
        #expect(configuration.screens.idleAfter == .seconds(120))
        #expect(configuration.routes.route(for: try Topic("/chat")).rescues)
        #expect(try !configuration.routes.route(for: Topic("/post/1")).rescues)
        #expect(try ConfigurationReader.builtIn().screens.idleAfter == .seconds(300))
    }

    @Test func aTerminalGivesTheDigestAButtonThatOpensTheInbox() throws {
        let digest = try Topic("/notifyd/digest")
        #expect(try ConfigurationReader.builtIn().routes.route(for: digest).appearance.actions.isEmpty)
        let banner = "[banner]\nterminal = [\"foot\", \"-e\"]\n"
        let action = Route.Action(key: "inbox", label: "Open inbox", command: ["foot", "-e", "notifyctl", "inbox"])
        #expect(try read(banner).routes.route(for: digest).appearance.actions == [action])
        // A route of a configuration has the buttons that it says.
        let own = banner + "[[route]]\ntopic = \"/notifyd/digest\"\n"
        #expect(try read(own).routes.route(for: digest).appearance.actions.isEmpty)
    }

    @Test(arguments: [
        ("terminal = []", 2, 1, "'terminal' must be a program"),
        ("terminal = [\"\"]", 2, 1, "'terminal' must be a program"),
        ("terminal = \"foot\"", 2, 1, "must be a list of strings"),
        ("terminal = [\"foot\", 1]", 2, 21, "'terminal' must be a list of strings"),
    ])
    func aTerminalThatIsNoneHasItsPlace(_ text: String, _ line: Int, _ column: Int, _ words: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try read("[banner]\n" + text) }
        #expect(error?.mistakes.map(\.line) == [line])
        #expect(error?.mistakes.map(\.column) == [column])
        #expect(error?.mistakes.first?.reason.contains(words) == true, "\(error.map { "\($0)" } ?? "")")
    }

    @Test func theProgramsOfButtonsThatDoNotExistAreListed() throws {
        let missing = try read("[banner]\nterminal = [\"no-such-terminal\"]\n").routes.missingPrograms
        #expect(missing == ["no-such-terminal, for the button \"Open inbox\" of /notifyd/digest"])
        #expect(try read("[banner]\nterminal = [\"/bin/sh\"]\n").routes.missingPrograms == [])
        #expect(try read("[banner]\nterminal = [\"sh\"]\n").routes.missingPrograms == [])
    }

    @Test func aRouteOfAConfigurationReplacesTheBuiltInOneWithTheSamePattern() throws {
        let configuration = try read("[[route]]\ntopic = \"/post/{post}\"\nwindow = \"1s\"\n")
        let route = configuration.routes.route(for: try Topic("/post/27"))
        #expect(route.window == .seconds(1))
        #expect((route.wording as? BannerTemplates)?.title == nil)
        #expect(configuration.routes.routes.count == 7)
    }

    @Test func defaultsReachEveryRouteThatDoesNotSetItsOwn() throws {
        let configuration = try read("[defaults]\nwindow = \"250ms\"\nmax_window = \"2s\"\nttl = \"1h\"\n")
        let post = configuration.routes.route(for: try Topic("/post/27"))
        #expect(post.window == .milliseconds(250))
        #expect(post.maximumWindow == .seconds(2))
        #expect(post.lifetime == .seconds(3600))
        #expect(configuration.routes.route(for: try Topic("/run/r1/invite")).lifetime == .seconds(600))
        #expect(configuration.routes.fallback.window == .milliseconds(250))
    }

    @Test func laterFilesOverrideEarlierOnes() throws {
        var reader = ConfigurationReader()
        reader.add(
            file: "a",
            text:
                "[defaults]\nwindow = \"1s\"\n[banner]\nmax_per_second = 9\npause_digest = "
                + "true\nfollow_desktop = false\nstart_server = false\n"
        )
        reader.add(file: "b", text: "[defaults]\nwindow = \"2s\"\n")
        let configuration = try reader.finish()
        #expect(configuration.defaultWindow == .seconds(2))
        #expect(configuration.banners.maximumPerSecond == 9 && configuration.banners.digestsPauses)
        #expect(!configuration.banners.followsDesktop && !configuration.banners.startsServer)
        #expect(configuration.files == ["a", "b"])
    }

    @Test func theHistoryIsAMonthUnlessItIsSet() throws {
        #expect(try read("").history == Retention(age: .seconds(30 * 86_400), events: 1_000_000))
        #expect(
            try read("[history]\ndays = 7\nevents = 5000\n").history
                == Retention(age: .seconds(7 * 86_400), events: 5000))
        #expect(try read("[history]\ndays = 3650\n").history.events == 1_000_000)
    }

    @Test func withoutAMaximumARouteGetsFiveTimesItsWindow() throws {
        let configuration = try read("[[route]]\ntopic = \"/a\"\nwindow = \"30ms\"\n")
        #expect(configuration.routes.route(for: try Topic("/a")).maximumWindow == .milliseconds(150))
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        let text: String
        let place: String
        let word: String
        var testDescription: String { word }
    }

    @Test(arguments: [
        Mistake(text: "window = \"1s\"\n", place: "1:1", word: "there is no key 'window'"),
        Mistake(text: "[defaults]\n\n  windwo = \"1s\"\n", place: "3:3", word: "there is no key 'windwo'"),
        Mistake(text: "[defaults]\nwindow = 100\n", place: "2:1", word: "a duration such as"),
        Mistake(text: "[defaults]\nwindow = \"100\"\n", place: "2:1", word: "a duration such as"),
        Mistake(text: "[defaults]\nwindow = \"61s\"\n", place: "2:1", word: "must be between 0s and 1m; it is 61s"),
        Mistake(text: "[defaults]\nwindow = \"1s\"\nwindow = \"2s\"\n", place: "3:1", word: "window"),
        Mistake(text: "[banner]\nmax_per_second = -1\n", place: "2:1", word: "must be between 0 and 1000; it is -1"),
        Mistake(text: "[history]\ndays = 0\n", place: "2:1", word: "must be between 1 and 3650; it is 0"),
        Mistake(text: "[history]\nevents = 999\n", place: "2:1", word: "must be between 1000 and 10000000; it is 999"),
        Mistake(text: "[history]\ndays = \"30d\"\n", place: "2:1", word: "a whole number"),
        Mistake(text: "[history]\nday = 3\n", place: "2:1", word: "the keys are days, events"),
        Mistake(text: "[defaults\n", place: "1:10", word: ""),
        Mistake(text: "[[route]]\nbanner = false\n", place: "1:1", word: "a route needs a topic"),
        Mistake(text: "[[route]]\ntopic = \"post\"\n", place: "2:1", word: "does not start with '/'"),
        Mistake(
            text: "[[route]]\ntopic = \"/build/*\"\n", place: "2:1", word: "/build/** everything at or below it"),
        Mistake(
            text: "[[route]]\ntopic = \"/build/{a b}\"\n", place: "2:1", word: "/build/** everything at or below it"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\n[[route]]\ntopic "
                + "= \"/b\"\nbaner = true\n", place: "5:1", word: "'baner'"),
        Mistake(text: "[[route]]\ntopic = \"/a\"\n[[route]]\ntopic = \"/a\"\n", place: "4:1", word: "already"),
        Mistake(text: "[[route]]\ntopic = \"/a\"\nbanner = \"yes\"\n", place: "3:1", word: "true or false"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\ncoalesce = \"all\"\n", place: "3:1",
            word: "one of \"topic\", \"route\", \"none\""),
        Mistake(text: "[[route]]\ntopic = \"/a\"\nrequire = { from = \"text\" }\n", place: "3:13", word: "'from'"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\nactions = [ { key = \"a\" } ]\n", place: "3:13", word: "a key and a label"
        ),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\nactions = [ { key = \"a\", label = \"A\", run = \"b\" } ]\n",
            place: "3:39",
            word: "'run'"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\ntitle = \"{{from\"\n", place: "3:1",
            word: "names are written like {{title}}"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\ntitle = \"{{#from}}\"\n", place: "3:1",
            word: "a section is not closed: {{#from}} ends with {{/from}}"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\ntitle = \"{{#a}}x{{/a}}{{^ body }}y\"\n", place: "3:1",
            word: "a section is not closed: {{^body}} ends with {{/body}}"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\ntitle = \"{{#a}}{{#b}}x{{/a}}\"\n", place: "3:1",
            word: "{{/a}} comes before {{/b}}"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\ntitle = \"x{{/a}}\"\n", place: "3:1",
            word: "{{/a}} closes a section that was not opened"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\ntitle = \"{{#a}}{{/b}}\"\n", place: "3:1", word: "not the one opened last"
        ),
        Mistake(text: "[route]\ntopic = \"/a\"\n", place: "1:1", word: "each of which begins with [[route]]"),
        Mistake(text: "[[defaults]]\n", place: "1:1", word: "which begins with [defaults]"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\ntitle = \"{{from}}\"\n", place: "3:1", word: "{{from}} may be absent"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\ntitle = \"{{>x}}\"\n", place: "3:1", word: "'title': {{>x}} stands for"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\nbody = \"a {{ > x }}\"\n", place: "3:1", word: "'body': {{>x}} stands"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\ntitle = \"\"\nbody = \"{{<x}}{{/x}}\"\n", place: "4:1",
            word: "{{<x}} stands for another template"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\nactions = [ { key = \"a\", label = \"A\", exec = [] } ]\n", place: "3:39",
            word: "'exec' must be a program"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\nactions = [ { key = \"a\", label = \"A\", exec = [\"\"] } ]\n",
            place: "3:39", word: "such as [\"notify-log\", \"--quick\"]"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\nicon = \"https://example.org/icon.png\"\n", place: "3:1",
            word: "'icon' must be a name"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\nicon = \"HTTP://example.org/icon.png\"\n", place: "3:1",
            word: "such as \"mail-unread\", or a local file, such as \"file:///usr/"),
        Mistake(
            text: "[[route]]\ntopic = \"/a\"\nwindow = \"1s\"\nmax_window = \"500ms\"\n", place: "4:1",
            word: "must not be shorter than the window"),
        Mistake(
            text: "[defaults]\nwindow = \"1s\"\nmax_window = \"500ms\"\n", place: "3:1",
            word: "'max_window' is 500ms; it must not be shorter than the window, 1s"),
        Mistake(
            text: "[defaults]\nmax_window = \"50ms\"\n", place: "2:1",
            word: "must not be shorter than the window, 100ms"),
        Mistake(text: "[log]\nlevel = '''x\nb\n", place: "2:9", word: "to the end of the file"),
        Mistake(text: "[[policy]]\ntopic = \"/a\"\n", place: "1:1", word: "a rule allows or denies something"),
        Mistake(text: "[[policy]]\ndeny = [\"claims\"]\n", place: "2:9", word: "\"publish\", \"claim\", \"control\""),
        Mistake(
            text: "[[policy]]\nallow = [\"claim\"]\ndeny = [\"claim\"]\n", place: "3:9", word: "has \"claim\" already"),
        Mistake(text: "[[policy]]\ndeny = [\"claim\"]\ntopic = \"/a/\"\n", place: "3:1", word: "ends with '/'"),
        Mistake(text: "[[policy]]\ndeny = [\"claim\"]\nunit = \"feed\"\n", place: "3:1", word: "a whole name such as"),
        Mistake(
            text: "[[policy]]\ndeny = [\"claim\"]\nuser = \"no such user\"\n", place: "3:1",
            word: "the name of a user"),
        Mistake(text: "[[policy]]\ndeny = [\"claim\"]\nuser = -1\n", place: "3:1", word: "the name of a user"),
        Mistake(text: "[[policy]]\ndeny = [\"claim\"]\nwho = \"me\"\n", place: "3:1", word: "there is no key 'who'"),
    ])
    func aMistakeIsReportedWithItsPlaceAndWhatWouldBeRight(_ mistake: Mistake) {
        let error = #expect(throws: ConfigurationError.self) { try read(mistake.text) }
        let found = error?.mistakes.first
        #expect(found.map { "\($0.line):\($0.column)" } == mistake.place, "\(String(describing: error))")
        #expect(found?.reason.contains(mistake.word) == true, "\(String(describing: error))")
        #expect(error?.description.hasPrefix("test.toml:") == true)
    }

    @Test(arguments: [
        "", "\u{FEFF}", "a = 1\r\n", #"a = 1 # """"# + "\n", #"a = "'''""# + "\n", #"a = "\"""# + "\n",
        #"a = '\'"# + "\n",
        #""[" = 1"# + "\n", "a = [1,\n\"]\", # ]\n2]\n", "a = \"\"\"\n[\n\\\"\"\"\"\"\"\n", "a = '''\n[\n\\'''''\n",
        "[a]\n",
    ])
    func aHeaderWithoutANameIsReportedAtItsPlace(after text: String) throws {
        for header in ["[", "[[", " [ ", "[\r", "[\u{301}a]"] {
            let error = #expect(throws: ConfigurationError.self) { try read("\(text)\(header)\n") }
            let found = error?.mistakes.first { $0.reason.hasPrefix("this is not a table") }
            #expect(
                found?.line == text.utf8.count { $0 == UInt8(ascii: "\n") } + 1, "\(error.map { "\($0)" } ?? "none")")
        }
    }

    @Test(arguments: [
        ("a = [ }\n", "1:7"), ("a = [ { b = [1, # ]\n2 }, ]\n", "2:3"), ("b = [\"}\", \u{2028}1]\n", "1:11"),
        ("a = [\n\u{85}]\n", "2:1"),
    ])
    func aBracketOrALineEndInTheWrongPlaceIsReported(_ text: String, at place: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try read(text) }
        #expect(
            error?.mistakes.map { "\($0.line):\($0.column)" }.contains(place) == true, "\(error.map { "\($0)" } ?? "")")
    }

    @Test func allMistakesAreToldAtOnceInTheOrderOfTheirLines() throws {
        let text = """
            [defaults]
            windw = "1s"
            ttl = 5
            [[route]]
            topic = "post"
            title = "{{#a}}"
            wait = "never"
            [[route]
            banner = 3
            [[route]]
            topic = "/a
            body = "{{x}}"
            [[policy]]
            deny = ["claims", "publish", "mute"]
            unit = "feed"
            """
        let error = #expect(throws: ConfigurationError.self) { try read(text) }
        #expect(
            error?.mistakes.map { "\($0.line):\($0.column)" } == [
                "2:1", "3:1", "5:1", "6:1", "7:1", "8:9", "11:9", "14:9", "14:30", "15:1",
            ], "\(error.map { "\($0)" } ?? "")")
        #expect(error?.count == 10)
    }

    @Test func mistakesOfSeveralFilesAreToldTogether() throws {
        var reader = ConfigurationReader()
        reader.add(file: "a", text: "[defaults]\nwindw = 1\n")
        reader.add(file: "b", text: "[[route]]\n")
        let error = #expect(throws: ConfigurationError.self) { try reader.finish() }
        #expect(error?.mistakes.map { "\($0.file):\($0.line)" } == ["a:2", "b:1"])
        #expect(error?.lines.count == 2)
        #expect(error?.summary.hasSuffix("(and 1 more)") == true)
    }

    @Test func theWindowsOfSeveralFilesMustFitTogether() throws {
        var reader = ConfigurationReader()
        reader.add(file: "a", text: "[defaults]\nmax_window = \"50ms\"\n")
        var good = reader
        good.add(file: "b", text: "[defaults]\nwindow = \"20ms\"\n")
        #expect(try good.finish().routes.fallback.maximumWindow == .milliseconds(50))
        reader.add(file: "b", text: "[defaults]\nwindow = \"20s\"\n")
        let error = #expect(throws: ConfigurationError.self) { try reader.finish() }
        #expect(error?.mistakes.map { "\($0.file):\($0.line)" } == ["b:1"])
    }

    @Test func allMistakesOfARouteAreTold() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try read(
                """
                [[route]]
                topic = "/a/{x}/{x}"
                title = "{{#open}}"
                body = "{{>part}} {{anything}}"
                window = "2y"
                max_window = "10ms"
                [[route]]
                topic = "/b"
                title = "{{a}} {{b}} {{a}} {{>part}} {{#open}}"
                body = "{{c}} {{d}}"
                require = { c = "text" }
                """)
        }
        let mistakes = error?.mistakes.map { "\($0.line) \($0.reason)" } ?? []
        let expected = [
            "2 the capture {x} is there twice", "3 'title': a section is not closed", "4 'body': {{>part}} stands for",
            "5 'window' must be a duration", "9 'title': {{>part}} stands for", "9 'title': a section is not closed",
            "9 'title': {{a}} may be absent", "9 'title': {{b}} may be absent", "10 'body': {{d}} may be absent",
            "11 the type of the field 'c'",
        ]
        #expect(mistakes.count == expected.count, "\(mistakes)")
        for words in expected { #expect(mistakes.contains { $0.hasPrefix(words) }, "\(words) is not in \(mistakes)") }
    }

    @Test func moreThanTwentyMistakesAreCounted() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try read((1...27).map { "key\($0) = 1" }.joined(separator: "\n"))
        }
        #expect(error?.lines.count == 21)
        #expect(error?.lines.last == "and 7 more mistakes")
    }

    @Test func aMistakeIsOneLineWhateverIsInTheFile() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try read("[defaults]\n\"a\\nMAINPID=1\\u001B\" = 1\nttl = \"\"\"\n\n1\u{202E}\"\"\"\n")
        }
        #expect(error?.lines.count == 2)
        #expect(
            error?.description.unicodeScalars.contains { $0 != "\n" && $0.value < 32 || $0.value == 0x202E } == false)
    }

    @Test func aLineOfATextIsNoHeader() throws {
        _ = try read("[[route]]\ntopic = \"/a\"\nbody = \"\"\"\n[\n\"\"\"\n")
    }

    @Test func aFieldThatMayBeAbsentIsGoodInsideItsOwnSection() throws {
        _ = try read("[[route]]\ntopic = \"/a\"\ntitle = \"Done{{#distance}} after {{distance}} m{{/distance}}\"\n")
    }

    @Test(arguments: ["mail-unread", "file:///usr/share/pixmaps/post.png", "/usr/share/pixmaps/post.png", ""])
    func anIconIsANameOrAFile(_ icon: String) throws {
        _ = try read("[[route]]\ntopic = \"/a\"\nicon = \"\(icon)\"\n")
    }

    private func read(_ text: String) throws -> Configuration {
        var reader = ConfigurationReader()
        reader.add(file: "test.toml", text: text)
        return try reader.finish()
    }
}
