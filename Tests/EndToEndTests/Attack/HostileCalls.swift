/// Calls of every wrong kind, and some that are right, so that there is something to be in the way of.
struct HostileCalls {
    var malice: Malice
    /// Numbers of events and screens that somebody was given.
    var known: [UInt64] = []
    private var lastSerial: UInt32 = 1

    private static let options = [
        "source", "event-id", "collapse", "retain", "remove", "if-newer", "ttl", "urgency", "banner", "window",
        "published",
    ]
    private static let screenOptions = ["mode", "state", "lease", "clear"]

    /// The methods with the types of their arguments; `T` is a topic, `I` a number somebody was given, `M`
    /// milliseconds, `O` and `P` are the options of screens and of `Publish`.
    private static let methods: [(String, [Character])] = [
        ("Send", ["T", "s", "s"]), ("Publish", ["T", "s", "s", "P", "P"]), ("Claim", ["I"]),
        ("ClaimProvisionally", ["I", "M"]), ("Complete", ["I"]), ("Release", ["I"]), ("Pass", ["I"]),
        ("ClaimTopic", ["T", "M"]), ("OpenScreen", ["T", "O"]), ("UpdateScreen", ["I", "O"]), ("CloseScreen", ["I"]),
        ("Unread", ["T"]), ("Explain", ["I"]), ("Mute", ["T", "u"]), ("Pause", ["u"]), ("Snooze", ["I", "u"]),
        ("MarkRead", ["T", "I"]), ("Forget", ["T", "I"]), ("Withdraw", ["I"]), ("Press", ["I", "s"]),
    ]

    init(seed: UInt64) {
        malice = Malice(seed: seed)
    }

    mutating func next() -> WireMessage {
        var message = call()
        lastSerial &+= 1
        // The bus takes a number twice, and the daemon is to mind it as little.
        message.serial = malice.chance(20) ? max(1, lastSerial - 1) : max(1, lastSerial)
        if malice.chance(10) { message.flags |= 1 }
        if message.kind == .call, malice.chance(50) { message.interface = nil }
        if malice.chance(200) { message.descriptors = 0 }
        return message
    }

    private mutating func call() -> WireMessage {
        switch malice.below(20) {
        case 0...11: rightTypes()
        case 12...14: wrongTypes()
        case 15: wrongPlace()
        case 16, 17: property()
        case 18: signal()
        default: reading()
        }
    }

    /// The right types, with any value; now and then an argument too few.
    private mutating func rightTypes() -> WireMessage {
        let (member, arguments) = malice.pick(Self.methods)
        var message = WireMessage(member: member)
        var writer = WireWriter()
        for argument in malice.chance(15) ? arguments.dropLast() : arguments[...] {
            message.signature += append(argument, to: &writer)
        }
        message.body = writer.bytes
        return message
    }

    private mutating func append(_ argument: Character, to writer: inout WireWriter) -> String {
        switch argument {
        case "T":
            writer.string(malice.topic())
            return "s"
        case "I":
            writer.number(malice.identifier(known))
            return "t"
        case "M":
            writer.number(malice.milliseconds())
            return "u"
        case "O", "P":
            malice.writeDictionary(argument == "O" ? Self.screenOptions : Self.options, to: &writer)
            return "a{sv}"
        default:
            malice.write(String(argument), to: &writer)
            return String(argument)
        }
    }

    private mutating func wrongTypes() -> WireMessage {
        var message = WireMessage(member: malice.pick(Self.methods).0)
        return fill(&message)
    }

    private mutating func fill(_ message: inout WireMessage) -> WireMessage {
        let types = (0..<malice.below(5)).map { _ in malice.type() }
        var writer = WireWriter()
        for type in types where message.signature.utf8.count + type.utf8.count < 200 {
            malice.write(type, to: &writer)
            message.signature += type
        }
        message.body = writer.bytes
        return message
    }

