package import NotifyText

/// A D-Bus message as a plain value. Threads exchange this value, never a C pointer.
///
/// [Messages](https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-messages)
package struct Message: Sendable {
    /// With the numbers that the specification gives them.
    package enum Kind: CInt, Sendable {
        case methodCall = 1
        case methodReturn, error, signal
    }

    package var kind: Kind
    package var path: String?
    package var interface: String?
    package var member: String?
    package var errorName: String?
    package var destination: String?
    /// The unique name of the sender, stamped by the bus.
    package var sender: String?
    package var serial: UInt32 = 0
    package var replySerial: UInt32 = 0
    package var expectsReply = false
    /// Whether a call may start the program that would own its destination.
    package var autoStart = true
    package var arguments: [Value] = []

    package static func call(
        _ member: String, of interface: String, at path: String, on destination: String,
        autoStart: Bool = true, _ arguments: [Value] = []
    ) -> Message {
        Message(
            kind: .methodCall, path: path, interface: interface, member: member, destination: destination,
            expectsReply: true, autoStart: autoStart, arguments: arguments)
    }

    /// A call of the daemon.
    package static func toRouter(
        _ member: String, on destination: String = Router.name, autoStart: Bool = true, _ arguments: [Value] = []
    ) -> Message {
        call(member, of: Router.interface, at: Router.path, on: destination, autoStart: autoStart, arguments)
    }

    /// A call about the properties of the daemon, which does not start it.
    package static func toProperties(_ member: String, _ arguments: [Value] = []) -> Message {
        call(
            member, of: "org.freedesktop.DBus.Properties", at: Router.path, on: Router.name, autoStart: false,
            [.string(Router.interface)] + arguments)
    }

    /// A call of the message bus itself.
    package static func toBus(_ member: String, _ arguments: [Value] = []) -> Message {
        call(member, of: Bus.interface, at: Bus.path, on: Bus.name, arguments)
    }

    package static func signal(
        _ member: String, of interface: String, at path: String, to destination: String? = nil,
        _ arguments: [Value] = []
    ) -> Message {
        Message(
            kind: .signal, path: path, interface: interface, member: member, destination: destination,
            arguments: arguments)
    }

    package func reply(_ arguments: [Value] = []) -> Message {
        Message(kind: .methodReturn, destination: sender, replySerial: serial, arguments: arguments)
    }

    package func errorReply(_ name: String, _ text: String) -> Message {
        Message(kind: .error, errorName: name, destination: sender, replySerial: serial, arguments: [.string(text)])
    }

    /// The signature of all arguments together.
    package var signature: String { arguments.map(\.type.signature).joined() }
}

/// A method call from another connection. It may be answered at once, later, or never.
package struct IncomingCall: Sendable {
    package let message: Message
    let connection: Connection

    /// The same call with other arguments, such as those that are needed of many.
    package func replacing(_ arguments: [Value]) -> IncomingCall {
        var message = message
        message.arguments = arguments
        return IncomingCall(message: message, connection: connection)
    }

    package func reply(_ arguments: [Value] = []) {
        if message.expectsReply { connection.send(message.reply(arguments)) }
    }

    package func fail(_ name: String, _ text: String) {
        if message.expectsReply { connection.send(message.errorReply(name, text)) }
    }
}

extension Message {
    /// About how many bytes the arguments take: those of their texts and arrays, and a few for each value.
    package var argumentBytes: Int { arguments.reduce(0) { $0 + $1.byteCount } }
}

extension Value {
    fileprivate var byteCount: Int {
        let overhead = 16
        switch self {
        case .byte, .boolean, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double: return overhead
        case .string(let text), .objectPath(let text), .signature(let text): return overhead + text.utf8.count
        case .bytes(let bytes): return overhead + bytes.count
        case .array(let values, _), .structure(let values): return values.reduce(overhead) { $0 + $1.byteCount }
        case .dictionary(let entries, _, _):
            return entries.reduce(overhead) { $0 + $1.key.byteCount + $1.value.byteCount }
        case .variant(let value): return overhead + value.byteCount
        }
    }
}

