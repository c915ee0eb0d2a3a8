import Testing

@testable import NotifyText
@testable import Routing

@Suite struct TopicTests {
    @Test(arguments: [
        "/post/27", "/a", "/run/r1/mate/영희/finished", "/run/r1/mate/🏃‍♀️", "/with space/and.dots-_~",
        "/a//b".replacing("//", with: "/"),
        "/" + String(repeating: "x", count: 64), String(repeating: "/a", count: 16),
        "/" + Array(repeating: String(repeating: "x", count: 63), count: 3).joined(separator: "/") + "/"
            + String(repeating: "y", count: 62),
    ])
    func isATopicAndStaysAsItWasWritten(_ text: String) throws {
        #expect(try Topic(text).description == text)
    }

    @Test(arguments: [
        ("", 0, "the topic is empty"),
        ("post/27", 0, "the topic does not start with '/'"),
        ("/", 0, "'/' alone names every topic, not one"),
        ("/post/", 5, "the topic ends with '/'"),
        ("//post", 1, "a segment is empty"),
        ("/post//27", 6, "a segment is empty"),
        ("//", 1, "the topic ends with '/'"),
        ("/post/2'7", 7, "a topic may not have the character '"),
        ("/post/2\\7", 7, "a topic may not have the character \\"),
        ("/post/*", 6, "a topic may not have the character *"),
        ("/post/{id}", 6, "a topic may not have the character {"),
        ("/post/id}", 8, "a topic may not have the character }"),
        ("/post/\n", 6, "a topic may not have a control character"),
        ("/post/2\u{7f}", 7, "a topic may not have a control character"),
        ("/post/\u{85}", 6, "a topic may not have a control character"),
        ("/영희/\u{0}", 8, "a topic may not have a control character"),
    ])
    func saysWhatIsWrongAndWhere(_ text: String, offset: Int, reason: String) {
        #expect(throws: TopicError(reason, offset: offset)) { try Topic(text) }
    }

    @Test func segmentsAreLimitedInBytes() {
        let name = String(repeating: "희", count: 22)
        #expect(throws: TopicError("a segment has 66 bytes, 64 are allowed", offset: 5)) {
            try Topic("/run/" + name)
        }
        #expect(throws: TopicError("the topic has more than 16 segments", offset: 33)) {
            try Topic(String(repeating: "/a", count: 17))
        }
        #expect(throws: TopicError("the topic has 256 bytes, 255 are allowed", offset: 255)) {
            try Topic(String(repeating: "/" + String(repeating: "x", count: 63), count: 4))
        }
    }

    @Test func segmentsAreWhatStandsBetweenTheSlashes() throws {
        #expect(try Topic("/run/r1/mate/영희").segments == ["run", "r1", "mate", "영희"])
    }

    /// To Swift the slash and the accent are one character; to the bus the topic has two segments.
    @Test func aCombiningAccentDoesNotHideASlash() throws {
        let topic = try Topic("/post/\u{301}27")
        #expect(topic.segments.count == 2)
        #expect(try TopicPattern("/post/{id}").captures(of: topic)?.map(\.value) == ["\u{301}27"])
    }

    @Test func topicsAreComparedByteByByte() throws {
        let composed = try Topic("/mate/\u{e9}")
        let decomposed = try Topic("/mate/e\u{301}")
        #expect(composed != decomposed)
        #expect(!TopicPrefix(decomposed).covers(composed))
    }

    @Test func atOrBelowGoesBySegments() throws {
        let post = try Topic("/post/27")
        #expect(try TopicPrefix(post).covers(Topic("/post/27")))
        #expect(try TopicPrefix(post).covers(Topic("/post/27/comment/1")))
        #expect(try !TopicPrefix(post).covers(Topic("/post/271")))
        #expect(try !TopicPrefix(post).covers(Topic("/post")))
    }
}

