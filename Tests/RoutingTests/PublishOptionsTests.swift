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
            guard case .invalidEvent(let text)? = refusal else {
                Issue.record("\(names) are accepted")
                continue
            }
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
        guard case .invalidEvent(let text)? = refusal else {
            Issue.record("\(String(describing: refusal)) is not invalidEvent")
            return
        }
        #expect(text.contains("'\(name)'"))
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
