import Linking

/// A message of another device, as it comes from the broker: plain, signed or sealed. What can be read can be written,
/// and is the same then.
public func fuzzLinkMessage(_ bytes: [UInt8]) {
    let own = Device("00112233445566778899aabbccddeeff")!
    let key = LineKey(Array(0..<32))!
    let signer = SigningKey(Array(0..<32))
    for keys in [[], [key]] {
        var link = LineCipher(own: own, keys: keys)
        check(link.open(bytes, on: "s"))
        var channel = LineCipher(own: own, keys: keys, signer: signer)
        check(channel.open(bytes, on: "s"))
    }
    for version in [Envelope.linkVersion, Envelope.channelVersion] {
        guard let envelope = try? Envelope.decode(bytes, version: version) else { continue }
        precondition(
            (try? Envelope.decode(envelope.encoded(version: version), version: version)) == envelope,
            "an envelope is read as it was written")
    }
}

private func check(_ content: Delivery.Content) {
    guard case .message(let message, _) = content else { return }
    let again = message.encoded
    // What was read may be written longer, such as with more escapes.
    guard again.count <= Message.maximumBytes else { return }
    guard let read = try? Message(decoding: again) else { preconditionFailure("what was written can be read") }
    // Bytes, because not a number is not equal to itself.
    precondition(read.encoded == again, "a message is read as it was written")
}