@Suite struct TopicPatternTests {
    @Test func capturesStandForOneSegmentEach() throws {
        let pattern = try TopicPattern("/run/{session}/mate/{mate}")
        #expect(pattern.captureNames == ["session", "mate"])
        #expect(pattern.description == "/run/{session}/mate/{mate}")
        let captures = try pattern.captures(of: Topic("/run/r1/mate/영희"))
        #expect(captures?.map(\.name) == ["session", "mate"])
        #expect(captures?.map(\.value) == ["r1", "영희"])
    }

    @Test(arguments: ["/run/r1/mate", "/run/r1/mate/영희/finished", "/post/r1/mate/영희"])
    func otherTopicsDoNotMatch(_ topic: String) throws {
        #expect(try TopicPattern("/run/{session}/mate/{mate}").captures(of: Topic(topic)) == nil)
    }

    @Test(arguments: [
        ("/run/{}", 5), ("/run/{1a}", 5), ("/run/x{a}", 5), ("/run/{a}x", 5), ("/run/{a", 5), ("/run/{영}", 5),
        ("/run/{a b}", 5), ("/{a}/{a}", 5), ("run", 0), ("/run/*", 5), ("", 0),
    ])
    func saysWhereAPatternIsWrong(_ text: String, offset: Int) {
        let error = #expect(throws: TopicError.self) { try TopicPattern(text) }
        #expect(error?.offset == offset)
    }

    @Test func theLastSegmentOfARouteMayStandForEverythingBelow() throws {
        let pattern = try TopicPattern("/house/{floor}/alarm/**", allowsBelow: true)
        #expect(pattern.description == "/house/{floor}/alarm/**" && pattern.captureNames == ["floor"])
        for topic in ["/house/1/alarm", "/house/1/alarm/kitchen", "/house/1/alarm/kitchen/smoke"] {
            #expect(try pattern.captures(of: Topic(topic))?.map(\.value) == ["1"])
        }
        for topic in ["/house/1", "/house/1/alarms", "/house/1/door/alarm"] {
            #expect(try pattern.captures(of: Topic(topic)) == nil)
        }
        #expect(try TopicPattern("/**", allowsBelow: true).captures(of: Topic("/a/b"))?.isEmpty == true)
    }

    @Test(arguments: [
        ("/build/*", 7, "/build/{name} is one segment below /build, and /build/** everything at or below it"),
        ("/*", 1, "/{name} is one segment below /, and /** everything at or below it"),
        ("/build/**/x", 7, "/build/** everything at or below it"), ("/build/x**", 8, "/build/** everything"),
        ("/build/{no name}", 7, "'{no name}' is not a capture"), ("/build/{id", 7, "and /build/** everything"),
    ])
    func theErrorSaysWhatStandsForMoreThanOneTopic(_ text: String, offset: Int, words: String) {
        let error = #expect(throws: TopicError.self) { try TopicPattern(text, allowsBelow: true) }
        #expect(error?.offset == offset && error?.reason.contains(words) == true, "\(error?.reason ?? "")")
    }

    @Test func whatIsNoRouteNamesOneTopic() {
        #expect(throws: TopicError.self) { try TopicPattern("/alarm/**") }
    }
}

@Suite struct RouteTableTests {
    private func table(_ patterns: String...) throws -> RouteTable {
        var table = RouteTable(fallback: Route(pattern: nil, window: .milliseconds(100)))
        for pattern in patterns {
            table.add(Route(pattern: try TopicPattern(pattern, allowsBelow: true), window: .milliseconds(100)))
        }
        return table
    }

    @Test func aTopicThatNothingMatchesGetsTheDefaultRoute() throws {
        let table = try table("/post/{id}")
        #expect(table.route(for: try Topic("/post")).name == "default")
        #expect(table.route(for: try Topic("/post/27/comment")).name == "default")
    }

    @Test func aLiteralBeatsACapture() throws {
        for table in [try table("/post/{id}", "/post/27"), try table("/post/27", "/post/{id}")] {
            #expect(table.route(for: try Topic("/post/27")).name == "/post/27")
            #expect(table.route(for: try Topic("/post/28")).name == "/post/{id}")
        }
    }

