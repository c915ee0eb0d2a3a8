import ArgumentParser
import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import NotifyText
import Testing

@testable import notifyctl

struct CommandLineTests {
    private let bus: PrivateBus! = Fixture.current()

    @Test(arguments: [
        ("100ms", Duration.milliseconds(100)), ("5s", .seconds(5)), ("1500ms", .milliseconds(1500)),
        ("10m", .seconds(600)), ("2h", .seconds(7200)), ("250us", .microseconds(250)), ("0s", .zero), ("0", .zero),
        ("1d", .seconds(86400)),
    ])
    func timesAreWrittenWithTheirUnit(_ text: String, _ duration: Duration) throws {
        #expect(try DurationArgument.parse(text) == duration)
    }

    @Test(arguments: ["", "5", "s", "-5s", "5 s", "5y", "1e9s", "1.5s", "nan", "infs", "1..5s", "٣s"])
    func whatIsNotATimeIsRefused(_ text: String) {
        let error = #expect(throws: ValidationError.self) { try DurationArgument.parse(text) }
        #expect(error?.message.contains("such as 100ms") == true)
    }

    @Test(arguments: [
        ["send", "/a", "--ttl", "300ms"], ["send", "/a", "--ttl", "1500ms"], ["screen", "/a", "--lease", "300ms"],
        ["mute", "/a", "1us"], ["pause", "999ms"],
    ])
    func aPartOfASecondIsRefusedWhereSecondsAreCounted(_ arguments: [String]) throws {
        let error = try #require(throws: (any Error).self) { _ = try NotifyctlCommand.parseAsRoot(arguments) }
        #expect(NotifyctlCommand.exitCode(for: error).rawValue == 64)
        #expect(
            NotifyctlCommand.message(for: error).contains("is not a number of whole seconds. Write a time such as 1s"))
    }

    @Test(arguments: [
        ["send", "/a", "--ttl", "0"], ["send", "/a", "--ttl", "1s"], ["send", "/a", "--ttl", "2000ms"],
        ["screen", "/a", "--lease", "0"],
        ["mute", "/a", "0"], ["pause", "10m"],
    ])
    func wholeSecondsAreTaken(_ arguments: [String]) throws {
        _ = try NotifyctlCommand.parseAsRoot(arguments)
    }

    @Test(arguments: [
        ["send", "/a", "--window", "500us"], ["send", "/a", "--window", "1500us"], ["send", "/a", "--show-for", "1us"],
        ["claim-topic", "/a", "--grace", "500us"], ["listen", "--claim", "--exec", "true", "--within", "1500us"],
    ])
    func aPartOfAMillisecondIsRefusedWhereMillisecondsAreCounted(_ arguments: [String]) {
        let error = usageError(arguments)
        #expect(error.contains("is not a number of whole milliseconds. Write a time such as 1ms"), "\(error)")
    }

    @Test(arguments: [
        (["send", "/a", "--window", "61s"], "at most 1m"), (["send", "/a", "--ttl", "29d"], "at most 28d"),
        (["send", "/a", "--show-for", "25h"], "at most 1d"),
        (["claim-topic", "/a", "--grace", "11s"], "at most 10s"),
        (["listen", "--claim", "--exec", "true", "--within", "11m"], "at most 10m"),
        (["listen", "--claim", "--exec", "true", "--within", "0"], "at least 1ms"),
        (["replay", "--window", "61s"], "at most 1m"),
        (["send", "/a", "--wait", "--timeout", "400d"], "400d” is too long: at most 366d."),
        (["listen", "--timeout", "400d"], "400d” is too long: at most 366d."),
        (["watch", "/", "--timeout", "400d"], "400d” is too long: at most 366d."),
        (["screen", "/a", "--lease", "400d"], "400d” is too long: at most 366d."),
        (["mute", "/a", "400d"], "400d” is too long: at most 366d."),
        (["pause", "400d"], "400d” is too long: at most 366d."),
        (["replay", "--since", "400d"], "400d” is too long: at most 366d."),
        (["forget", "/", "--before", "400d"], "400d” is too long: at most 366d."),
    ])
    func aTimeOutOfItsRangeIsAUsageErrorOfEveryCommand(_ arguments: [String], _ words: String) {
        let error = usageError(arguments)
        #expect(error.contains(words), "\(error)")
    }

    @Test func everyOptionThatTakesATimeHasARange() throws {
        // Those of the test above, and the one that begins a list.
        let known: Set = [
            "--window", "--ttl", "--show-for", "--grace", "--within", "--timeout", "--lease", "--since", "--before",
        ]
        for command in NotifyctlCommand.configuration.subcommands {
            let help = command.helpMessage(columns: 500)
            for line in help.split(separator: "\n") where line.hasPrefix("  --") {
                guard line.contains("How long") || line.contains("for this long") || line.contains("after this long")
                else {
                    continue
                }
                let name = String(line.dropFirst(2).prefix { $0 != " " })
                #expect(known.contains(name), "\(command.configuration.commandName ?? "") \(name)")
            }
        }
    }

    @Test(arguments: [
        (["history", "-n", "-1"], "“-1” is not a number of at least 0."),
        (["listen", "-n", "-1"], "“-1” is not a number of at least 1."), (["watch", "/", "-n", "0"], "of at least 1."),
        (["top", "-n-1"], "of at least 1."), (["history", "-n", "many"], "“many” is not a number of at least 0."),
        (["history", "--after", "-5"], "“-5” is not the id of an event."),
        (["listen", "--since", "x"], "neither the id"),
        (["mark-read", "/", "--up-to", "-3"], "neither the id"), (["claim", "first"], "neither the id"),
        (["snooze", "post", "1h"], "“post” is neither the id of an event, nor “last”, nor a topic such as /post/27"),
        (["mark-read", "/", "--up-to", "0"], "“0” is not the id of an event. To mark every event, leave --up-to out."),
        (["show", "first"], "neither the id of an event nor “last”"), (["why", "--", "-5"], "neither the id"),
        (["withdraw", "x"], "neither the id"), (["replay", "--since", "-5m"], "“-5m” is neither an id"),
        (["forget", "/", "--before", "-5m"], "neither an id nor a time"),
        (["mute", "/a", "99999999999999999999d"], "is too long: at most 366d."),
        (["send", "/a", "--ttl", "400d"], "“400d” is too long: at most 28d."),
        (["inbox", "-n", "-1"], "“-1” is not a number of at least 0."),
        (["send", "/a", "--ttl", "-5s"], "not a time"),
        (["send", "/a", "--window", "-5s"], "not a time"), (["send", "/a", "--show-for", "-5s"], "not a time"),
        (["send", "/a", "--wait", "--timeout", "-5s"], "not a time"), (["listen", "--timeout", "-5s"], "not a time"),
        (["listen", "--claim", "--exec", "true", "--within", "-5s"], "not a time"),
        (["watch", "/", "--timeout", "-5s"], "not a time"), (["screen", "/a", "--lease", "-5s"], "not a time"),
        (["claim-topic", "/a", "--grace", "-5s"], "not a time"), (["replay", "--window", "-5s"], "not a time"),
        (["send", "/a", "--progress", "-5"], "“-5” is not a percentage from 0 to 100."),
        (["send", "/a", "--progress", "101"], "not a percentage from 0 to 100."),
        (["send", "/a", "--distance", "5m"], "“5m” is not a whole number of metres of at least 0."),
        (["send", "mate-finished", "--distance", "-3"], "“-3” is not a whole number of metres of at least 0."),
        (["send", "/a", "-f", "n:number=nan"], "“nan” is not a valid number"),
        (["send", "/a", "-f", "n:d=1e400"], "“1e400” is not a valid d"),
        (["send", "/a", "-f", "n:number=-inf"], "“-inf” is not a valid number"),
    ])
    func anInvalidNumberIsRefusedWithWhatIsValid(_ arguments: [String], _ words: String) {
        let error = usageError(arguments)
        #expect(error.contains(words), "\(error)")
    }

    @Test func aPictureIsAFileAndMayBeMissing() throws {
        for name in ["no-such.jpg", "./no-such.jpg"] {
            let missing = try AppearanceArguments.parse(["--image", name])
            let file = String(cString: getcwd(nil, 0)) + "/no-such.jpg"
            #expect(missing.options.image == file)
            #expect(missing.obstacleToImage == "\(file): No such file or directory")
        }
        #expect(try AppearanceArguments.parse(["--image", "/dev/null"]).obstacleToImage == nil)
        #expect(try AppearanceArguments.parse(["--image", "file:///no/such.jpg"]).obstacleToImage == nil)
        #expect(try AppearanceArguments.parse([]).obstacleToImage == nil)
    }

    @Test(.enabled(if: geteuid() == 0 && UserSession.all().isEmpty, "needs root, and that nobody is logged in"))
    func whoeverIsNotLoggedInIsToldInOneWay() async throws {
        let one = try #require(throws: Complaint.self) { try UserSession("nobody").enter() }
        let all = await #expect(throws: Complaint.self) {
            try await AllUsers(arguments: [], input: nil, isJSON: false, patience: .seconds(1)).run()
        }
        #expect(one.code == .notReachable && all?.code == .notReachable)
        #expect(one.lines[0].hasPrefix("nobody has no session bus: there is no /run/user/"))
        #expect(one.lines[0].contains("/bus. It is there while the user is logged in"))
        #expect(one.lines[0].hasSuffix("sudo -u NAME notifyctl send --address unix:path=…"))
        #expect(all?.lines[0].hasPrefix("Nobody has a session bus: there is no /run/user/") == true)
    }

    @Test(arguments: [
        (["history", "-5"], "write -n 5."), (["mute", "/a", "-5m"], "write 5m."), (["claim", "-7"], "write 7."),
        (["send", "/a", "-5"], "goes after “--”"),
        (["send", "/a", "--app", "-5"], "goes after “=”: --app=-5."), (["inbox", "-5"], "write -n 5."),
        (["send", "/a", "-5 °C"], "goes after “--”"), (["snooze", "last", "-10m"], "write 10m."),
        (["pause", "-1h"], "write 1h."), (["send", "/a", "-f", "-5"], "after “=”"),
    ])
    func anArgumentWithAMinusIsExplained(_ arguments: [String], _ words: String) throws {
        let error = try #require(throws: UsageError.self) {
            try UsageError.check(arguments[...])
            try UsageError.check(arguments[...], rejectedWith: parserError(arguments))
        }
        #expect(error.message.contains(words), "\(error.message)")
        #expect(error.fullMessage.contains("\nUsage: notifyctl \(arguments[0]) "))
        #expect(error.fullMessage.hasSuffix("\n  See 'notifyctl \(arguments[0]) --help' for more information."))
    }

    @Test(arguments: [
        ["send", "-5"], ["doctor", "-5"], ["quiet", "-1h"], ["send", "/a", "-5 °C"], ["inbox", "-5"],
        ["mute", "/a", "-5"],
    ])
    func aNumberIsNotAdvisedWhereThereIsNone(_ arguments: [String]) throws {
        let error = try #require(throws: UsageError.self) { try UsageError.check(arguments[...]) }
        #expect(error.message.contains("is taken for an option."))
        #expect(!error.message.contains("are not negative"))
    }

    @Test(arguments: [
        ["claim", "--bogus"], ["send", "--bogus"], ["mute", "/a", "--bogus"], ["mute", "--bogus=5", "/a"],
        ["mark-read", "--up-to", "5", "--bogus"], ["snooze", "--json=short", "--bogus", "last"],
    ])
    func anUnknownOptionIsNotAMissingArgument(_ arguments: [String]) throws {
        let error = try #require(throws: UsageError.self) {
            try UsageError.check(arguments[...], rejectedWith: parserError(arguments))
        }
        #expect(error.message == "Unknown option '--bogus'")
    }

    // MARK: Slips

    @Test(arguments: [
        (["sned", "/a"], "“sned” is not a command. Did you mean “send”?"), (["statsu"], "Did you mean “status”?"),
        (["config", "chekc"], "Did you mean “check”?"), (["link", "pare"], "Did you mean “pair”?"),
        (["help", "sned"], "Did you mean “send”?"), (["to"], "Did you mean “top”?"),
        (["nonsense"], "“nonsense” is not a command. “notifyctl help” lists them."),
        (["x"], "“notifyctl help” lists them."),
        (["config", "nonsense"], "“notifyctl help config” lists them."),
        (["--address", "X", "status"], "'--address' goes after the command: notifyctl status --address X"),
        (["-j", "config", "check", "a.toml"], "'-j' goes after the command: notifyctl config check -j a.toml"),
        (["--json=short", "history", "-n", "1"], "notifyctl history --json=short -n 1"),
    ])
    func aSlipIsToldWhatWasMeant(_ arguments: [String], _ words: String) throws {
        let error = try #require(throws: ValidationError.self) { try NotifyctlCommand.checkCommand(arguments[...]) }
        #expect(error.message.contains(words), "\(error.message)")
    }

    @Test(arguments: [
        ["--help"], ["--help", "send"], ["-h", "send"], ["--version"], ["--nonsense", "send"],
        ["---completion", "send", "--", "--address"], ["send", "/a", "--address", "X"], [],
    ])
    func whatIsNotASlipIsLeftToTheParser(_ arguments: [String]) throws {
        try NotifyctlCommand.checkCommand(arguments[...])
    }

    @Test(arguments: [
        ["mute", "run", "1h"], ["resume", "run"], ["listen", "run"], ["watch", "run"], ["screen", "run"],
        ["inbox", "run"],
        ["history", "run"], ["mark-read", "run"], ["claim-topic", "run"], ["send", "run"], ["focus", "--learn", "run"],
        ["push-endpoint", "create", "x", "--topic", "run"],
    ])
    func aTopicWithoutItsSlashIsRefusedInOneWording(_ arguments: [String]) async throws {
        let error = try await withPrivateBus { bus in
            let router = try await StandInRouter.start(on: bus.address)
            defer { withExtendedLifetime(router) {} }
            return await #expect(throws: NotifyError.self) {
                let command = try NotifyctlCommand.parseAsRoot(arguments + ["--address", bus.address])
                guard var command = command as? any AsyncParsableCommand else { return }
                try await command.run()
            }
        }
        let words = "“run” is not a topic: it does not start with '/'. A topic looks like /post/27."
        #expect(error?.advice.hasPrefix(words) == true, "\(error?.advice ?? "none")")
        #expect(error?.exitCode == .badData)
    }

    @Test func theDaemonsRefusalsAreToldWithoutTheirNames() {
        #expect(error("InvalidTopic").advice == "No.")
        #expect(!error("UnknownEvent").advice.contains("org.notifyd"))
        let foreign = NotifyError(.refused, "No.", name: "org.example.Broken")
        #expect(foreign.advice == "No. (org.example.Broken)")
    }

    @Test func aBusThatIsNotThereIsToldWithHowToNameOne() {
        for error in [NotifyError.noSessionBus, NotifyError(.notReachable, "No.")] {
            #expect(error.advice.contains("with --address unix:path=…"))
            #expect(error.advice.contains("--user NAME") == (geteuid() == 0))
        }
        #expect(NotifyError.noSessionBus.message.contains("set DBUS_SESSION_BUS_ADDRESS"))
    }

    @Test(.privateBus) func theErrorTellsWhoHasKeptTheAddressOfAnotherBusWhichIsTheirOwn() async throws {
        let folder = String(bus.address.dropFirst("unix:path=".count).dropLast("/bus".count))
        var environment = ["XDG_RUNTIME_DIR": folder]
        let advice = { NotifyError.busAdvice { environment[$0] } }
        #expect(!advice().contains("yours"))
        environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/run/user/4711/bus"
        #expect(advice().contains("DBUS_SESSION_BUS_ADDRESS does not name yours: --address \(bus.address)."))
        let foreign = try TemporaryFolder()
        defer { foreign.remove() }
        guard geteuid() == 0 else { return }
        try foreign.write("", to: "bus")
        chown("\(foreign.path)/bus", 4711, 4711)
        environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=\(foreign.path)/bus"
        #expect(advice().contains("belongs to user 4711, and its bus takes nobody else, such as user 0."))
    }

    // MARK: Until

    @Test(arguments: [
        (["pause", "until", "9:00"], ["pause", "9:00"]), (["mute", "/a", "until", "9:00"], ["mute", "/a", "9:00"]),
        (["snooze", "last", "until", "18:30", "-j"], ["snooze", "last", "18:30", "-j"]),
        (["pause", "until"], ["pause", "until"]), (["send", "/a", "until", "9:00"], ["send", "/a", "until", "9:00"]),
    ])
    func untilIsAWordOfTheCommandsWithATime(_ arguments: [String], _ taken: [String]) {
        #expect(Array(NotifyctlCommand.withoutUntil(arguments[...])) == taken)
    }

    @Test func untilATimeOfTheDayIsUntilTheClockShowsItNext() throws {
        // 08:59:30 by the local clock.
        guard case .time(let now) = try MomentArgument.parse("2026-05-03 08:59:30") else { return }
        func duration(_ text: String, atLeast least: Duration = .zero) throws -> Duration {
            try DurationArgument.parseEnd(least...(.seconds(7 * 86400)), now: { now })(text)
        }
        #expect(try duration("9:00") == .seconds(30) && duration("09:00") == .seconds(30))
        #expect(try duration("8:59") == .seconds(86400 - 30) && duration("18:30") == .seconds(9 * 3600 + 30 * 60 + 30))
        #expect(try duration("10m") == .seconds(600))
        for text in ["24:00", "9:60", "9:0", "9", ":", "9:00:00", "until"] {
            #expect(throws: ValidationError.self) { try duration(text) }
        }
        let soon = #expect(throws: ValidationError.self) { try duration("9:00", atLeast: .seconds(60)) }
        #expect(soon?.message == "“9:00” is too soon: at least 1m from now.")
    }

    @Test func theCommandsThatTakeNumbersAndTextsExist() {
        let names = Set(NotifyctlCommand.configuration.subcommands.compactMap { $0.configuration.commandName })
        #expect(UsageError.commandsOfIDs.isSubset(of: names))
        #expect(UsageError.commandsOfTimes.union(UsageError.commandsOfTexts).isSubset(of: names))
    }

    @Test func aDaemonThatLeftBeforeItAnsweredIsNotSaidToBeAbsent() {
        let error = NotifyError(.notReachable, "It left the bus before it answered.", name: NotifyError.noReply)
        #expect(error.advice.hasPrefix("notifyd ended before it answered."))
        #expect(error.exitCode == .notReachable)
    }

    @Test(arguments: [
        (["send", "invite", "--session", "r1", "--from", ""], "--from takes a name"),
        (["send", "invite", "--session", "r1", "--from", " "], "--from takes a name"),
        (["send", "mate-finished", "--session", "r1", "--mate", " "], "cannot be a mate"),
        (["listen", "--exec", ""], "--exec takes a shell command"),
        (["listen", "--claim", "--exec", "  "], "--exec takes a shell command"),
    ])
    func anEmptyTextIsRefusedWhereItMeansNothing(_ arguments: [String], _ words: String) {
        let error = usageError(arguments)
        #expect(error.contains(words), "\(error)")
    }

    @Test func otherErrorsAreAsTheParserSaysThem() throws {
        for arguments in [["history", "--nonsense"], ["claim"], ["claim", "--", "-5"], ["history", "-n", "-5"]] {
            try UsageError.check(arguments[...])
            try UsageError.check(arguments[...], rejectedWith: parserError(arguments))
        }
    }

    private func parserError(_ arguments: [String]) -> String {
        do {
            _ = try NotifyctlCommand.parseAsRoot(arguments)
            return ""
        } catch {
            return NotifyctlCommand.fullMessage(for: error)
        }
    }

    @Test(arguments: [
        (["send", "/a", "title", "--remove"], "leave out the title"),
        (["send", "/a", "", "body", "--remove"], "leave out the body"),
        (["send", "/a", "-f", "a=b", "--remove"], "leave out -f"),
        (["send", "/a", "--remove", "--wait"], "leave out --wait"),
        (["send", "/a", "--remove", "--ttl", "5s"], "leave out --ttl"),
        (["send", "/a", "--remove", "--icon", "x"], "leave out --icon"),
        (["send", "/a", "--remove", "--no-banner"], "leave out --no-banner"),
        (["send", "/a", "--timeout", "5s"], "give --wait"),
        (["send", "/a", "--no-banner", "--urgency", "low"], "leave out --urgency"),
        (["send", "/a", "--no-banner", "--window", "5s"], "leave out --window"),
        (["send", "/a", "--no-banner", "--action", "a=b"], "leave out --action"),
        (["listen", "--within", "5s"], "--claim and --exec"),
        (["listen", "--exec", "x", "--within", "5s"], "--claim and"),
        (["screen", "/a", "-j", "--", "true"], "leave out -j and --json"),
        (["history", "--export", "-j"], "leave out -n, -j and --json"), (["replay", "--daemon", "x"], "give both"),
        (["forget", "7", "--before", "5"], "belongs to a topic"),
    ])
    func anOptionWithoutAnEffectIsRefused(_ arguments: [String], _ words: String) {
        let error = usageError(arguments)
        #expect(error.contains(words), "\(error)")
    }

    @Test(arguments: [
        ["send", "/a", "--remove", "--source", "a", "--event-id", "b"],
        ["send", "/a", "--no-banner", "--ttl", "5s", "--retain"],
        ["send", "/a", "--wait", "--timeout", "5s"], ["send", "/a", "--app=-5"],
    ])
    func optionsThatHaveAnEffectTogetherAreTaken(_ arguments: [String]) throws {
        _ = try NotifyctlCommand.parseAsRoot(arguments)
    }

    /// The message of an error with the exit code 64.
    private func usageError(_ arguments: [String]) -> String {
        do {
            _ = try NotifyctlCommand.parseAsRoot(arguments)
            return "none"
        } catch {
            #expect(NotifyctlCommand.exitCode(for: error).rawValue == 64)
            return NotifyctlCommand.message(for: error)
        }
    }

    @Test(arguments: ["--source", "--event-id"]) func halfOfANameIsRefused(_ option: String) throws {
        let error = try #require(throws: (any Error).self) {
            _ = try NotifyctlCommand.parseAsRoot(["send", "/a", option, "x"])
        }
        #expect(NotifyctlCommand.exitCode(for: error).rawValue == 64)
        #expect(NotifyctlCommand.message(for: error).contains("both --source and --event-id"))
    }

    @Test func figuresHaveAFittingUnit() {
        #expect(Duration.microseconds(412).displayText == "412 µs")
        #expect(Duration.microseconds(31_449).displayText == "31.4 ms")
        #expect(Duration.milliseconds(2504).displayText == "2.50 s")
        #expect(Duration.seconds(600).displayText == "10 min")
        #expect(Duration.milliseconds(100).shortText == "100 ms")
    }

    @Test(arguments: [
        ("from=Mina", "from", Value.string("Mina")), ("a=b=c", "a", .string("b=c")), ("a=", "a", .string("")),
        ("distance:integer=5000", "distance", .int64(5000)), ("n:q=7", "n", .uint16(7)),
        ("b:boolean=true", "b", .boolean(true)),
        ("n:number=0.5", "n", .double(0.5)), ("a:b:s=x", "a:b", .string("x")),
    ])
    func aFieldIsAStringUnlessItNamesItsType(_ text: String, _ key: String, _ value: Value) throws {
        let field = try FieldArgument.parse(text)
        #expect(field.key == key)
        #expect(field.value == value)
    }

    @Test(arguments: ["", "=", "a", "=b", "a:=b", ":s=b", "a:v=b", "a:q=-1", "a:boolean=maybe", "a:integer=1.5"])
    func whatIsNotAFieldIsRefused(_ text: String) {
        #expect(throws: (any Error).self) { try FieldArgument.parse(text) }
    }

    @Test func shortFormsMakeTheirTopic() async throws {
        #expect(try await request("post", "27").topic == "/post/27")
        #expect(try await request("post", "27", "title", "body").body == "body")
        let invitation = try await request("invite", "--session", "r1", "--from", "Mina")
        #expect(invitation.topic == "/run/r1/invite")
        #expect(invitation.fields == ["from": "Mina"])
        let finish = try await request("mate-finished", "--session", "r1", "--mate", "영희", "--distance", "5000")
        #expect(finish.topic == "/run/r1/mate/영희/finished")
        #expect(finish.fields == ["distance": 5000])
        #expect(try await request("/post/27", "-f", "a=b").fields == ["a": "b"])
    }

    @Test(arguments: [
        ["post"], ["post", ""], ["post", "1/2"], ["invite", "--session", "r1"], ["invite", "--from", "Mina"],
        ["mate-finished", "--session", "r1"], ["/a", "t", "b", "more"], ["/a", "--mate", "x"],
        ["/a", "-f", "a=1", "-f", "a=2"], ["/a", "-f", "a:o=b"], ["/a", "-j", "--json=short"],
        ["/a", "--timeout", "5"],
    ])
    func whatMakesNoSenseIsAUsageError(_ arguments: [String]) async {
        let error = await #expect(throws: (any Error).self) { try await SendCommand.asyncParse(arguments) }
        #expect(error.map { SendCommand.exitCode(for: $0).rawValue } == 64)
    }

    @Test func textFromTheBusCannotSteerTheTerminal() {
        #expect(Terminal.plain("a\u{1b}[2J\nb\u{202e}c\u{9b}영희") == #"a\u{1b}[2J\nb\u{202e}c\u{9b}영희"#)
    }

    @Test func jsonIsEscaped() {
        let value = JSON.object([
            ("a\"b", .string("\u{1}\\\n영\u{9b}")), ("n", .array([.integer(1), .null])), ("e", .object([])),
        ])
        #expect(value.text(pretty: false) == #"{"a\"b":"\u0001\\\n영\u009b","n":[1,null],"e":{}}"#)
        #expect(JSON.object([("a", .boolean(true))]).text(pretty: true) == "{\n  \"a\": true\n}")
    }

    @Test func valuesBecomeJSONByTheirMeaning() {
        let value = Value.variants([
            "b": .dictionary([.uint32(1): .double(0.5)], keys: .uint32, values: .double), "a": .byte(7),
        ])
        #expect(value.json.text(pretty: false) == #"{"a":7,"b":{"1":0.5}}"#)
        #expect(Value.double(.infinity).json.text(pretty: false) == "null")
    }

    @Test func aTimelineDrawsOneCharacterForTenMilliseconds() {
        let lane = Timeline.Lane(
            actor: "window", spans: [(.milliseconds(0), .milliseconds(39), "=")],
            marks: [(.zero, "["), (.milliseconds(39), "]"), (.seconds(9), "x")], note: "note")
        #expect(Timeline(lanes: [lane]).lines().last == "  window  [==]---------------------x  note")
    }

    @Test func failuresHaveTheirExitCodes() {
        #expect(error("InvalidTopic").exitCode == .badData)
        #expect(error("UnknownEvent").exitCode == .nothing)
        #expect(error("AccessDenied").exitCode == .refused)
        #expect(error("StorageUnavailable").exitCode == .refused)
    }

    private func error(_ name: String) -> NotifyError {
        NotifyError(.refused, "No.", name: "org.notifyd.Router1.Error." + name)
    }

    private func request(_ arguments: String...) async throws -> SendCommand.Request {
        try await SendCommand.asyncParse(arguments).request()
    }
}
