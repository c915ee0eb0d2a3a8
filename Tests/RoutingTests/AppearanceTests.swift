import Testing

@testable import Routing

/// What an event says about its banner, beside its route.
@Suite struct AppearanceTests {
    private static func texts(_ texts: String...) -> FieldValue { .array(of: "s", texts.map { .string($0) }) }

    private static let all = [
        Field(name: "app", value: .string("Chat")), Field(name: "icon", value: .string("mail-unread")),
        Field(name: "image", value: .string("/tmp/mina.png")), Field(name: "category", value: .string("im.received")),
        Field(name: "sound", value: .string("bell")), Field(name: "desktop-entry", value: .string("org.example.Chat")),
        Field(name: "timeout", value: .uint32(1500)), Field(name: "transient", value: .boolean(true)),
        Field(name: "resident", value: .boolean(true)), Field(name: "progress", value: .byte(40)),
        Field(name: "actions", value: texts("yes", "Yes", "no", "No")),
        Field(name: "own-banner", value: .boolean(true)),
    ]

    @Test func everyOptionIsRead() throws {
        let appearance = try Appearance(PublishOptions(Self.all).appearance)
        #expect(appearance.app == "Chat")
        #expect(appearance.icon == "mail-unread")
        #expect(appearance.image == "/tmp/mina.png")
        #expect(appearance.category == "im.received")
        #expect(appearance.sound == "bell")
        #expect(appearance.desktopEntry == "org.example.Chat")
        #expect(appearance.timeout == .milliseconds(1500))
        #expect(appearance.transient == true)
        #expect(appearance.resident == true)
        #expect(appearance.progress == 40)
        #expect(
            appearance.actions == [Route.Action(key: "yes", label: "Yes"), Route.Action(key: "no", label: "No")])
        #expect(Appearance.isOwnBanner(Self.all))
        #expect(Set(Self.all.map(\.name)) == Set(Appearance.optionNames))
    }

    @Test(arguments: [
        ("app", FieldValue.string("")), ("app", .string(String(repeating: "x", count: 257))), ("app", .int32(1)),
        ("icon", .string("https://example.org/a.png")), ("icon", .string("../a.png")),
        ("image", .string("a.png")), ("image", .string("http://example.org/a.png")),
        ("timeout", .int32(-1)), ("timeout", .uint32(86_400_001)), ("progress", .byte(101)),
        ("transient", .string("yes")), ("own-banner", .byte(1)), ("resident", .byte(1)),
        ("actions", texts("yes")), ("actions", texts("", "Yes")), ("actions", texts("a", "A", "a", "B")),
        ("actions", texts("a\u{1b}", "A")), ("actions", texts("a\u{202e}", "A")),
        ("actions", .array(of: "s", (0..<18).map { .string("\($0)") })), ("actions", .string("yes")),
    ])
    func whatIsWrongIsRefusedByName(_ name: String, value: FieldValue) {
        let refusal = #expect(throws: Refusal.self) { try PublishOptions([Field(name: name, value: value)]) }
        #expect(refusal?.words(Refusal.invalidEvent)?.contains("'\(name)'") == true)
    }

    @Test func theRouteWinsAndTheEventCompletesIt() throws {
        var own = Appearance()
        own.category = "transfer"
        own.resident = false
        own.actions = [Route.Action(key: "open", label: "Open", command: ["true"])]
        let route = Route(pattern: try TopicPattern("/a"), window: .zero, appearance: own)
        func event(_ options: [Field]) throws -> Event {
            .sample(1, "/a", appearance: options, route: route)
        }
        let completed = try event(Self.all).appearance
        #expect(completed.category == "transfer")
        #expect(completed.resident == false)
        #expect(completed.actions == own.actions)
        #expect(completed.app == "Chat")
        #expect(completed.progress == 40)
        #expect(try event([]).appearance == own)
        #expect(try event(Self.all + [Field(name: "later", value: .byte(1))]).appearance == completed)
        // An option of a later version in the journal, or damage.
        #expect(try event([Field(name: "progress", value: .byte(200))]).appearance == own)
    }

    @Test func aButtonOfTheEventClosesItsBanner() throws {
        var bench = Bench([Route(pattern: try TopicPattern("/post/{id}"), window: .milliseconds(100))])
        bench.take(.server(.ready))
        let options = try PublishOptions([Field(name: "actions", value: Self.texts("yes", "Yes"))])
        let id = bench.publish("/post/1", options: options)
        bench.take(.banner(bench.wait(.milliseconds(500)).banners[0].call, .shown(BannerID(7))))
        // A button may be reported after the end of the banner, so the dismissal waits for it.
        #expect(bench.take(.bannerClosed(BannerID(7), .dismissed)).outcomes.isEmpty)
        let effects = bench.take(.actionInvoked(BannerID(7), action: "yes"))
        #expect(effects.actions == [id])
        #expect(effects.outcomes == [id: .dismissed])
    }
}
