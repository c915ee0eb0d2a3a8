public import NotifyClient

/// Methods of a bridge beside `org.notifyd.Bridge1`, such as those that a command of notifyctl calls. They are at the
/// same object, `/org/notifyd/Bridge1`.
public struct BridgeInterface: Sendable {
    /// The name of the interface, such as `org.notifyd.Link1`.
    public let name: String
    let methods: [BridgeMethod]

    public init(_ name: String, _ methods: [BridgeMethod]) {
        self.name = name
        self.methods = methods
    }
}

/// A method that a bridge exports. A call is answered with what the handler returns, also much later. Several calls are
/// handled at once, at most 64; further ones are refused, and so are arguments of more than 64 KiB.
public struct BridgeMethod: Sendable {
    /// The name and the D-Bus type of an argument.
    public typealias Argument = (name: String, type: String)

    let name: String
    let input: [Argument]
    let output: [Argument]
    let handler: @Sendable ([Value]) async throws -> [Value]

    /// - Parameters:
    ///   - name: of the method.
    ///   - input: what the method takes. A call with other types is refused.
    ///   - output: what it returns.
    ///   - handler: throws ``BridgeMethodError`` for a refusal.
    public init(
        _ name: String, in input: [Argument] = [], out output: [Argument] = [],
        _ handler: @escaping @Sendable ([Value]) async throws -> [Value]
    ) {
        self.name = name
        self.input = input
        self.output = output
        self.handler = handler
    }
}

extension BridgeMethod {
    /// `Diagnose`: what does not work, in which state it is, and what to do.
    package static func diagnose(
        _ problems: @escaping @Sendable () async -> [(String, String, String)]
    ) -> BridgeMethod {
        BridgeMethod("Diagnose", out: [("problems", "a(sss)")]) { _ in
            let rows = await problems().map { Value.structure([.string($0), .string($1), .string($2)]) }
            return [.array(rows, of: .structure([.string, .string, .string]))]
        }
    }
}

/// Why a method of a bridge refuses a call.
public struct BridgeMethodError: Error, Sendable {
    let name: String
    let message: String

    /// - Parameters:
    ///   - name: of the error on the bus, such as `org.notifyd.Link1.Error.NotConnected`.
    ///   - message: what is wrong and what would be right, in a sentence.
    public init(_ name: String, _ message: String) {
        self.name = name
        self.message = message
    }
}

/// The object `/org/notifyd/Bridge1` on a connection.
struct BridgeObject: Sendable {
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let introspectable = "org.freedesktop.DBus.Introspectable"

    let connection: Connection
    let status: BridgeStatus
    private let interfaces = Locked<[BridgeInterface]>([])
    private let running = Locked(0)
    /// Calls that are handled at once.
    private static let maximumCalls = 64
    /// Bytes of the arguments of a call: each is kept while it is handled.
    private static let maximumArguments = 64 << 10

    init(_ connection: Connection, _ status: BridgeStatus) {
        self.connection = connection
        self.status = status
    }

    /// Exports the interfaces that every object has.
    func export() {
        connection.export(Self.introspectable) { [self] call in
            guard call.message.member == "Introspect" else { return call.failUnknownMethod() }
            call.reply([.string(introspection(at: call.message.path ?? "/"))])
        }
        connection.export(Self.properties) { [status] call in
            guard call.message.path == BridgeStatus.path else { return call.failUnknownObject() }
            Self.answer(call, status)
        }
    }

    /// Exports the methods of an interface.
    func export(_ interface: BridgeInterface) {
        interfaces.withLock { interfaces in
            interfaces.removeAll { $0.name == interface.name }
            interfaces.append(interface)
        }
        connection.export(interface.name) { [running, loop = connection.loop] call in
            guard call.message.path == BridgeStatus.path else { return call.failUnknownObject() }
            guard let method = interface.methods.first(where: { $0.name == call.message.member }) else {
                return call.failUnknownMethod()
            }
            let wanted = method.input.map(\.type).joined()
            guard call.message.signature == wanted else {
                return call.fail(
                    "org.freedesktop.DBus.Error.InvalidArgs",
                    "\(method.name) takes “\(wanted)”, and this call has “\(call.message.signature)”.")
            }
            guard call.message.argumentBytes <= Self.maximumArguments else {
                return call.fail(
                    "org.freedesktop.DBus.Error.LimitsExceeded",
                    "The arguments of \(method.name) have at most \(Self.maximumArguments >> 10) KiB.")
            }
            let isTaken = running.withLock { running in
                guard running < Self.maximumCalls else { return false }
                running += 1
                return true
            }
            guard isTaken else {
                return call.fail(
                    "org.freedesktop.DBus.Error.LimitsExceeded",
                    "\(Self.maximumCalls) calls are being handled; wait for an answer before the next one.")
            }
            loop.task {
                defer { running.withLock { $0 -= 1 } }
                do {
                    call.reply(try await method.handler(call.message.arguments))
                } catch let error as BridgeMethodError {
                    call.fail(error.name, error.message)
                } catch {
                    call.fail("org.freedesktop.DBus.Error.Failed", "\(error)")
                }
            }
        }
    }

