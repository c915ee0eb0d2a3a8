/// A D-Bus message as a plain value. Threads exchange this value, never a C pointer.
///
/// [Messages](https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-messages)
package struct Message: Sendable {
    package enum Kind: Sendable { case methodCall, methodReturn, error, signal }

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