/// The signals that the bus delivers to this connection.
///
/// [Match rules](https://dbus.freedesktop.org/doc/dbus-specification.html#message-bus-routing-match-rules)
package struct MatchRule: Hashable, Sendable {
    package let text: String

    /// Values are quoted. An apostrophe, which quoting cannot hold, is written outside the quotes.
    package init(
        sender: String? = nil, interface: String? = nil, member: String? = nil,
        argument0: String? = nil, argument0Path: String? = nil
    ) {
        var parts = ["type='signal'"]
        for (key, value) in [
            ("sender", sender), ("interface", interface), ("member", member), ("arg0", argument0),
            ("arg0path", argument0Path),
        ] {
            if let value { parts.append("\(key)=" + Self.quoted(value)) }
        }
        text = parts.joined(separator: ",")
    }

    private static func quoted(_ value: String) -> String {
        // Split by bytes: in a String an apostrophe and a combining mark are one character.
        let parts = value.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
        return "'" + parts.map { String(Substring($0)) }.joined(separator: #"'\''"#) + "'"
    }

    /// The signal that a name has a new owner, or none.
    package static func ownerChanged(of name: String) -> MatchRule {
        MatchRule(sender: Bus.name, interface: Bus.interface, member: "NameOwnerChanged", argument0: name)
    }
}

/// The calls and signals of the daemon as messages, for a program that sends many calls at once over a ``Connection``
/// of its own.
extension Message {
    /// A call of the daemon, whose texts are checked as those of ``NotifyClient``.
    ///
    /// - Throws: `invalidArgument`.
    package static func checkedToRouter(
        _ member: String, _ arguments: [Value], autoStart: Bool
    ) throws(NotifyError) -> Message {
        try NotifyClient.checkTexts(arguments)
        return toRouter(member, autoStart: autoStart, arguments)
    }
}

/// What a signal of the daemon says: an ``Event``, an ``Outcome``, a ``Removal``, an ``Attention`` or an ``Action``.
package protocol Announced: Sendable {
    /// The name of the signal.
    static var signal: String { get }
    var topic: String { get }
    init?(arguments: [Value])
}

extension Message {
    private static let signals: [any Announced.Type] = [
        Event.self, Outcome.self, Action.self, Removal.self, Attention.self,
    ]

    /// What a signal of the daemon says; `nil` for every other message, and for one of the wrong form. The sender is
    /// not checked.
    package var announced: (any Announced)? {
        guard kind == .signal, interface == Router.interface else { return nil }
        return Self.signals.first { $0.signal == member }.flatMap { $0.init(arguments: arguments) }
    }

    /// A name and its new owner, if any, where the bus says that it has another one.
    package var ownerChange: (name: String, owner: String?)? {
        guard sender == Bus.name, member == "NameOwnerChanged", arguments.count == 3, let name = arguments[0].string,
            let owner = arguments[2].string
        else { return nil }
        return (name, owner.isEmpty ? nil : owner)
    }
}

extension JournalChange {
    /// The answer to the call `Changes`; `nil` if it has another form.
    package static func page(of answer: [Value]) -> (oldest: UInt64, changes: [JournalChange])? {
        guard let oldest: UInt64 = answer.first?.integer(), let rows = answer.dropFirst().first?.elements else {
            return nil
        }
        let changes = rows.compactMap { JournalChange($0) }
        return changes.count == rows.count ? (oldest, changes) : nil
    }
}

/// A character that cannot be sent to notifyd: NUL, which ends texts, or a Unicode noncharacter. libdbus sends
/// noncharacters, but sd-bus, with which notifyd reads messages, refuses the whole message and does not tell the place.
struct UnsendableCharacter {
    let scalar: Unicode.Scalar
    /// Its first byte, counted from 1.
    let byte: Int

    /// The first one in a text.
    init?(in text: String) {
        // Noncharacters begin with one of these bytes.
        guard text.utf8.contains(where: { $0 == 0 || $0 >= 0xEF }) else { return nil }
        var offset = 0
        for scalar in text.unicodeScalars {
            if scalar.value == 0 || scalar.isForInternalUse {
                (self.scalar, byte) = (scalar, offset + 1)
                return
            }
            offset += UTF8.width(scalar)
        }
        return nil
    }

    /// The first one in a text of a value.
    init?(in value: Value) {
        switch value {
        case .string(let text), .objectPath(let text), .signature(let text): self.init(in: text)
        case .array(let elements, _), .structure(let elements): self.init(inOneOf: elements)
        case .dictionary(let entries, _, _): self.init(inOneOf: entries.flatMap { [$0.key, $0.value] })
        case .variant(let inner): self.init(in: inner)
        default: return nil
        }
    }

    private init?(inOneOf values: [Value]) {
        guard let found = values.lazy.compactMap(Self.init(in:)).first else { return nil }
        self = found
    }

    var description: String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        let name = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        return "byte \(byte) is \(name), "
            + (scalar.value == 0 ? "which ends a text" : "which Unicode calls a noncharacter")
    }
}

extension NotifyClient {
    /// - Parameter arguments: of a method of the daemon: its texts are the topic, the title and the body.
    /// - Throws: `invalidArgument`, with the name of the argument.
    static func checkTexts(_ arguments: [Value]) throws(NotifyError) {
        for (argument, name) in zip(arguments, ["the topic", "the title", "the body", "field", "option"]) {
            if let entries = argument.fields {
                for (key, value) in entries {
                    try check(.string(key), "the name of a \(name)")
                    try check(value, "the \(name) “\(key)”")
                }
            } else {
                try check(argument, name)
            }
        }
    }

    private static func check(_ value: Value, _ name: String) throws(NotifyError) {
        if let fault = UnsendableCharacter(in: value) {
            throw NotifyError(
                .invalidArgument, "In \(name), \(fault.description). Leave it out: notifyd cannot receive it.")
        }
    }
}
