import Crypto
import Routing
import Testing

@testable import Linking

/// What stands on the broker. The known messages were made with the Python package cryptography 48.
struct LineCipherTests {
    private static let device = Device("00112233445566778899aabbccddeeff")!
    private static let other = Device("ffeeddccbbaa99887766554433221100")!
    private static let key = LineKey(Array(0..<32))!
    private static let topic = "notifyd/1/mina/o/\(device)"
    private static let message = Message(
        device: device, at: 1_700_000_000_000_000, body: .presence(Presence(connection: 7, isOnline: true)))

    private static let sealed =
        #"{"v":1,"key":"50a338f9.00112233445566778899aabbccddeeff","nonce":"ZGVmZ2hpamtsbW5v","sealed":"xU"#
        + #"a1y6uBqHRwYaEbnnr++WzXj89ohLzzhJ3+pNmeyoanUcJG0U//k4zYa31n3ARlRuZkPibrTkInV2wA8db/HCOY4A69+xs7k9"#
        + #"gZQrMJaG5IIVeVdhkxH3PArnjovleNnb7LfVvlwvHJSMf+qSQBOX/hjrLxr5bJGqHBGt0FKDYL8PDiBZdB7w=="}"#
    private static let channelTopic = "notifyd/1/channel/run/o/\(device)"
    private static let signed =
        #"{"v":2,"signer":"XkIwMwRPVqE6aGeZSHvL+mPdHjkgTOwn3TmibaphVig=","signature":"D+g1vUQrSGCGLcOec9mN"#
        + #"7AGKhN8oBgTQR6I+qYbuE/PLnRiQbCP0OedMhlmTVLCvwvmoxM0k/MnxpTt+iusvDQ==","signed":"eyJ2IjoxLCJkZXZp"#
        + #"Y2UiOiIwMDExMjIzMzQ0NTU2Njc3ODg5OWFhYmJjY2RkZWVmZiIsImF0IjoxNzAwMDAwMDAwMDAwMDAwLCJraW5kIjoicHJl"#
        + #"c2VuY2UiLCJjb25uZWN0aW9uIjo3LCJvbmxpbmUiOnRydWV9"}"#

    private func opened(_ content: Delivery.Content) -> Message? {
        if case .message(let message, _) = content { message } else { nil }
    }

    private func isForged(_ content: Delivery.Content) -> Bool {
        if case .forged = content { true } else { false }
    }

    private func isUnopened(_ content: Delivery.Content) -> Bool {
        if case .unopened = content { true } else { false }
    }

    @Test func sealedMessagesAreThoseOfOthers() throws {
        var cipher = LineCipher(own: Self.device, keys: [Self.key])
        let nonce = try ChaChaPoly.Nonce(data: Array(UInt8(100)..<112))
        let bytes = try cipher.seal(Self.message, on: Self.topic, nonce: nonce)
        #expect(String(decoding: bytes, as: UTF8.self) == Self.sealed)
        var reader = LineCipher(own: Self.other, keys: [Self.key])
        #expect(opened(reader.open(Array(Self.sealed.utf8), on: Self.topic)) == Self.message)
    }

    @Test func signaturesAreThoseOfOthers() throws {
        let signer = try #require(SigningKey(Array(50..<82)))
        #expect(signer.description == "XkIwMwRPVqE6aGeZSHvL+mPdHjkgTOwn3TmibaphVig=")
        var reader = LineCipher(own: Self.other, keys: [], signer: SigningKey())
        guard case .message(let message, let who) = reader.open(Array(Self.signed.utf8), on: Self.channelTopic) else {
            Issue.record("the known signature is refused")
            return
        }
        #expect(message == Self.message && who == Signer(signer.description))
        var forged = Array(Self.signed.utf8)
        let end = try #require(forged.lastIndex(of: UInt8(ascii: "m")))
        forged[end] = UInt8(ascii: "n")
        #expect(isForged(reader.open(forged, on: Self.channelTopic)))
    }

    /// What X has signed on one channel, sealed by another member with the key of a second one, or put on another topic
    /// of the first.
    @Test(arguments: [
        "notifyd/1/channel/trip/o/\(device)", "notifyd/1/channel/run/s/\(device)",
        "notifyd/1/channel/run/o/\(other)", "notifyd/1/channel/ru/n/o/\(device)", "",
    ])
    func whatWasSignedForOneTopicIsForgedOnAnother(topic: String) throws {
        let signer = SigningKey()
        var author = LineCipher(own: Self.device, keys: [Self.key], signer: signer)
        let bytes = try author.seal(Self.message, on: Self.channelTopic)
        let second = try #require(LineKey(Array(1...32)))
        for key in [Self.key, second] {
            var member = LineCipher(own: Self.other, keys: [key], signer: SigningKey())
            #expect(isForged(member.open(try moved(bytes, to: topic, key), on: topic)))
            let again = try moved(bytes, to: Self.channelTopic, key)
            #expect(opened(member.open(again, on: Self.channelTopic)) == Self.message)
        }
        // Without a key the broker could do it.
        var open = LineCipher(own: Self.device, keys: [], signer: signer)
        #expect(isForged(open.open(try open.seal(Self.message, on: Self.channelTopic), on: topic)))
    }

