package import Linking
import Systemd
package import TOMLTables

/// A broker, and the account there. TLS 1.2 is the oldest version that is used.
package struct Broker: Sendable {
    package var server: LinkSettings.Server
    package var user: String?
    package var password: Secret?

    package init(_ server: LinkSettings.Server, user: String? = nil, password: Secret? = nil) {
        self.server = server
        self.user = user
        self.password = password
    }
}

/// The supported versions of MQTT.
package enum ProtocolVersion: Int32, Sendable {
    /// [MQTT 3.1.1](https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/mqtt-v3.1.1.html)
    case v311 = 4
    /// [MQTT 5](https://docs.oasis-open.org/mqtt/mqtt/v5.0/mqtt-v5.0.html)
    case v5 = 5
}

/// The options of one connection.
package struct ConnectionOptions: Sendable {
    package var broker: Broker
    /// The session on the broker; it outlives the connection.
    package var client: String
    /// What the broker publishes when the connection ends without a ``BrokerConnection/disconnect(endingSession:)``.
    package var will: Will?
    /// Topic filters, with QoS 1.
    package var subscriptions: [String]
    /// Filters of parts of what the broker keeps for ``subscriptions``. Where it keeps much, each is subscribed for a
    /// while, one after the other: a broker throws away what it cannot queue for a client, and mosquitto queues 1,000
    /// messages.
    package var parts: [String] = []
    /// A topic that this client may write and has subscribed to: an empty message on it shows that a part has come, and
    /// is not passed on.
    package var marker = ""
    /// After so many retained messages, parts are read.
    package var manyRetained = 500
    /// When no retained message has come for so long, all have.
    package var retainedSilence: Duration = .seconds(3)
    /// The version to begin with. A broker without MQTT 5 gets a second attempt with 3.1.1.
    package var version = ProtocolVersion.v5
    /// The broker that it names gets 3.1.1.
    package var downgrades: DowngradeFile?
    /// The longest silence between two packets.
    package var keepalive: Duration = .seconds(60)
    /// How long the broker may take to accept the connection, and to acknowledge a message.
    package var timeout: Duration = .seconds(30)
    /// Whether the session that there is ends, and none is kept.
    package var isClean = false
    /// How long a session without a connection is kept; MQTT 5 only.
    package var sessionExpiry: Duration = .seconds(7 * 24 * 3600)
    /// Whether each message is acknowledged only after `BrokerConnection.confirm()`. Until then nothing else is sent or
    /// received.
    package var confirmsMessages = false
    /// How long that may take; then the connection ends, and the broker sends the message again.
    package var confirmationTime: Duration = .seconds(20)
    /// The longest payload that is accepted.
    package var maximumPayload = 256 << 10
    /// So much longer messages are still received, without their content, on MQTT 5. On MQTT 3.1.1 those of any length
    /// are.
    static let excess = 256 << 10
    /// For how long nothing is read, at most, when the owner wants nothing. A broker that is not read from looks dead.
    package var longestPause: Duration = .seconds(20)
    /// How long the machine has slept since it was started, in microseconds.
    package var asleep: @Sendable () -> Int64 = { Clock.boottime() - Clock.monotonic() }

    package init(broker: Broker, client: String, will: Will? = nil, subscriptions: [String]) {
        self.broker = broker
        self.client = client
        self.will = will
        self.subscriptions = subscriptions
    }
}

/// What the broker publishes when a connection ends without a DISCONNECT. It is retained.
package struct Will: Equatable, Sendable {
    package var topic: String
    package var payload: [UInt8]

    package init(topic: String, payload: [UInt8]) {
        self.topic = topic
        self.payload = payload
    }
}

/// A message from the broker.
package struct BrokerMessage: Equatable, Sendable {
    package var topic: String
    /// `nil` if it is longer than ``ConnectionOptions/maximumPayload``.
    package var payload: [UInt8]?
    /// Whether the broker had kept it.
    package var isRetained = false
}

/// What happens on a connection, in order.
package enum ConnectionEvent: Sendable {
    /// The broker has accepted the connection and all subscriptions. `longestPacket` is in bytes, if the broker has a
    /// limit.
    case connected(version: ProtocolVersion, sessionPresent: Bool, longestPacket: Int?)
    case received(BrokerMessage)
    /// The broker has acknowledged a message.
    case acknowledged(UInt64)
    /// The broker refuses a message because it is too long. The connection goes on.
    case refusedAsTooLong(UInt64)
    /// The last event.
    case ended(ConnectionEnd)
}
