import Linking
package import NotifyClient
import UserFiles

/// One connection to a broker, from the attempt to its end. Whoever wants to stay connected makes another one after
/// ``ended``, some time later: each is made again, so that nothing of an old one is sent on a new one.
///
/// Everything but connecting is done on a ``WorkLoop``, and the handler is called there.
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

    deinit { end() }

    private func perform(_ command: @escaping @Sendable (ConnectionLoop) -> Void) {
        loop.perform { [connection] in connection.perform(command) }
    }

    /// Sends a message with QoS 1. ``ConnectionEvent/acknowledged(_:)`` has the token.
    package func publish(_ token: UInt64, topic: String, payload: [UInt8], isRetained: Bool) {
        perform { $0.publish(token, topic, payload, isRetained: isRetained) }
    }

    /// Subscribes again, so that the broker sends what it has kept.
    package func subscribeAgain() { perform { $0.subscribeAgain() } }

    /// Reads from the broker, or stops for a while: at most ``ConnectionOptions/longestPause``.
    package func receive(_ isWanted: Bool) { perform { $0.receive(isWanted) } }

    /// Lets a message be acknowledged: see ``ConnectionOptions/confirmsMessages``. Once for each message.
    package func confirm() { perform { $0.confirm() } }

    /// Ends the connection. The broker publishes the will.
    ///
    /// - Parameter afterFlush: whether to wait for the acknowledgements of all messages, for at most two seconds.
    package func end(afterFlush: Bool = false) { perform { $0.finish(within: afterFlush ? .seconds(2) : nil) } }

    /// Disconnects, after waiting for the acknowledgements of all messages, for at most ten seconds. The broker does
    /// not publish the will.
    ///
    /// - Parameter endingSession: whether the session on the broker ends too; MQTT 5 only. With MQTT 3.1.1 a connection
    ///   that ``ConnectionOptions/isClean`` ends it.
    package func disconnect(endingSession: Bool = false) { perform { $0.disconnect(endingSession: endingSession) } }
}

