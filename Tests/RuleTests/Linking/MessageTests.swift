import NotifyTestSupport
import NotifyText
import Routing
import Testing

@testable import Linking

struct MessageTests {
    static let device = Device("00112233445566778899aabbccddeeff")!
    static let topic = try! Topic("/run/r1/mate/영희")

    static let event = SharedEvent(
        name: GlobalName(device: device, id: 7), topic: topic, title: "A \"title\"\n", body: "\u{1}\\ 🏃",
        fields: [
            "distance": .uint64(.max), "pace": 0.1, "never": .double(.infinity), "flags": .array([], of: .boolean),
            "splits": .dictionary(
                [.byte(3): .array([.variant(.int64(.min)), .variant("x")], of: .variant)], keys: .byte,
                values: .array(of: .variant)),
            "path": .objectPath("/a"), "type": .signature("a{sv}"), "bytes": .bytes([0, 255]),
        ],
        options: ["icon": "run"], published: -5, expires: .max, isRetained: true,
        isSilent: true, urgency: 2, outcome: "claimed")

    static let bodies: [Message.Body] = [
        .entry(StreamEntry(number: .max, previous: 0, content: .event(event))),
        .entry(
            StreamEntry(
                number: 2, previous: 1,
                content: .claim(
                    SharedClaim(
                        name: GlobalName(source: "é", eventID: ""), topic: topic, form: .dismissed, place: "desk",
                        expires: 9)))),
        .entry(
            StreamEntry(
                number: 3, previous: 2,
                content: .removal(SharedRemoval(name: GlobalName(device: device, id: 1), topic: topic, published: 4)))),
        .entry(StreamEntry(number: 4, previous: 3, content: .nothing)),
        .description(
            Description(
                counter: 1, name: "desk", first: 2, last: 3, attended: [Digest("00112233445566778899aabbccddeeff")!])),
        .presence(Presence(connection: 5, isOnline: true)),
        .presence(Presence(connection: 5, isOnline: false, isDuplicated: true)),
        .presence(Presence(connection: 6, isOnline: false, hasLeft: true)), .ping(.max), .pong(1),
        .question(Question(id: .max, after: 1, through: 2)),
        .answer(
            Answer(
                id: 1, after: 1, through: 9,
                items: [
                    StreamEntry(number: 3, previous: 1, content: .event(event)),
                    StreamEntry(number: 4, previous: 3, content: .nothing),
                ], wait: 10)),
    ]

    @Test(arguments: bodies)
    func whatIsWrittenIsRead(_ body: Message.Body) throws {
        let message = Message(device: Self.device, at: 1_700_000_000_000_000, body: body)
        #expect(try Message(decoding: message.encoded) == message)
    }

    @Test func fieldsAreTypedAsBusctlPrintsThem() throws {
        let message = Message(device: Self.device, at: 1, body: Self.bodies[0])
        let text = String(decoding: message.encoded, as: UTF8.self)
        #expect(text.contains(#""distance":{"type":"t","data":18446744073709551615}"#))
        #expect(text.contains(#""splits":{"type":"a{yav}","data":{"3":[{"type":"x","data":-9223372036854775808}"#))
    }

    private func read(_ text: String) throws -> Message { try Message(decoding: Array(text.utf8)) }
    private let head = #""device":"00112233445566778899aabbccddeeff","at":1"#

    @Test func unknownMembersArePassedOver() throws {
        let message = try read(
            "{\"v\":1,\(head),\"kind\":\"nothing\",\"number\":2,\"previous\":1,\"x\":[{\"y\":null}]}")
        #expect(message.body == .entry(StreamEntry(number: 2, previous: 1, content: .nothing)))
    }

    @Test(arguments: ["\"v\":1,\"kind\":\"later\"", "\"v\":2,\"kind\":\"event\""])
    func whatALaterVersionSaysIsKnownToBeMissing(_ start: String) throws {
        let message = try read("{\(start),\(head),\"number\":2,\"previous\":1}")
        #expect(message.body == .entry(StreamEntry(number: 2, previous: 1, content: .unknown)))
    }