    @Test func theLeftmostLiteralCountsMost() throws {
        let table = try table("/{a}/b/c", "/x/{b}/{c}")
        #expect(table.route(for: try Topic("/x/b/c")).name == "/x/{b}/{c}")
        #expect(table.route(for: try Topic("/y/b/c")).name == "/{a}/b/c")
    }

    @Test func aLiteralThatLeadsNowhereIsGivenUp() throws {
        let table = try table("/run/r1/invite", "/run/{session}/cancelled", "/{any}/{session}/{what}")
        #expect(table.route(for: try Topic("/run/r1/cancelled")).name == "/run/{session}/cancelled")
        #expect(table.route(for: try Topic("/run/r1/other")).name == "/{any}/{session}/{what}")
    }

    @Test func theSamePatternReplacesWhateverItsCapturesAreCalled() throws {
        var table = try table("/post/{id}", "/run/{session}")
        let replaced = table.add(Route(pattern: try TopicPattern("/post/{number}"), banner: false, window: .zero))
        #expect(replaced?.name == "/post/{id}")
        #expect(table.routes.map(\.name) == ["/run/{session}", "/post/{number}"])
        #expect(table.route(for: try Topic("/post/27")).banner == false)
    }

    @Test func aRouteForWhatIsBelowIsLessSpecificThanOneThatNamesMore() throws {
        let table = try table(
            "/alarm/**", "/alarm/kitchen/**", "/alarm/{room}/smoke", "/{what}", "/{what}/bath", "/alarm/door", "/**")
        for (topic, route) in [
            ("/alarm", "/alarm/**"), ("/alarm/hall", "/alarm/**"), ("/alarm/hall/heat", "/alarm/**"),
            ("/alarm/door", "/alarm/door"), ("/alarm/door/open", "/alarm/**"), ("/alarm/bath", "/{what}/bath"),
            ("/alarm/kitchen", "/alarm/kitchen/**"), ("/alarm/kitchen/heat/1", "/alarm/kitchen/**"),
            ("/alarm/kitchen/smoke", "/alarm/{room}/smoke"), ("/alarms", "/{what}"), ("/post/1", "/**"),
        ] {
            #expect(table.route(for: try Topic(topic)).name == route, "\(topic)")
        }
    }

    @Test func theTopicItselfIsMoreSpecificThanItAndWhatIsBelow() throws {
        for table in [try table("/alarm/**", "/alarm"), try table("/alarm", "/alarm/**")] {
            #expect(table.routes.count == 2)
            #expect(table.route(for: try Topic("/alarm")).name == "/alarm")
            #expect(table.route(for: try Topic("/alarm/kitchen")).name == "/alarm/**")
            #expect(table.route(named: "/alarm/**", for: try Topic("/alarm")).name == "/alarm/**")
        }
    }

    @Test func literalsMayBeKorean() throws {
        let table = try table("/mate/영희", "/mate/{mate}")
        #expect(table.route(for: try Topic("/mate/영희")).name == "/mate/영희")
        #expect(table.route(for: try Topic("/mate/민준")).name == "/mate/{mate}")
    }

    @Test func maximumWindowIsFiveWindows() {
        #expect(Route(pattern: nil, window: .milliseconds(80)).maximumWindow == .milliseconds(400))
    }

    @Test(arguments: [
        (Route.FieldType.string, FieldValue.string("x"), true), (.string, .objectPath("/x"), false),
        (.integer, .byte(1), true), (.integer, .uint64(.max), true), (.integer, .double(1), false),
        (.number, .double(1), true), (.number, .int16(-1), true), (.number, .string("1"), false),
        (.boolean, .boolean(false), true), (.boolean, .int32(0), false),
    ])
    func requiredFieldsAdmitTheirType(_ type: Route.FieldType, value: FieldValue, admits: Bool) {
        #expect(type.admits(value) == admits)
    }
}
