import ArgumentParser
import NotifyClient
import Testing

@testable import notifyctl

struct CommandLineTests {
    @Test(arguments: [
        ("100ms", Duration.milliseconds(100)), ("5s", .seconds(5)), ("1500ms", .milliseconds(1500)),
        ("10m", .seconds(600)), ("2h", .seconds(7200)), ("250us", .microseconds(250)), ("0s", .zero), ("0", .zero),
        ("1d", .seconds(86400)),
    ])
    func timesAreWrittenWithTheirUnit(_ text: String, _ duration: Duration) throws {
        #expect(try DurationArgument.parse(text).duration == duration)
    }

    @Test(arguments: ["", "5", "s", "-5s", "5 s", "5y", "1e9s", "1.5s", "nan", "infs", "99999d", "1..5s", "٣s"])
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
        ["send", "/a", "--ttl", "1s"], ["send", "/a", "--ttl", "2000ms"], ["screen", "/a", "--lease", "0"],
        ["mute", "/a", "0"], ["pause", "10m"],
    ])
    func wholeSecondsAreTaken(_ arguments: [String]) throws {
        _ = try NotifyctlCommand.parseAsRoot(arguments)
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
        ["mate-finished", "--session", "r1"], ["27"], ["/a", "t", "b", "more"], ["/a", "--mate", "x"],
        ["/a", "-f", "a=1", "-f", "a=2"], ["/a", "-j", "--json=short"], ["/a", "--timeout", "5"],
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
        #expect(JSON.object([("a", .bool(true))]).text(pretty: true) == "{\n  \"a\": true\n}")
    }

    @Test func valuesBecomeJSONByTheirMeaning() {
        let value = Value.variants([
            "b": .dictionary([.uint32(1): .double(0.5)], keys: .uint32, values: .double), "a": .byte(7),
        ])
        #expect(JSON(value).text(pretty: false) == #"{"a":7,"b":{"1":0.5}}"#)
        #expect(JSON(.double(.infinity)).text(pretty: false) == "null")
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