    @Test func anEventThatCannotBeReadKeepsItsPlaceInTheStream() throws {
        let message = try read(
            "{\"v\":1,\(head),\"kind\":\"removal\",\"number\":2,\"previous\":1,\"source\":\"a\",\"event-id\":\"1\","
                + "\"topic\":\"x\"}"
        )
        guard case .entry(let entry) = message.body, case .malformed(let reason) = entry.content else {
            Issue.record("it is \(message)")
            return
        }
        #expect(entry.number == 2)
        #expect(reason.contains("topic"))
    }

    @Test(arguments: [
        "", "{", "[]", "{\"v\":1}", "{\"v\":0}", "{\"v\":1,\"v\":1}", "{\"v\":1,\"device\":\"00\"}", "\u{FEFF}{}",
        "{} {}",
        "{\"v\":1,\"device\":\"00112233445566778899aabbccddeeff\",\"at\":1.5,\"kind\":\"nothing\"}",
        "{\"v\":1,\"device\":\"00112233445566778899aabbccddeeff\",\"at\":1,\"kind\":\"nothing\","
            + "\"number\":1,\"previous\":1}",
        "{\"v\":1,\"device\":\"00112233445566778899aabbccddeeff\",\"at\":1,\"kind\":\"question\","
            + "\"id\":1,\"after\":2,\"through\":2}",
        "{\"v\":1,\"device\":\"00112233445566778899aabbccddeeff\",\"at\":1,\"kind\":\"answer\","
            + "\"id\":1,\"after\":2,\"through\":4,"
            + "\"items\":[{\"kind\":\"nothing\",\"number\":5,\"previous\":2}]}",
    ])
    func whatIsNoMessageIsRefused(_ text: String) {
        #expect(throws: MessageError.self) { try read(text) }
    }

    @Test func textThatIsNotUTF8IsRefused() {
        #expect(throws: MessageError.self) { try Message(decoding: [0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D]) }
    }

