import NotifyText
import Testing

@testable import Routing

/// Two texts are one when their bytes are. To a `String`, those here are equal.
@Suite struct ByteEqualityTests {
    /// “é” as one scalar and as two, “Å” and the Ångström sign, “K” and the Kelvin sign.
    private static let pairs = [("caf\u{E9}", "cafe\u{301}"), ("\u{C5}", "\u{212B}"), ("K", "\u{212A}")]

    private static let now = Now(instant: Instant(microseconds: 1), uptime: Uptime(microseconds: 1))

    private func router(_ routes: Route...) -> Router {
        var table = RouteTable(fallback: Route(pattern: nil, window: .milliseconds(100)))
        for route in routes { table.add(route) }
        return Router(routes: table, firstID: EventID(1))
    }

    private func answer(
        _ router: inout Router, at topic: String, fields: [Field] = [], origin: Origin = Origin()
    ) throws -> Result<Reply, Refusal> {
        var publication = Publication(topic: try Topic(topic), title: "", body: "", fields: fields, sender: ":1.1")
        publication.options.origin = origin
        return router.handle(.published(publication), at: Self.now).reply
    }

    @Test(arguments: pairs) func twoSpellingsOfASourceOrAnEventIDNameTwoEvents(_ one: String, _ other: String) throws {
        #expect(one == other)
        var router = router()
        #expect(
            try answer(&router, at: "/a", origin: Origin(source: one, eventID: "1")) == .success(.accepted(EventID(1))))
        #expect(
            try answer(&router, at: "/a", origin: Origin(source: other, eventID: "1"))
                == .success(.accepted(EventID(2))))
        #expect(
            try answer(&router, at: "/a", origin: Origin(source: "s", eventID: one)) == .success(.accepted(EventID(3))))
        #expect(
            try answer(&router, at: "/a", origin: Origin(source: "s", eventID: other))
                == .success(.accepted(EventID(4))))
        #expect(
            try answer(&router, at: "/a", origin: Origin(source: "s", eventID: other))
                == .success(.accepted(EventID(4))))
    }

    @Test(arguments: pairs) func aRequiredFieldIsNotMetByItsOtherSpelling(_ one: String, _ other: String) throws {
        var router = router(
            Route(pattern: try TopicPattern("/a"), window: .zero, required: [(name: one, type: .string)]))
        let answer = try answer(&router, at: "/a", fields: [Field(name: other, value: .string("x"))])
        guard case .failure(.invalidEvent) = answer else {
            Issue.record("the field is not there, and the answer is \(answer)")
            return
        }
        #expect(
            try self.answer(&router, at: "/a", fields: [Field(name: one, value: .string("x"))])
                == .success(.accepted(EventID(1))))
    }

    @Test(arguments: pairs) func twoSpellingsAreTwoRoutesWithWindowsOfTheirOwn(_ one: String, _ other: String) throws {
        var router = router(
            Route(pattern: try TopicPattern("/\(one)/{x}"), window: .seconds(1), coalescing: .route),
            Route(pattern: try TopicPattern("/\(other)/{x}"), window: .seconds(1), coalescing: .route))
        _ = try answer(&router, at: "/\(one)/1")
        _ = try answer(&router, at: "/\(other)/1")
        #expect(router.openWindows == 2)
        #expect(try TopicPattern("/\(one)") != TopicPattern("/\(other)"))
    }

    /// Else one could write as many topics with the same hash as one likes, and every table would become a list.
    @Test(arguments: pairs) func twoSpellingsOfATopicHashDifferently(_ one: String, _ other: String) throws {
        #expect(try Topic("/\(one)").hashValue != Topic("/\(other)").hashValue)
        #expect(Origin(source: "ab", eventID: "c").hashValue != Origin(source: "a", eventID: "bc").hashValue)
    }

    @Test(arguments: pairs) func valuesAndButtonsAreEqualWhenTheirBytesAre(_ one: String, _ other: String) {
        #expect(FieldValue.string(one) != .string(other))
        #expect(FieldValue.array(of: "s", [.string(one)]) != .array(of: "s", [.string(other)]))
        #expect(Field(name: one, value: .byte(1)) != Field(name: other, value: .byte(1)))
        #expect(Route.Action(key: one, label: "x") != Route.Action(key: other, label: "x"))
        #expect(
            Route.Action(key: "x", label: "x", command: [one]) != Route.Action(key: "x", label: "x", command: [other]))
        #expect(FieldValue.string(one) == .string(String(decoding: Array(one.utf8), as: UTF8.self)))
    }

    @Test func textsAreSortedByTheirBytes() {
        #expect(["\u{E9}".bytes, "z", "e\u{301}", "Z"].sorted() == ["Z", "e\u{301}", "z", "\u{E9}"])
    }
}
