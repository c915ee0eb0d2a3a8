import NotifyClient

/// A message as the bytes of the wire, to the client library: what it can read it can write, and what it makes of it
/// does not depend on who wrote it.
public func fuzzReply(_ bytes: [UInt8]) {
    guard let message = Message(wire: bytes) else { return }
    readAsEverything(message.arguments)
    // What is nested too deep is refused, since the bus would refuse it.
    guard message.arguments.allSatisfy({ $0.flaw() == nil }), let again = try? message.wire() else { return }
    guard let read = Message(wire: again) else { preconditionFailure("what was written can be read") }
    precondition(read.arguments.map(\.comparable) == message.arguments.map(\.comparable), "what was written is read")
    precondition(read.member == message.member && read.path == message.path, "the header is read as it was written")
}

private func readAsEverything(_ arguments: [Value]) {
    _ = Event(arguments: arguments)
    _ = Outcome(arguments: arguments)
    for value in arguments {
        precondition(ValueType(signature: value.type.signature) == value.type, "a printed type is read as the same")
        _ = value.elements?.compactMap(RecordedEvent.init)
        _ = value.entries.flatMap { Explanation(1, $0) }
        _ = (value.integer(as: UInt32.self), value.integer(as: Int64.self), value.string, value.boolean)
    }
}

extension Value {
    /// With the bits of a number in place of the number: not a number is not equal to itself.
    fileprivate var comparable: Value {
        switch self {
        case .double(let number): .uint64(number.bitPattern)
        case .array(let elements, let type): .array(elements.map(\.comparable), of: type)
        case .structure(let members): .structure(members.map(\.comparable))
        case .variant(let inner): .variant(inner.comparable)
        case .dictionary(let entries, let keys, let values):
            // Of keys that are not equal to themselves there can be several, in any order.
            .dictionary(
                Dictionary(entries.map { ($0.key.comparable, $0.value.comparable) }) { _, _ in .byte(0) }, keys: keys,
                values: values)
        default: self
        }
    }
}
