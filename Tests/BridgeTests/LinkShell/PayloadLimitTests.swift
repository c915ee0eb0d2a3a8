import Testing

@testable import Linking
@testable import Mosquitto
@testable import notifyd_mqtt

/// How long a message may be.
struct PayloadLimitTests {
    @Test func theLongestPacketCounts() {
        var limit = PayloadLimit()
        limit.connected(packet: nil, topic: 60)
        #expect(limit.bytes == nil)
        limit.connected(packet: 10_000, topic: 60)
        #expect(limit.bytes == 9924)
        limit.refused(5000)
        #expect(limit.bytes == 4999)
        // The broker may have another configuration now.
        limit.connected(packet: 10_000, topic: 60)
        #expect(limit.bytes == 9924)
    }

    @Test func aBrokerThatEndsTheConnectionBecauseOfAMessageIsBelieved() {
        var limit = PayloadLimit()
        limit.ended(ConnectionEnd(disconnectedWith: 0x95), longest: 7000, age: .seconds(100))
        limit.connected(packet: nil, topic: 60)
        #expect(limit.bytes == 6999)
    }

    @Test func aBrokerWithoutWordsIsSuspectedAfterSomeEnds() {
        var limit = PayloadLimit()
        func end(_ longest: Int?, _ age: Duration = .seconds(1), _ end: ConnectionEnd = .closed) -> Int? {
            limit.ended(end, longest: longest, age: age)
            limit.connected(packet: nil, topic: 60)
            return limit.bytes
        }
        for _ in 1...4 { #expect(end(7000) == nil) }
        #expect(end(7000) == 6999)
        // An old connection, a short message and another reason say nothing.
        for _ in 1...9 { #expect(end(6000, .seconds(11)) == 6999) }
        for _ in 1...9 { #expect(end(4000) == 6999) }
        for _ in 1...9 { #expect(end(6000, .seconds(1), .slept) == 6999) }
        for _ in 1...4 { #expect(end(6000) == 6999) }
        limit.accepted(6000)
        #expect(end(6000) == 6999)
    }

    @Test(arguments: [false, true], [false, true])
    func aTextOfThatLengthFits(isSealed: Bool, isSigned: Bool) throws {
        let device = Device("00112233445566778899aabbccddeeff")!
        let key = LineKey(Array(0..<32))!
        var cipher = LineCipher(
            own: device, keys: isSealed ? [key] : [], signer: isSigned ? SigningKey(Array(50..<82)) : nil)
        for count in stride(from: 0, to: 200, by: 1) {
            let message = Message(
                device: device, at: 0,
                body: .description(
                    Description(
                        counter: 1, name: String(repeating: "x", count: count), first: 1, last: 1, attended: [])))
            let payload = try cipher.seal(message, on: "t").count
            let longest = cipher.longestText(inPayload: payload)
            // Base64 goes in steps of 3 bytes; each layer has its own.
            #expect(longest >= message.encoded.count - 2 && longest <= message.encoded.count + 4)
            #expect(cipher.longestText(inPayload: payload - 1) < message.encoded.count)
        }
    }
}
