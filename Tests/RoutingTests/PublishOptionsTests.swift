import Testing

@testable import Routing

@Suite struct PublishOptionsTests {
    private func read(_ name: String, _ value: FieldValue) throws -> PublishOptions {
        try PublishOptions([Field(name: name, value: value)])
    }

    @Test func everyOptionIsRead() throws {
        let options = try PublishOptions([
            Field(name: "source", value: .string("chat")), Field(name: "event-id", value: .string("17")),
            Field(name: "retain", value: .boolean(true)), Field(name: "ttl", value: .uint32(60)),
            Field(name: "urgency", value: .byte(2)), Field(name: "banner", value: .boolean(false)),
            Field(name: "window", value: .uint32(250)), Field(name: "published", value: .int64(1)),
        ])
        #expect(options.origin == Origin(source: "chat", eventID: "17"))
        #expect(options.retain == true)
        #expect(options.lifetime == .seconds(60))
        #expect(options.urgency == .critical)
        #expect(options.banner == false)
        #expect(options.window == .milliseconds(250))
        #expect(options.published == 1)
    }

    @Test(arguments: [
        FieldValue.byte(5), .int16(5), .uint16(5), .int32(5), .uint32(5), .int64(5), .uint64(5),
    ])
    func aWholeNumberMayComeInAnyIntegerType(_ value: FieldValue) throws {
        #expect(try read("ttl", value).lifetime == .seconds(5))
    }

    @Test func ifNewerNeedsAValueOrARemoval() throws {
        func read(_ names: [String: Bool]) throws -> PublishOptions {
            try PublishOptions(names.map { Field(name: $0.key, value: .boolean($0.value)) })
        }
        #expect(try read(["if-newer": true, "retain": true]).ifNewer)
        #expect(try read(["if-newer": true, "remove": true]).ifNewer)
        #expect(try !read(["if-newer": false]).ifNewer)
        for names in [["if-newer": true], ["if-newer": true, "retain": false], ["if-newer": true, "remove": false]] {
            let refusal = #expect(throws: Refusal.self) { try read(names) }
            let text = try #require(refusal?.words(Refusal.invalidEvent))
            #expect(text.contains("'if-newer'") && text.contains("'retain'") && text.contains("'remove'"))
        }
    }

    @Test(arguments: [
        ("ttl", FieldValue.int32(-1)), ("ttl", .uint32(28 * 24 * 3600 + 1)), ("ttl", .string("5")),
        ("ttl", .uint64(.max)),
        ("window", .int32(-1)), ("window", .uint32(60_001)), ("window", .double(1)),
        ("urgency", .byte(3)), ("banner", .int32(1)), ("retain", .string("true")), ("published", .int64(-1)),
        ("source", .string("")), ("source", .int32(1)), ("event-id", .string(String(repeating: "x", count: 257))),
        ("via", .string("")), ("via", .string(String(repeating: "x", count: 65))), ("bogus", .boolean(true)),
    ])
    func whatIsWrongIsRefusedByName(_ name: String, value: FieldValue) {
        let refusal = #expect(throws: Refusal.self) { try read(name, value) }
        #expect(refusal?.words(Refusal.invalidEvent)?.contains("'\(name)'") == true)
    }

    @Test func aNumberOfAnyTypeMayBeTooLarge() {
        let refusal = #expect(throws: Refusal.self) { try read("window", .uint64(.max)) }
        #expect(
            refusal
                == .invalidEvent("option 'window' must be between 0 and 60000 milliseconds; it is 18446744073709551615")
        )
    }

    @Test func theLimitsThemselvesAreAllowed() throws {
        #expect(try read("window", .uint32(0)).window == .zero)
        #expect(try read("window", .uint32(60_000)).window == .seconds(60))
        #expect(try read("ttl", .uint32(28 * 24 * 3600)).lifetime == Limits.maximumLifetime)
    }
}

/// Title, body and fields, packed or not.
struct EventContentTests {
    @Test(arguments: [
        ("", "", []),
        ("Mina", "", [Field(name: "from", value: .string("Mina"))]),
        (
            "영희가 도착", "a\nb",
            [Field(name: "x", value: .array(of: "y", [.byte(1), .byte(2)])), Field(name: "", value: .int16(-1))]
        ),
    ]) func whatIsPackedIsTheSame(title: String, body: String, fields: [Field]) {
        let content = EventContent(title: title, body: body, fields: fields)
        for content in [content, content.packed, content.packed.packed] {
            #expect(content.title == title && content.body == body && content.fields == fields)
        }
    }

    /// The signal has what came, and the banner too.
    @Test func ofVeryManyEventsNoneIsChanged() throws {
        var limits = Limits()
        limits.unpackedEvents = 1
        var bench = Bench(limits: limits)
        for text in ["a", "b", "c"] {
            let publication = Publication(
                topic: try Topic("/\(text)"), title: "Title \(text)", body: text, sender: Bench.peer)
            let effects = bench.take(.published(publication))
            guard case .success(.accepted(let id)) = bench.reply else { preconditionFailure("the event was refused") }
            let announced = effects.compactMap { if case .announce(let event, _) = $0 { event.title } else { nil } }
            #expect(announced == ["Title \(text)"])
            #expect(bench.router.event(id)?.title == "Title \(text)" && bench.router.event(id)?.body == text)
        }
    }
}

/// `ttl` 0: what comes too late for a banner.
struct ExpiredAtOnceTests {
    private var bench = Bench([
        Route(pattern: try! TopicPattern("/value/{id}"), retain: true, window: .milliseconds(100))
    ])

    private mutating func publish(_ topic: String, _ options: PublishOptions = PublishOptions()) -> [Effect] {
        var options = options
        options.lifetime = .zero
        return bench.push(topic, options)
    }

    @Test mutating func itIsAnnouncedAndExpired() {
        bench.take(.server(.ready))
        let effects = publish("/post/1")
        #expect(effects.outcomes == [EventID(1): .expired])
        #expect(bench.router.undecidedCount == 0)
        #expect(bench.wait(.seconds(10)).banners.isEmpty)
        #expect(bench.router.statistics[.expired] == 1)
        // A claim of it only marks it as read, which the journal does.
        #expect(!bench.router.remembers(EventID(1)))
    }

    @Test mutating func aScreenStillClaimsIt() {
        bench.take(.screenOpened(try! TopicPrefix("/post"), try! ScreenOptions([]), by: ":1.2"))
        #expect(publish("/post/1").outcomes == [EventID(1): .claimed])
    }

    @Test mutating func itIsNoValueAndLeavesTheOneThereIs() {
        bench.publish("/value/1")
        #expect(bench.router.names.values[try! Topic("/value/1")]?.id == EventID(1))
        _ = publish("/value/1")
        #expect(bench.router.names.values[try! Topic("/value/1")]?.id == EventID(1))
        var options = PublishOptions()
        options.retain = true
        _ = publish("/post/2", options)
        #expect(bench.router.names.values[try! Topic("/post/2")] == nil)
    }

    @Test mutating func itTakesThePlaceOfAnEarlierOne() {
        bench.take(.server(.ready))
        let first = bench.publish("/post/1", collapse: "k")
        bench.take(.banner(bench.wait(.milliseconds(100)).banners[0].call, .shown(BannerID(7))))
        var options = PublishOptions()
        options.collapse = "k"
        let effects = publish("/post/1", options)
        #expect(effects.outcomes == [first: .replaced, EventID(2): .expired])
        #expect(effects.closed == [BannerID(7)])
    }
}
