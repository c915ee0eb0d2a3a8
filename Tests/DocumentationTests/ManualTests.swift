import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import TOMLTables
import Testing
import Watching

@testable import NotifyDaemon

/// The manual pages say what there is, all of it, and nothing else.
@Suite(.timeLimit(.minutes(1))) struct ManualTests {
    private static let pages = [
        "notifyd.8", "notifyctl.1", "notifyd.toml.5", "notifyd-mqtt.8", "notifyd-mqtt.toml.5", "notifyd-focus.8",
        "notifyd-desktop.8", "notifyd-desktop.toml.5",
        "notifyd-focus.toml.5", "notifyd-browser.8", "notifyd-browser.toml.5", "notifyd-unifiedpush.8",
        "notifyd-unifiedpush.toml.5", "notifyd-ntfy.8", "notifyd-ntfy.toml.5", "org.notifyd.Router1.5",
    ]

    /// Every sentence by which notifyd-unifiedpush says why an endpoint does not work stands in its manual. What is
    /// filled in is not compared.
    @Test func everySentenceOfAPushEndpointIsInTheManual() throws {
        let manual = try Project.text("docs/notifyd-unifiedpush.8").replacing("\n", with: " ")
        let sources = try Project.texts(below: "Sources/Programs/notifyd-unifiedpush", suffix: ".swift").joined(
            separator: "\n"
        )
        .replacing(/"\s*\+ "/, with: "")
        let place = #"(?:text: |let text = |timedOut \? |\.wait\(|fail\(token, |problem: |[A-Z]": |default: |return )"#
        let text = try Regex(place + #""((?:[^"\\]|\\.)+)""#, as: (Substring, Substring).self)
        let texts = sources.matches(of: text).map { String($0.1) }
        let sentences = texts.flatMap { $0.split(separator: /\\\([^()]*(?:\([^()]*\))?[^()]*\)|\\"/) }
            .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " :;,\"")) }.filter { $0.count > 11 }
        #expect(sentences.count > 15, "\(sentences)")
        for sentence in sentences { #expect(manual.contains(sentence), "\(sentence)") }
    }

    @Test(arguments: Self.pages)
    func theLinterIsContent(_ page: String) async throws {
        let process = try ChildProcess(
            "mandoc", ["-T", "lint", "-W", "warning", Project.path("docs/\(page)")],
            environment: ChildProcess.currentEnvironment, capturing: [1])
        #expect(await process.waitForExit() == .code(0))
        #expect(await process.allLines(of: 1) == [])
    }

    /// man-db sets pages with groff, which does not break the lines of a table where mandoc does.
    @Test(
        .enabled(
            if: ["mandb", "groff"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") },
            "man-db or groff is not installed"),
        arguments: ["notifyd.8", "notifyctl.1", "notifyd.toml.5", "org.notifyd.Router1.5"])
    func manFindsRoomForEveryWord(_ page: String) async throws {
        var environment = ChildProcess.currentEnvironment
        environment["MANWIDTH"] = "80"
        let process = try ChildProcess(
            "man", ["--warnings", "--local-file", Project.path("docs/\(page)")], environment: environment,
            capturing: [1, 2])
        #expect(await process.allLines(of: 2) == [])
        #expect((await process.allLines(of: 1) ?? []).map(ManualPage.printed).contains("NAME"))
        #expect(await process.waitForExit() == .code(0))
    }

    /// mdoc(7) takes words such as “No” and “At” as macros, also within a line that begins with a macro. The linter
    /// does not see it.
    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/mandoc"), "mandoc is not installed"),
        arguments: Self.pages)
    func noHeadingLosesAWord(_ name: String) async throws {
        let page = try ManualPage("docs/\(name)")
        let process = try ChildProcess(
            "mandoc", ["-T", "utf8", "-O", "width=1000", Project.path("docs/\(name)")],
            environment: ChildProcess.currentEnvironment, capturing: [1])
        let rendered = (await process.allLines(of: 1) ?? []).map(ManualPage.printed)
        for sentence in page.sentences {
            // A short heading is on the same line as its text.
            let isPrinted = rendered.contains { $0.hasPrefix(sentence) }
            #expect(isPrinted, "mandoc does not print all of “\(sentence)”: write \\& before a macro’s name")
        }
        #expect(page.swallowed == [], "these are words, but mandoc takes them as macros: write \\& before them")
    }

    // MARK: notifyctl(1) and notifyd(8)

    @Test func everyCommandAndOptionOfNotifyctlIsExplained() async throws {
        let page = try ManualPage("docs/notifyctl.1")
        let commands = try await CommandInfo.of(BuiltPrograms.notifyctl).commands
        let common = options(of: page, under: "OPTIONS")
        for (name, command) in commands where name != "help" {
            #expect(page.headings.contains(name), "notifyctl(1) says nothing of “\(name)”")
            #expect(
                options(of: page, under: name) == command.options.subtracting(common),
                "notifyctl(1) and “notifyctl \(name)” do not agree on its options")
        }
        let chapters = ["PUBLISHING", "LISTENING AND CLAIMING", "LOOKING BACK", "CONTROL", "LINKING DEVICES"]
        let explained = page.headings.drop { $0 != chapters[0] }.prefix { $0 != "JSON OUTPUT" }
        for name in explained where !chapters.contains(name) {
            // A command may have others below it.
            let isCommand = commands[name] != nil || commands.keys.contains { $0.hasPrefix(name + " ") }
            #expect(isCommand, "there is no command “\(name)”")
        }
    }

    @Test func everyOptionOfNotifydIsExplained() async throws {
        let page = try ManualPage("docs/notifyd.8")
        #expect(options(of: page, under: "DESCRIPTION") == (try await CommandInfo.of(BuiltPrograms.notifyd).options))
    }

    private func options(of page: ManualPage, under heading: String) -> Set<String> {
        Set(page.items.filter { $0.heading == heading }.flatMap(\.options))
    }

    // MARK: notifyd.toml(5)

    @Test func everyKeyOfTheConfigurationIsExplained() throws {
        let page = try ManualPage("docs/notifyd.toml.5")
        let keys = AcceptedKeys()
        let tables = try keys.of("").map { keys.header(of: $0) } + ["[[route.actions]]"]
        #expect(Set(page.headings.filter { $0.hasPrefix("[") }) == Set(tables))
        for table in tables {
            let items = page.items.filter { $0.heading == table && $0.macro == "Va" }
            let explained = items.compactMap { $0.text.split(separator: " ").first }.map(String.init)
            #expect(explained.sorted() == (try keys.of(table)), "notifyd.toml(5) is not right about \(table)")
        }
    }

    @Test func everyKeyOfTheConfigurationIsInTheExample() throws {
        let example = try Project.text("systemd/config.toml")
        let keys = AcceptedKeys()
        for table in try keys.of("").map({ keys.header(of: $0) }) + ["[[route.actions]]"] {
            #expect(example.contains(table))
            for key in try keys.of(table) {
                let isShown = example.contains("\(key) = ") || example.contains("[[route.\(key)]]")
                #expect(isShown, "config.toml says nothing of \(key) in \(table)")
            }
        }
    }

    @Test func theConfigurationsInTheManualAreGood() throws {
        let examples = try ManualPage("docs/notifyd.toml.5").examples.filter { !$0.hasPrefix("$ ") }
        let start = try #require(examples.firstIndex(of: "[defaults]"))
        for text in [examples[..<start], examples[start...]] {
            var reader = ConfigurationReader()
            reader.add(file: "notifyd.toml(5)", text: text.joined(separator: "\n"))
            _ = try reader.finish()
        }
        #expect(examples[..<start].joined(separator: "\n") == builtInRoutes)
    }

    @Test func theRulesForTabsInTheManualAreGood() throws {
        let text = try ManualPage("docs/notifyd-browser.toml.5").examples.filter { !$0.hasPrefix("<") }.joined(
            separator: "\n")
        let rules = try TabRules.read(file: "notifyd-browser.toml(5)", text: text)
        #expect(rules.sites.count == 2 && rules.pages.count == 1)
    }

    @Test func everyKeyOfARuleForTabsIsExplained() throws {
        let page = try ManualPage("docs/notifyd-browser.toml.5")
        for (table, keys) in ["[[site]]": ["address", "topic", "state"], "[[page]]": ["origin", "topics", "state"]] {
            let error = #expect(throws: ConfigurationError.self) {
                try TabRules.read(file: "browser.toml", text: table + "\nstranger = 1")
            }
            #expect(error?.description.contains(keys.sorted().joined(separator: ", ")) == true)
            let explained = page.items.filter { $0.heading == #"\&"# + table && $0.macro == "Li" }.map(\.text)
            #expect(explained == keys)
        }
    }

    /// Without the comments and the empty lines.
    private var builtInRoutes: String {
        BuiltInRoutes.text.split(separator: "\n").filter { !$0.hasPrefix("#") }.joined(separator: "\n")
    }

    // MARK: org.notifyd.Router1(5)

    @Test func everyMemberOfTheInterfaceIsExplained() throws {
        let page = try ManualPage("docs/org.notifyd.Router1.5")
        let explained = page.items.filter { ["Fn", "Va"].contains($0.macro) }.map { "\($0.macro) \($0.text)" }
        #expect(explained.sorted() == InterfaceMember.all(in: try Project.text("systemd/org.notifyd.Router1.xml")))
    }

    @Test func everyErrorIsExplained() throws {
        let names = try Project.text("Sources/Daemon/NotifyDaemon/Bus/RouterInterface.swift")
            .matches(of: /self\.init\(own: "(\w+)"/).map { String($0.1) }
        let explained = try ManualPage("docs/org.notifyd.Router1.5").items.filter { $0.macro == "Er" }.map(\.text)
        #expect(explained.sorted() == names.sorted())
    }
}

/// The keys that the configuration's reader accepts, as it says itself when it meets one that it does not.
struct AcceptedKeys {
    private static let stranger = "a_key_that_nobody_knows"
    /// What a table needs before its other keys are looked at.
    private static let required = [
        "[[policy]]": "allow = [\"claim\"]\n",
        "[[quiet]]": "from = \"22:00\"\nto = \"07:00\"\n",
        "[[route]]": "topic = \"/a\"\n",
        "[[route.actions]]": "key = \"a\"\nlabel = \"A\"\n",
    ]

    /// The keys of a table, by its header; of the file itself, if that is empty.
    func of(_ header: String) throws -> [String] {
        let parent = header == "[[route.actions]]" ? "[[route]]\n" + Self.required["[[route]]"]! : ""
        let text = parent + header + "\n" + Self.required[header, default: ""] + Self.stranger + " = 1\n"
        let reason = try #require(complaint(about: text), "\(header) takes any key")
        let list = try #require(reason.firstRange(of: "the keys are "), "\(header): \(reason)")
        return reason[list.upperBound...].split(separator: ", ").map(String.init)
    }

    /// `[defaults]`, `[[route]]`.
    func header(of key: String) -> String {
        complaint(about: "[\(key)]\n")?.contains("a list of tables") == true ? "[[\(key)]]" : "[\(key)]"
    }

    private func complaint(about text: String) -> String? {
        do throws(ConfigurationError) {
            var reader = ConfigurationReader()
            reader.add(file: "test", text: text)
            _ = try reader.finish()
            return nil
        } catch {
            return error.mistakes.first?.reason
        }
    }
}

/// The members of our interface, each as the manual page writes the beginning of its item.
enum InterfaceMember {
    static func all(in xml: String) -> [String] {
        let callables = xml.matches(of: /<(method|signal) name="(\w+)">(.*?)<\/\1>/.dotMatchesNewlines()).map { match in
            let arguments = match.3.matches(of: /<arg name="(\w+)" type="([^"]+)"( direction="out")?/)
            let given = arguments.filter { $0.3 == nil }.map { " \"\($0.2) \($0.1)\"" }.joined()
            let returned = arguments.filter { $0.3 != nil }.map { " \"\($0.2) \($0.1)\"" }.joined()
            return "Fn \(match.2)\(given)" + (returned.isEmpty ? "" : " No \\(-> Fa" + returned)
        }
        let properties = xml.matches(of: /<property name="(\w+)" type="([^"]+)" access="(\w+)"/).map { match in
            "Va \(match.1) No (\(match.2), \(match.3 == "readwrite" ? "read and write" : "read"))"
        }
        return (callables + properties).sorted()
    }
}
