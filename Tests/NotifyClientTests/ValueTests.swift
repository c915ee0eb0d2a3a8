import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(1)))
struct ValueTests {
    static let values: [Value] = [
        .byte(255), .boolean(true), .boolean(false), .int16(.min), .uint16(.max), .int32(.min), .uint32(.max),
        .int64(.min), .uint64(.max), .double(0.1), .string("영희 & Mina"), .string(""), .objectPath("/a/b_1"),
        .signature("a{sv}(ii)"), .variant(.variant("x")), .strings(["a", "b"]), .array([], of: .int32),
        .array([.array([.byte(1)], of: .byte)], of: .array(of: .byte)), .array([], of: .byte),
        .array([.bytes([1]), .bytes([])], of: .array(of: .byte)), .bytes([0, 255]), .bytes([]),
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

    @Test func bytesInOnePieceAreTheArrayOfTheSameBytes() throws {
        let array = Value.array([.byte(1), .byte(2)], of: .byte)
        let bytes = Value.bytes([1, 2])
        #expect(array == bytes && bytes == array && Set([array, bytes]).count == 1)
        #expect(Set([Value.bytes([]), .array([], of: .byte)]).count == 1)
        #expect(bytes != .bytes([1]) && bytes != .array([.byte(1), .byte(3)], of: .byte))
        #expect(Value.bytes([]) != .array([], of: .int32) && bytes != .structure([.byte(1), .byte(2)]))
        #expect(bytes.elements == array.elements && array.bytes == [1, 2])
        #expect(
            Value.variant(bytes).bytes == [1, 2] && Value.strings(["a"]).bytes == nil && Value.byte(1).bytes == nil)
    }

    /// Value by value, the same takes a second for each of the 16 MB.
    @Test func longBytesAreReadAtOnce() throws {
        let call = Message.call(
            "A", of: "a.b", at: "/", on: "a.b", [.variants(["a": .bytes(Array(repeating: 7, count: 16_000_000))])])
        let wire = try call.wire()
        let start = ContinuousClock.now
        let back = try #require(Message(wire: wire))
        #expect(ContinuousClock.now - start < .seconds(1))
        guard case .bytes(let bytes)? = back.arguments.first?.entries?["a"] else {
            Issue.record("the bytes are not in one piece")
            return
        }
        #expect(bytes.count == 16_000_000 && bytes.last == 7)
    }

    /// Only so much of a call is read: anybody on the bus may send one.
    @Test func aCallHasOnlySoManyValues() throws {
        func read(_ count: Int, _ message: (_ arguments: [Value]) -> Message) throws -> Message? {
            let strings = Value.strings(Array(repeating: "", count: count))
            return Message(wire: try message([strings]).wire())
        }
        let most = Message.maximumValuesOfCall - 1
        let call = { Message.call("A", of: "a.b", at: "/", on: "a.b", $0) }
        #expect(try read(most, call) != nil)
        #expect(try read(most + 1, call) == nil)
        // What was asked for, or is listened to, may be long.
        #expect(try read(most + 1) { Message.signal("A", of: "a.b", at: "/", $0) } != nil)
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