    private mutating func wrongPlace() -> WireMessage {
        var message = WireMessage(
            member: malice.pick(["Send", "Claim", "NoSuchMember", "Introspect", "Ping", "Hello"]))
        message.path = malice.pick(["/", "/org/notifyd", "/org/notifyd/Router1/x", "/org/notifyd/Router1"])
        message.interface = malice.pick([
            "org.notifyd.Router2", "org.freedesktop.DBus.Introspectable", "org.freedesktop.DBus.Peer",
            "org.freedesktop.DBus", "org.freedesktop.DBus.ObjectManager", "org.notifyd.Router1", nil,
        ])
        return fill(&message)
    }

    private mutating func property() -> WireMessage {
        var message = WireMessage(member: malice.pick(["Get", "Set", "Set", "GetAll"]))
        message.interface = "org.freedesktop.DBus.Properties"
        guard malice.below(4) > 0 else { return fill(&message) }
        var writer = WireWriter()
        writer.string(malice.pick(["org.notifyd.Router1", "", "org.example.Other"]))
        message.signature = "s"
        if message.member != "GetAll" {
            writer.string(malice.pick(["Paused", "Quiet", "Degraded", "Pending", "Statistics", "Version", "None", ""]))
            message.signature += "s"
        }
        if message.member == "Set" {
            let type = malice.chance(2) ? "b" : malice.type()
            writer.variant(type) { malice.write(type, to: &$0) }
            message.signature += "v"
        }
        message.body = writer.bytes
        return message
    }

    /// What only the notification server or the daemon may say, said by somebody else.
    private mutating func signal() -> WireMessage {
        let words = [
            ("/org/freedesktop/Notifications", "org.freedesktop.Notifications", "NotificationClosed", "uu"),
            ("/org/freedesktop/Notifications", "org.freedesktop.Notifications", "ActionInvoked", "us"),
            ("/org/freedesktop/Notifications", "org.freedesktop.Notifications", "ActivationToken", "us"),
            ("/org/notifyd/Router1", "org.notifyd.Router1", "Event", "st"),
        ]
        let (path, interface, member, types) = malice.pick(words)
        var message = WireMessage(kind: .signal, path: path, interface: interface, member: member)
        var writer = WireWriter()
        message.signature = malice.chance(3) ? malice.type() : types
        malice.write(message.signature, to: &writer)
        message.body = writer.bytes
        return message
    }

    /// Rarer than the rest, for the answers are long.
    private mutating func reading() -> WireMessage {
        guard malice.chance(10) else { return WireMessage(member: "ListScreens") }
        var writer = WireWriter()
        writer.string(malice.topic())
        guard malice.chance(3) else {
            return WireMessage(member: "Snapshot", signature: "s", body: writer.bytes)
        }
        writer.number(malice.identifier(known))
        writer.number(malice.chance(10) ? UInt32.max : UInt32(malice.below(20)))
        return WireMessage(member: "History", signature: "stu", body: writer.bytes)
    }

    /// One with a descriptor, which nobody takes here.
    mutating func callWithDescriptor() -> WireMessage {
        var writer = WireWriter()
        writer.number(UInt32(0))
        lastSerial &+= 1
        return WireMessage(
            serial: max(1, lastSerial), member: "Claim", signature: "h", descriptors: 1, body: writer.bytes)
    }

    /// A departure that only the bus may report; whether it hands that on is its own affair.
    private mutating func wordsOfTheBus() -> [UInt8] {
        var message = WireMessage(
            kind: .signal, path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus", member: "NameOwnerChanged")
        var writer = WireWriter()
        for text in [":1.\(malice.below(5))", ":1.\(malice.below(5))", ""] { writer.string(text) }
        message.serial = max(1, lastSerial)
        message.signature = "sss"
        message.body = writer.bytes
        return message.bytes
    }

    /// What no bus hands on: it hangs up instead.
    mutating func garbage() -> [UInt8] {
        var bytes = next().bytes
        switch malice.below(5) {
        case 4: return wordsOfTheBus()
        case 0: return Array(bytes.prefix(malice.below(bytes.count)))
        case 1: return (0..<malice.below(200)).map { _ in UInt8(truncatingIfNeeded: malice.number()) }
        default:
            for _ in 0...malice.below(4) {
                bytes[malice.below(bytes.count)] = UInt8(truncatingIfNeeded: malice.number())
            }
            return bytes
        }
    }
}
