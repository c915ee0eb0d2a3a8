/// A call somebody made to us. It may be answered at once, later, or never.
package struct IncomingCall: Sendable {
    package let message: Message
    let connection: Connection

    package func reply(_ arguments: [Value] = []) {
        if message.expectsReply { connection.send(message.reply(arguments)) }
    }

    package func fail(_ name: String, _ text: String) {
        if message.expectsReply { connection.send(message.errorReply(name, text)) }
    }
}