    @Test func depthSizeAndNumbersAreBounded() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: JSONError.self) { try JSONParser.parse(Array(deep.utf8)) }
        let wide = "[" + String(repeating: "1,", count: 70_000) + "1]"
        #expect(throws: JSONError.self) { try JSONParser.parse(Array(wide.utf8)) }
        let long = String(repeating: "9", count: 65)
        #expect(throws: JSONError.self) { try JSONParser.parse(Array(long.utf8)) }
        #expect(throws: MessageError.self) {
            try Message(decoding: [UInt8](repeating: 0x20, count: Message.maximumBytes + 1))
        }
    }

    @Test(arguments: [
        "01", "1.", "-", "+1", ".5", "1e", "nul", "\"\\x\"", "\"\\uD800\"", "\"\\uDC00\"", "\"\n\"", "{\"a\" 1}",
        "[1,]",
    ])
    func onlyRFC8259IsJSON(_ text: String) {
        #expect(throws: JSONError.self) { try JSONParser.parse(Array(text.utf8)) }
    }

    @Test func escapesAreRead() throws {
        #expect(try JSONParser.parse(Array(#""\u00e9\ud83c\udfc3\/\b""#.utf8)) == .string("é🏃/\u{8}"))
    }

    /// Messages with bytes changed, taken out and doubled: read or refused, never a trap. What is read is written and
    /// read alike.
    @Test func whateverComesIsReadOrRefused() throws {
        var random = SplitMix64(seed: 17)
        let messages = Self.bodies.map { Message(device: Self.device, at: 1, body: $0).encoded }
        for _ in 0..<3_000 {
            var bytes = messages[Int(random.next() % UInt64(messages.count))]
            for _ in 0...random.next() % 4 where !bytes.isEmpty {
                let index = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 4 {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.remove(at: index)
                case 2: bytes.insert(bytes[index], at: index)
                default: bytes.removeSubrange(index..<min(bytes.count, index + Int(random.next() % 20)))
                }
            }
            _ = try? Envelope.decode(bytes, version: Envelope.linkVersion)
            guard let message = try? Message(decoding: bytes) else { continue }
            if case .entry(let entry) = message.body, !isKnown(entry) { continue }
            if case .answer(let answer) = message.body, !answer.items.allSatisfy(isKnown) { continue }
            #expect(try Message(decoding: message.encoded) == message)
        }
    }

    private func isKnown(_ entry: StreamEntry) -> Bool {
        switch entry.content {
        case .unknown, .malformed: false
        // No number is equal to itself that is none.
        case .event(let event): !event.fields.contains { "\($0.value)".contains("nan") }
        default: true
        }
    }

    @Test(arguments: [
        #"{"type":"(s)","data":["x"]}"#, #"{"type":"a(s)","data":[]}"#, #"{"type":"h","data":0}"#,
        #"{"type":"ss","data":"x"}"#, #"{"type":"aaaaaaaaas","data":[]}"#, #"{"type":"y","data":256}"#,
        #"{"type":"a{dv}","data":{"NaN":{"type":"s","data":"x"}}}"#, #"{"type":"a{yv}","data":{"x":1}}"#,
    ])
    func whatNoFieldCanHoldIsRefused(_ text: String) throws {
        let json = try JSONParser.parse(Array(text.utf8))
        #expect(throws: MessageError.self) { try Value(typed: json) }
    }

    @Test func aDictionaryIsAlwaysWrittenInTheOrderOfItsKeys() {
        let entries = (0..<50).map { (Value.string("\($0 * 7 % 50)"), Value.variant(.boolean(true))) }
        let value = Value.dictionary(
            Dictionary(uniqueKeysWithValues: entries), keys: .string, values: .variant)
        let keys = value.typedJSON["data"]?.members?.map(\.0) ?? []
        #expect(keys == (0..<50).map { "\($0)" }.sorted())
    }

    @Test(arguments: ["s/", "v/0/", "d/", "o/", "r/", "u/"])
    func addressesAreReadAsTheyAreWritten(_ prefix: String) throws {
        let text = prefix + Self.device.description
        #expect(try #require(Address(text)).description == text)
        for wrong in ["", prefix, text + "0", text.uppercased(), "x/" + Self.device.description] {
            #expect(Address(wrong) == nil)
        }
    }

    @Test func envelopesAreReadAsTheyAreWritten() throws {
        let sealed = Envelope.sealed(key: "a1", nonce: Array(0..<12), ciphertext: [1, 2, 3, 4])
        #expect(try Envelope.decode(sealed.encoded(version: 1), version: 1) == sealed)
        let signed = Envelope.signed(
            signer: Array(repeating: 1, count: 32), signature: Array(repeating: 2, count: 64), message: [5])
        #expect(try Envelope.decode(signed.encoded(version: 2), version: 2) == signed)
        for other in [1, 3] {
            #expect(throws: MessageError.self) {
                try Envelope.decode(signed.encoded(version: other), version: 2)
            }
        }
        let message = Message(device: Self.device, at: 1, body: Self.bodies[3]).encoded
        #expect(try Envelope.decode(message, version: 1) == nil)
    }

    @Test func base64IsThatOfRFC4648() {
        let vectors = ["": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "foobar": "Zm9vYmFy"]
        for (plain, text) in vectors {
            #expect(Base64.encode(Array(plain.utf8)) == text)
            #expect(Base64.decode(text) == Array(plain.utf8))
        }
        for wrong in ["Zg=", "Zg", "Zh==", "Z===", "Zm9v\n", "Zm-v"] { #expect(Base64.decode(wrong) == nil) }
    }
}