    /// Opens a message of a channel, and seals what it finds for another topic.
    private func moved(_ bytes: [UInt8], to topic: String, _ key: LineKey) throws -> [UInt8] {
        guard case .sealed(let name, let nonce, let ciphertext) = try Envelope.decode(bytes, version: 2) else {
            throw CancellationError()
        }
        let text = try ChaChaPoly.open(
            ChaChaPoly.SealedBox(combined: nonce + ciphertext), using: Self.key.messageKey(of: Self.device),
            authenticating: Array("2 \(name) \(Self.channelTopic)".utf8))
        let newName = "\(key.id).\(Self.device)"
        let box = try ChaChaPoly.seal(
            text, using: key.messageKey(of: Self.device), authenticating: Array("2 \(newName) \(topic)".utf8))
        return Envelope.sealed(
            key: newName, nonce: Array(box.nonce), ciphertext: Array(box.ciphertext + box.tag)
        ).encoded(version: 2)
    }

    /// Another member moves what X has said of its connection to and fro between two channels.
    @Test func movedPresencesMakeNobodyGiveUp() throws {
        let signer = SigningKey()
        var cipher = LineCipher(own: Self.device, keys: [Self.key], signer: signer)
        let digest = cipher.digest(of: "/run")
        var link = Link(
            Self.device,
            Configuration(
                kind: .channel(name: "trip", signer: Signer(signer.description)), name: "desk", isSealed: true
            ) { _ in digest }, seed: 1)
        var time: Int64 = 0
        var effects: [LinkEffect] = []
        func give(_ input: LinkInput) {
            time += 1000
            effects += link.handle(
                input, at: Link.Now(uptime: Uptime(microseconds: time), wall: 1_700_000_000_000_000 + time))
        }
        for input in [LinkInput.started, .daemonAppeared, .newest(1000), .connecting, .connected] { give(input) }
        for connection in UInt64(0)..<10 {
            let greater = Presence(connection: 1_800_000_000_000_000 + connection, isOnline: true)
            let message = Message(device: Self.device, at: 1_700_000_000_000_000 + time, body: .presence(greater))
            let bytes = try moved(
                cipher.seal(message, on: Self.channelTopic), to: "notifyd/1/channel/trip/o/\(Self.device)", Self.key)
            let content = cipher.open(bytes, on: "notifyd/1/channel/trip/o/\(Self.device)")
            give(
                .received(
                    Delivery(address: .presence(Self.device), content: content)))
        }
        #expect(
            !effects.contains { effect in
                switch effect {
                case .fail, .reconnect: true
                default: false
                }
            })
        #expect(link.forgedMessages == 10)
    }

    /// Version 1 signed the text alone.
    @Test func version1IsNotTakenOnAChannel() throws {
        let signer = SigningKey()
        let old = Envelope.signed(
            signer: signer.publicBytes, signature: try signer.sign(Self.message.encoded), message: Self.message.encoded)
        var open = LineCipher(own: Self.other, keys: [], signer: SigningKey())
        #expect(isUnopened(open.open(old.encoded(version: 1), on: Self.channelTopic)))
        #expect(isForged(open.open(old.encoded(version: 2), on: Self.channelTopic)))
        var member = LineCipher(own: Self.other, keys: [Self.key], signer: SigningKey())
        #expect(isUnopened(member.open(Array(Self.sealed.utf8), on: Self.topic)))
    }

    @Test func namesAreThoseOfOthers() {
        let cipher = LineCipher(own: Self.device, keys: [Self.key])
        #expect(Self.key.id == "50a338f9")
        #expect(cipher.digest(of: "/post/27").description == "3105842202df9204e2ca3b129d87532a")
        #expect(cipher.clientID(line: "mqtt") == "nb8fc9de877fda569982995")
        let open = LineCipher(own: Self.device, keys: [])
        #expect(open.digest(of: "/post/27").description == "328c1708093f3cc364709e5f4ebadb14")
        #expect(open.clientID(line: "mqtt") != open.clientID(line: "mqtt:run"))
    }

    @Test func aMessageBelongsToItsTopicAndItsDevice() throws {
        var cipher = LineCipher(own: Self.device, keys: [Self.key])
        let bytes = try cipher.seal(Self.message, on: Self.topic)
        #expect(opened(cipher.open(bytes, on: Self.topic)) == Self.message)
        #expect(isUnopened(cipher.open(bytes, on: Self.topic.replacing("/o/", with: "/d/"))))
        // Under the name of another device.
        let renamed = String(decoding: bytes, as: UTF8.self).replacing("\(Self.device)", with: "\(Self.other)")
        #expect(isUnopened(cipher.open(Array(renamed.utf8), on: Self.topic)))
        var liar = LineCipher(own: Self.other, keys: [Self.key])
        #expect(isForged(cipher.open(try liar.seal(Self.message, on: Self.topic), on: Self.topic)))
    }

    @Test func nothingUnsealedIsTakenWithAKey() {
        var cipher = LineCipher(own: Self.other, keys: [Self.key])
        #expect(isUnopened(cipher.open(Self.message.encoded, on: Self.topic)))
        #expect(isUnopened(cipher.open(Array("{}".utf8), on: Self.topic)))
        #expect(isUnopened(cipher.open([0xFF, 0], on: Self.topic)))
        guard case .empty = cipher.open([], on: Self.topic) else {
            Issue.record("an empty message is not empty")
            return
        }
    }

    @Test func withoutAKeyMessagesArePlain() throws {
        var cipher = LineCipher(own: Self.device, keys: [])
        let bytes = try cipher.seal(Self.message, on: Self.topic)
        #expect(bytes == Self.message.encoded && opened(cipher.open(bytes, on: Self.topic)) == Self.message)
        #expect(isUnopened(cipher.open(Array(Self.sealed.utf8), on: Self.topic)))
        guard case .malformed = cipher.open(Array("rubbish".utf8), on: Self.topic) else {
            Issue.record("rubbish is not malformed")
            return
        }
    }

    /// Accept the new key, seal with it, refuse the old one.
    @Test func twoKeysCanBeAcceptedAtOnce() throws {
        let new = try #require(LineKey((0..<32).map { _ in UInt8.random(in: .min ... .max) }))
        var before = LineCipher(own: Self.device, keys: [Self.key])
        var accepting = LineCipher(own: Self.device, keys: [Self.key, new])
        var sealing = LineCipher(own: Self.device, keys: [new, Self.key])
        var after = LineCipher(own: Self.device, keys: [new])
        let old = try accepting.seal(Self.message, on: Self.topic)
        let fresh = try sealing.seal(Self.message, on: Self.topic)
        #expect(opened(before.open(old, on: Self.topic)) != nil && isUnopened(before.open(fresh, on: Self.topic)))
        #expect(opened(accepting.open(fresh, on: Self.topic)) != nil)
        #expect(opened(sealing.open(old, on: Self.topic)) != nil)
        #expect(isUnopened(after.open(old, on: Self.topic)) && opened(after.open(fresh, on: Self.topic)) != nil)
    }

    @Test func aChannelIsSignedAndThenSealed() throws {
        let signer = SigningKey()
        var cipher = LineCipher(own: Self.device, keys: [Self.key], signer: signer)
        let bytes = try cipher.seal(Self.message, on: Self.topic)
        var member = LineCipher(own: Self.other, keys: [Self.key], signer: SigningKey())
        guard case .message(let message, let who) = member.open(bytes, on: Self.topic) else {
            Issue.record("a member cannot read it")
            return
        }
        #expect(message == Self.message && who == Signer(signer.description))
        // Whoever has the key and does not sign is not heard.
        var unsigned = LineCipher(own: Self.device, keys: [Self.key])
        #expect(isUnopened(member.open(try unsigned.seal(Self.message, on: Self.topic), on: Self.topic)))
        let again = try #require(SigningKey(signer.bytes))
        #expect(again.description == signer.description)
    }

    @Test func keysShowNothing() {
        #expect("\(Self.key)" == "(key 50a338f9)")
        #expect(LineKey(Array(0..<31)) == nil && SigningKey([1]) == nil)
    }

    /// What is changed anywhere is not opened, and whatever comes crashes nothing.
    @Test func everyChangeIsNoticed() throws {
        var cipher = LineCipher(own: Self.device, keys: [Self.key])
        for index in Self.sealed.utf8.indices {
            var bytes = Array(Self.sealed.utf8)
            let offset = Self.sealed.utf8.distance(from: Self.sealed.startIndex, to: index)
            bytes[offset] ^= 1
            #expect(opened(cipher.open(bytes, on: Self.topic)) == nil, "a change at \(offset) goes unnoticed")
        }
    }
}