    /// Waits until the calls that are being handled are answered, for at most two seconds.
    func finishCalls() async { await connection.loop.wait { running.withLock { $0 > 0 } } }

    // MARK: Properties

    private static func answer(_ call: IncomingCall, _ status: BridgeStatus) {
        let arguments = call.message.arguments
        switch (call.message.member, call.message.signature) {
        case ("GetAll", "s"):
            call.reply([.variants(arguments[0].string == BridgeStatus.interface ? status.properties : [:])])
        case ("Get", "ss"):
            guard arguments[0].string == BridgeStatus.interface, let name = arguments[1].string,
                let value = status.properties[name]
            else {
                return call.fail("org.freedesktop.DBus.Error.UnknownProperty", "There is no such property here.")
            }
            call.reply([.variant(value)])
        case ("Set", "ssv"):
            call.fail("org.freedesktop.DBus.Error.PropertyReadOnly", "The properties of a bridge are read-only.")
        default: call.failUnknownMethod()
        }
    }

    // MARK: Introspection

    private static let types = [
        ("State", "s"), ("Detail", "s"), ("Since", "x"), ("Backlog", "t"), ("DeadLetters", "t"), ("RoundTrip", "t"),
        ("Peers", "aa{sv}"), ("Problems", "a(ss)"),
    ]

    private func introspection(at path: String) -> String {
        var lines = [
            "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"",
            " \"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">", "<node>",
        ]
        let prefix = path == "/" ? "/" : path + "/"
        if path == BridgeStatus.path {
            let interfaces = interfaces.withLock { $0 }
            for interface in interfaces {
                lines.append("  <interface name=\"\(interface.name)\">")
                lines += interface.methods.flatMap(\.introspection)
                if interface.name == BridgeStatus.interface { lines += Self.types.map(Self.property) }
                lines.append("  </interface>")
            }
            lines += Self.standard
        } else if BridgeStatus.path.hasPrefix(prefix) {
            let next = BridgeStatus.path.dropFirst(prefix.count).prefix { $0 != "/" }
            lines.append("  <node name=\"\(next)\"/>")
        }
        return (lines + ["</node>", ""]).joined(separator: "\n")
    }

    private static func property(_ name: String, _ type: String) -> String {
        "    <property name=\"\(name)\" type=\"\(type)\" access=\"read\"/>"
    }

    private static let standard = [
        "  <interface name=\"\(introspectable)\">",
        "    <method name=\"Introspect\"><arg name=\"xml\" type=\"s\" direction=\"out\"/></method>", "  </interface>",
        "  <interface name=\"\(properties)\">",
        "    <method name=\"Get\">", "      <arg name=\"interface\" type=\"s\" direction=\"in\"/>",
        "      <arg name=\"name\" type=\"s\" direction=\"in\"/>",
        "      <arg name=\"value\" type=\"v\" direction=\"out\"/>", "    </method>", "    <method name=\"GetAll\">",
        "      <arg name=\"interface\" type=\"s\" direction=\"in\"/>",
        "      <arg name=\"values\" type=\"a{sv}\" direction=\"out\"/>", "    </method>",
        "    <signal name=\"PropertiesChanged\">", "      <arg name=\"interface\" type=\"s\"/>",
        "      <arg name=\"changed\" type=\"a{sv}\"/>", "      <arg name=\"invalidated\" type=\"as\"/>",
        "    </signal>", "  </interface>",
    ]
}

extension BridgeMethod {
    fileprivate var introspection: [String] {
        func lines(_ arguments: [Argument], _ direction: String) -> [String] {
            arguments.map { "      <arg name=\"\($0.name)\" type=\"\($0.type)\" direction=\"\(direction)\"/>" }
        }
        return ["    <method name=\"\(name)\">"] + lines(input, "in") + lines(output, "out") + ["    </method>"]
    }
}

extension IncomingCall {
    fileprivate func failUnknownMethod() {
        fail("org.freedesktop.DBus.Error.UnknownMethod", "There is no method \(message.member ?? "") here.")
    }

    fileprivate func failUnknownObject() {
        fail("org.freedesktop.DBus.Error.UnknownObject", "The object of a bridge is \(BridgeStatus.path).")
    }
}
