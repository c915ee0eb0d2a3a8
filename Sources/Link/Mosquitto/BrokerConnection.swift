package import NotifyClient

/// One connection to a broker, from the attempt to its end. Whoever wants to stay connected makes another one after
/// ``ended``, some time later: each is made anew, so that nothing of an old one is sent on a new one.
///
/// What happens is told on a ``WorkLoop``, on which all but connecting is done.
package final class BrokerConnection: Sendable {
    private let loop: WorkLoop
    private let connection: ConnectionLoop

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - loop: where everything happens.
    ///   - handler: called on the loop. It must not block.
    package init(
        _ options: ConnectionOptions, on loop: WorkLoop, handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) {
        self.loop = loop
        connection = ConnectionLoop(options, on: loop, handler)
        loop.perform { [connection] in connection.begin() }
    }

    deinit { put(.end(afterFlush: false)) }

    private func put(_ command: ConnectionCommand) {
        loop.perform { [connection] in connection.handle(command) }
    }

    /// Sends a message with QoS 1. ``ConnectionEvent/acknowledged(_:)`` has the token.
    package func publish(_ token: UInt64, topic: String, payload: [UInt8], isRetained: Bool) {
        put(.publish(token, topic: topic, payload: payload, isRetained: isRetained))
    }

    /// Subscribes again, so that the broker sends what it has kept.
    package func subscribeAgain() { put(.subscribe) }

    /// Reads from the broker, or stops for a while: at most ``ConnectionOptions/longestPause``.
    package func receive(_ isWanted: Bool) { put(.receive(isWanted)) }

    /// Lets a message be acknowledged: see ``ConnectionOptions/confirmsMessages``. Once for each message.
    package func confirm() { put(.confirm) }

    /// Ends the connection. The broker publishes the will.
    ///
    /// - Parameter afterFlush: whether messages that are not acknowledged are waited for, for at most two seconds.
    package func end(afterFlush: Bool = false) { put(.end(afterFlush: afterFlush)) }

    /// Disconnects, after messages that are not acknowledged, for which it waits for at most ten seconds. The broker
    /// does not publish the will.
    ///
    /// - Parameter endingSession: whether the session on the broker ends too; MQTT 5 only. With MQTT 3.1.1 a connection
    ///   that ``ConnectionOptions/isClean`` ends it.
    package func disconnect(endingSession: Bool = false) { put(.disconnect(endingSession: endingSession)) }
}

/// What the owner of a connection wants.
enum ConnectionCommand: Sendable {
    case publish(UInt64, topic: String, payload: [UInt8], isRetained: Bool)
    case subscribe
    case receive(Bool)
    case confirm
    case end(afterFlush: Bool)
    case disconnect(endingSession: Bool)
}
