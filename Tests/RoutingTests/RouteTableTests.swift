import Testing

@testable import Routing

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
