import NotifyClient

/// The methods of `org.notifyd.Bridge1`, which every bridge has.
struct LetterMethods: Sendable {
    let store: BridgeStore

    /// So many letters are listed, the newest ones.
    private static let maximum = 1000

    var interface: BridgeInterface {
        BridgeInterface(
            BridgeStatus.interface,
            [
                BridgeMethod("ListDeadLetters", out: [("letters", "a(txssst)")]) { [store] _ in
                    let letters = try await store.letters().suffix(Self.maximum)
                    return [.array(letters.map(\.value), of: ValueType(signature: "(txssst)")!)]
                },
                BridgeMethod("Forget", in: [("topic", "s")], out: [("count", "t")]) { [store] arguments in
                    guard let topic = arguments[0].string, topic.hasPrefix("/"), topic == "/" || !topic.hasSuffix("/")
                    else {
                        throw BridgeMethodError(
                            "org.freedesktop.DBus.Error.InvalidArgs",
                            "A topic begins with / and does not end with one; / stands for every topic.")
                    }
                    return [.uint64(UInt64(try await store.forgetLetters(below: topic)))]
                },
            ])
    }
}

extension KeptLetter {
    /// Id, time, topic (empty without one), origin, reason and the size of its contents.
    fileprivate var value: Value {
        .structure([
            .uint64(UInt64(clamping: id)), .int64(at), .string(letter.topic ?? ""), .string(letter.origin),
            .string(letter.reason), .uint64(UInt64(letter.content.count)),
        ])
    }
}
