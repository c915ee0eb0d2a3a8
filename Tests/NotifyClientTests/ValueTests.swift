import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(1)))
struct ValueTests {
    static let values: [Value] = [
        .byte(255), .boolean(true), .boolean(false), .int16(.min), .uint16(.max), .int32(.min), .uint32(.max),
        .int64(.min), .uint64(.max), .double(0.1), .string("영희 & Mina"), .string(""), .objectPath("/a/b_1"),
        .signature("a{sv}(ii)"), .variant(.variant("x")), .strings(["a", "b"]), .array([], of: .int32),
        .array([.array([.byte(1)], of: .byte)], of: .array(of: .byte)),
        .dictionary([.uint32(1): "one"], keys: .uint32, values: .string),
        .dictionary([:], keys: .string, values: .array(of: .variant)),
        .structure([.int32(1), "two", .structure([.boolean(true)])]),
        .variants(["a": 1, "b": .variants(["c": .strings([])])]),
    ]

    @Test(arguments: values) func everyTypeComesBackAsItWasSent(_ value: Value) async throws {
        let call = Message.call("A", of: "a.b", at: "/", on: "a.b", [value, .variant(value)])
        let raw = try RawMessage.encoding(call)
        let back = try #require(Message(decoding: raw.pointer))
        #expect(back.arguments == [value, .variant(value)])
        #expect(back.path == "/")
    }

    @Test(arguments: values) func aSignatureIsReadAsItWasPrinted(_ value: Value) {
        #expect(ValueType(signature: value.type.signature) == value.type)
    }

    @Test(arguments: ["", "a", "a{vs}", "a{s}", "(", "()", "h", "ss", "a{sv", "{sv}", "z"])
    func whatIsNotOneTypeIsRefused(_ signature: String) {
        #expect(ValueType(signature: signature) == nil)
    }

    @Test(
        arguments: [
            .string("a\0"), .objectPath("a"), .objectPath("/a/"), .objectPath("/영"), .signature("a"), .structure([]),
            .array(["a", .int32(1)], of: .string), .dictionary(["a": 1], keys: .string, values: .string),
            .dictionary([:], keys: .variant, values: .string), .array([], of: .structure([])),
        ] as [Value])
    func whatLibdbusWouldAbortForIsAnError(_ value: Value) {
        let call = Message.call("A", of: "a.b", at: "/", on: "a.b", [value])
        let error = #expect(throws: NotifyError.self) { _ = try RawMessage.encoding(call) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func malformedNamesAreErrors() {
        for call in [
            Message.call("A b", of: "a.b", at: "/", on: "a.b"), Message.call("A", of: "ab", at: "/", on: "a.b"),
            Message.call("A", of: "a.b", at: "x", on: "a.b"), Message.call("A", of: "a.b", at: "/", on: ".."),
        ] {
            #expect(throws: NotifyError.self) { _ = try RawMessage.encoding(call) }
        }
    }

    @Test func numbersAreReadWithWhateverSizeFits() {
        #expect(Value.uint64(7).integer(as: UInt8.self) == 7)
        #expect(Value.uint64(700).integer(as: UInt8.self) == nil)
        #expect(Value.variant(.int16(-1)).integer(as: Int.self) == -1)
        #expect(Value.string("7").integer(as: Int.self) == nil)
    }

    @Test func apostrophesInAMatchRuleAreWrittenOutsideTheQuotes() {
        #expect(MatchRule(argument0: "it's").text == #"type='signal',arg0='it'\''s'"#)
    }
}