/// Why a connection has ended, or did not come about.
package struct ConnectionEnd: Error, Equatable, Sendable, CustomStringConvertible {
    /// What can be done about it.
    package enum Kind: Equatable, Sendable {
        /// Its owner has ended it.
        case requested
        /// Another connection has the same session.
        case takenOver
        /// A message was longer than the broker accepts.
        case messageTooLong
        /// A person has to change something: the password, the access list, a certificate.
        case refused
        /// The broker or the network is not there. It may be later.
        case unavailable
    }

    package var kind: Kind
    /// What was wrong, in words and without secrets.
    package var description: String
    /// What to do about it, where that is known.
    package var advice: String?

    init(_ kind: Kind, _ description: String, advice: String? = nil) {
        self.kind = kind
        self.description = description
        self.advice = advice
    }

    private static let file = "~/.config/notifyd/mqtt.toml"
    private static let password =
        "Correct 'user', or the password where 'password' in \(file) says it is; it is read before each attempt, but a "
        + "credential of the unit only when that starts: systemctl --user restart notifyd-mqtt"
    private static let accessList =
        "Have the broker allow it; notifyd-mqtt(8), “Access list”, has the lines for mosquitto."

    /// MQTT 5: "packet too large".
    static let tooLong: Int32 = 0x95

    /// Whether the broker has ended the connection without a reason.
    package var isSilent: Bool { self == .closed }

    static let malformed = ConnectionEnd(.unavailable, "the broker has sent a packet that cannot be read")
    static let requested = ConnectionEnd(.requested, "the connection was closed here")
    static let takenOver = ConnectionEnd(.takenOver, "another connection has taken over the session")
    static let slept = ConnectionEnd(.unavailable, "the machine has slept")
    static let closed = ConnectionEnd(.unavailable, "the broker has closed the connection")

    /// A refused CONNECT. MQTT 3.1.1 section 3.2.2.3, and MQTT 5 section 3.2.2.2.
    init(refusedWith code: Int32, version: ProtocolVersion, user: String?) {
        let who = user.map { "\"\($0)\"" } ?? "nobody in particular"
        let isOld = version == .v311
        switch code {
        case 0x86 where !isOld, 4 where isOld:
            self.init(
                .refused, "the broker does not accept user name and password of \(who)", advice: Self.password)
        case 0x87 where !isOld, 5 where isOld:
            // Some brokers say this of a wrong password too.
            self.init(
                .refused, "the broker does not let \(who) in: the password or the permissions are not right",
                advice: Self.password)
        case 0x85 where !isOld, 2 where isOld: self.init(.refused, "the broker does not accept the client id")
        case 0x8A where !isOld: self.init(.refused, "the broker has banned this client")
        case 0x84 where !isOld, 1 where isOld:
            self.init(.refused, "the broker speaks neither MQTT 5 nor MQTT 3.1.1")
        case 0x9A where !isOld: self.init(.refused, "the broker keeps no retained messages")
        case 0x9B where !isOld: self.init(.refused, "the broker has no QoS 1")
        case 0x95 where !isOld: self.init(.refused, "the broker does not take messages of this size")
        case 0x88 where !isOld, 0x89 where !isOld, 3 where isOld:
            self.init(.unavailable, "the broker is busy or shutting down")
        case 0x9C where !isOld, 0x9D where !isOld: self.init(.refused, "the broker has moved to another server")
        default: self.init(.unavailable, "the broker refuses the connection with code \(code)")
        }
    }

    /// A DISCONNECT of the broker, or an error of libmosquitto. MQTT 5 section 3.14.2.1.
    init(disconnectedWith code: Int32) {
        switch code {
        case 0x8E: self = .takenOver
        case 0x87: self.init(.refused, "the broker has ended the connection: not authorized")
        case 0x8B: self.init(.unavailable, "the broker is shutting down")
        case 0x8D: self.init(.unavailable, "the broker has heard nothing for too long")
        case Self.tooLong: self.init(.messageTooLong, "the broker does not take messages of this size")
        case 0x96, 0x97, 0x9F: self.init(.unavailable, "the broker has a limit that is reached")
        case 0x98: self.init(.unavailable, "the broker's administrator has ended the connection")
        case 0x9C, 0x9D: self.init(.refused, "the broker has moved to another server")
        case 0x80...: self.init(.unavailable, "the broker has ended the connection with code \(code)")
        default: self = .closed
        }
    }

    /// A subscription that was refused.
    init(noReading topic: String) {
        self.init(
            .refused, "the broker's access list does not allow to read \"\(topic)\"", advice: Self.accessList)
    }

    /// A message that was refused. MQTT 5 section 3.4.2.1.
    init(noWriting topic: String, code: Int32) {
        switch code {
        case 0x87:
            self.init(
                .refused, "the broker's access list does not allow to write \"\(topic)\"", advice: Self.accessList)
        case 0x97: self.init(.unavailable, "a quota of the broker is used up")
        default: self.init(.unavailable, "the broker refuses a message for \"\(topic)\" with code \(code)")
        }
    }

    /// The certificate of the broker is for another name.
    init(foreignCertificateAt address: LinkSettings.Server.Address) {
        self.init(
            .refused, "the certificate of the broker is not for \(address)",
            advice:
                "Write the name that is in the certificate into 'server' of \(Self.file), or have the broker get one "
                + "for this name.")
    }

    /// OpenSSL does not accept the certificate of the broker.
    ///
    /// - Parameters:
    ///   - result: a number of its x509_vfy.h.
    ///   - reason: its explanation.
    init(badCertificate result: Int, _ reason: String) {
        // X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, _SELF_SIGNED_CERT_IN_CHAIN, _UNABLE_TO_GET_ISSUER_CERT_LOCALLY and
        // _UNABLE_TO_VERIFY_LEAF_SIGNATURE.
        let isAuthorityUnknown = (18...21).contains(result)
        // _CERT_NOT_YET_VALID and _CERT_HAS_EXPIRED.
        let isOutOfTime = (9...10).contains(result)
        self.init(
            .refused,
            "the certificate of the broker is not accepted: \(reason)"
                + (isAuthorityUnknown
                    ? "; if it is signed by your own authority, name its file: 'authorities' in "
                        + "[link] of mqtt.toml, or "
                        + "--authorities of \"notifyctl link init\" and \"join\"" : ""),
            advice: isOutOfTime
                ? "Have the broker get a new one; if it is a new one, see whether the clock is right: timedatectl"
                : "If an authority of your own has signed it, name its file in \(Self.file): authorities = "
                    + "\"/path/ca.pem\". Otherwise the broker needs another one.")
    }
}

/// A file that names the broker with which MQTT 5 is not used any more, because it has sent a packet that cannot be
/// read. libmosquitto may have ended the process because of it. MQTT 3.1.1 has no properties, so nothing can be wrong
/// in them.
package struct DowngradeFile: Sendable {
    /// MQTT 5 is tried again when this file is deleted.
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// Whether it names this broker.
    func names(_ broker: LinkSettings.Server.Address) -> Bool {
        let text = Array(broker.description.utf8)
        return (try? FileKind.read(path, atMost: text.count + 1)) == text
    }

    /// If this fails, the next connection begins with MQTT 5 again.
    func write(_ broker: LinkSettings.Server.Address) { try? WholeFile.write(broker.description, to: path) }
}
