import ChildProcesses
import Glibc
import NotifyClient

/// One connection to a broker, from the attempt to its end. Whoever wants to stay connected makes another one after ``ended``,
/// some time later: each is made anew, so that nothing of an old one is sent on a new one.
///
/// It has a thread of its own, because libmosquitto looks up names and opens connections while its caller waits. What happens is
/// told on that thread.
package final class BrokerConnection: Sendable {
    private let inbox: CommandInbox

    /// Begins to connect.
    ///
    /// - Parameter handler: called on the thread of the connection. It must not block.
    package init(_ options: ConnectionOptions, handler: @escaping @Sendable (ConnectionEvent) -> Void) {
        let inbox = CommandInbox()
        self.inbox = inbox
        onOwnThread { ConnectionLoop(options, inbox, handler).run() }
    }

    deinit { inbox.put(.end(afterFlush: false)) }

    /// Sends a message with QoS 1. ``ConnectionEvent/acknowledged(_:)`` has the token.
    package func publish(_ token: UInt64, topic: String, payload: [UInt8], isRetained: Bool) {
        inbox.put(.publish(token, topic: topic, payload: payload, isRetained: isRetained))
    }

    /// Subscribes again, so that the broker sends what it has kept.
    package func subscribeAgain() { inbox.put(.subscribe) }

    /// Reads from the broker, or stops for a while: at most ``ConnectionOptions/longestPause``.
    package func receive(_ isWanted: Bool) { inbox.put(.receive(isWanted)) }

    /// Lets a message be acknowledged: see ``ConnectionOptions/confirmsMessages``. Once for each message.
    package func confirm() { inbox.put(.confirm) }

    /// Ends the connection. The broker publishes the will.
    ///
    /// - Parameter afterFlush: whether messages that are not acknowledged are waited for, for at most two seconds.
    package func end(afterFlush: Bool = false) { inbox.put(.end(afterFlush: afterFlush)) }

    /// Disconnects, after messages that are not acknowledged, for which it waits for at most ten seconds. The broker does not
    /// publish the will.
    ///
    /// - Parameter endingSession: whether the session on the broker ends too; MQTT 5 only. With MQTT 3.1.1 a connection that
    ///   ``ConnectionOptions/isClean`` ends it.
    package func disconnect(endingSession: Bool = false) { inbox.put(.disconnect(endingSession: endingSession)) }
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
