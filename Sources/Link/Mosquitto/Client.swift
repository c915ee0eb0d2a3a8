import CMosquitto
import Glibc
import Linking
import Systemd
import TOMLTables
import UserFiles

/// A `struct mosquitto`, for one connection. The only place that calls libmosquitto.
final class Client: @unchecked Sendable {
    // Proof: one thread at a time uses it. It is handed on with the last use of the one before.

    private let pointer: OpaquePointer
    private let context: UnsafeMutableRawPointer
    private let options: ConnectionOptions
    private let version: ProtocolVersion
    /// The first error of OpenSSL.
    private var problem: ConnectionEnd?

    /// Once, before anything else.
    static func initializeLibrary() { _ = isInitialized }
    private static let isInitialized = {
        notifyd_mqtt_note_aborts()
        return mosquitto_lib_init() == 0
    }()

    /// - Parameter owner: gets all callbacks; it must outlive this object.
    init(_ options: ConnectionOptions, version: ProtocolVersion, owner: ConnectionLoop) throws(ConnectionEnd) {
        self.options = options
        self.version = version
        let box = CallbackContext(owner)
        context = Unmanaged.passRetained(box).toOpaque()
        guard let pointer = mosquitto_new(options.client, options.isClean, context) else {
            Unmanaged<CallbackContext>.fromOpaque(context).release()
            throw ConnectionEnd(.refused, "\"\(options.client)\" is not a client id")
        }
        self.pointer = pointer
        box.client = self
        setCallbacks()
        try setOptions()
    }

    deinit {
        mosquitto_destroy(pointer)
        Unmanaged<CallbackContext>.fromOpaque(context).release()
    }

    private func setOptions() throws(ConnectionEnd) {
        try check(mosquitto_int_option(pointer, MOSQ_OPT_PROTOCOL_VERSION, version.rawValue))
        try check(mosquitto_int_option(pointer, MOSQ_OPT_TCP_NODELAY, 1))
        try check(mosquitto_int_option(pointer, MOSQ_OPT_RECEIVE_MAXIMUM, 256))
        if let user = options.broker.user {
            try check(mosquitto_username_pw_set(pointer, user, options.broker.password?.text))
        }
        if let will = options.will {
            try check(mosquitto_will_set(pointer, will.topic, Int32(will.payload.count), will.payload, 1, true))
        }
        // Otherwise it sends acknowledgements before anybody has seen the message.
        if options.confirmsMessages { try check(mosquitto_threaded_set(pointer, true)) }
        let server = options.broker.server
        guard server.isEncrypted else { return }
        // Without a path, certificates of the system are not found again after a reconnection: mosquitto #2288.
        let systemFolder = "/etc/ssl/certs"
        for file in [server.authorities, server.certificate?.chain, server.certificate?.key].compactMap(\.self) {
            if let mistake = NamedFile.mistake(at: file) {
                throw ConnectionEnd(
                    .refused, mistake,
                    advice: "Put that right, then: notifyd-mqtt --check-config && systemctl --user restart notifyd-mqtt"
                )
            }
        }
        let result = mosquitto_tls_set(
            pointer, server.authorities, server.authorities == nil ? systemFolder : nil, server.certificate?.chain,
            server.certificate?.key, nil)
        try check(result)
        try check(mosquitto_tls_opts_set(pointer, 1, "tlsv1.2", nil))
    }

    private func check(_ result: Int32) throws(ConnectionEnd) {
        guard result != MOSQ_ERR_SUCCESS.rawValue else { return }
        throw explain(result)
    }

    // MARK: What the loop does

    var socket: Int32 { mosquitto_socket(pointer) }
    var wantsToWrite: Bool { mosquitto_want_write(pointer) }

    func connect(to address: LinkSettings.Server.Address, keepalive: Duration) throws(ConnectionEnd) {
        let host: String
        let port: Int32
        switch address {
        case .host(let name, let number): (host, port) = (name, Int32(number))
        case .socket(let path): (host, port) = (path, 0)
        }
        let seconds = Int32(clamping: max(5, keepalive.components.seconds))
        guard version == .v5 else { return try check(mosquitto_connect_bind(pointer, host, port, seconds, nil)) }
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        let expiry = options.isClean ? 0 : UInt32(clamping: options.sessionExpiry.components.seconds)
        // A broker drops longer messages silently: what is too long for us has to come, so that it can be reported.
        let longest = UInt32(clamping: options.maximumPayload + ConnectionOptions.excess)
        try check(mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), expiry))
        try check(mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), longest))
        try check(mosquitto_connect_bind_v5(pointer, host, port, seconds, nil, properties))
    }

    /// Tells the broker that the connection ends, so that it does not publish the will. Not for callbacks.
    func disconnect(endingSession: Bool) {
        let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        defer { if copy >= 0 { Self.linger(copy) } }
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        if endingSession, version == .v5 {
            mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), 0)
        }
        mosquitto_disconnect_v5(pointer, 0, properties)
    }

    /// Closes a socket when the broker has closed its side, or after a second. One that is closed while there is
    /// something to read is reset, and the broker may not get the last packets.
    private static func linger(_ socket: Int32) {
        shutdown(socket, Int32(SHUT_WR))
        let deadline = Clock.monotonic() + 1_000_000
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        while case let left = deadline - Clock.monotonic(), left > 0 {
            var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptor, 1, Int32(left / 1000) + 1)
            if ready < 0, errno == EINTR { continue }
            guard ready > 0, recv(socket, &bytes, bytes.count, 0) > 0 else { break }
        }
        close(socket)
    }

    /// - Returns: the id of the packet; a failure of the kind `messageTooLong` leaves the connection as it is.
    func publish(_ topic: String, _ payload: [UInt8], isRetained: Bool) -> Result<Int32, ConnectionEnd> {
        var id: Int32 = 0
        let result = mosquitto_publish(pointer, &id, topic, Int32(payload.count), payload, 1, isRetained)
        return result == MOSQ_ERR_SUCCESS.rawValue ? .success(id) : .failure(explain(result))
    }

    /// Asks for all filters in one packet.
    func subscribe(_ filters: [String]) -> Result<Int32, ConnectionEnd> {
        var id: Int32 = 0
        let copies = filters.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let result = mosquitto_subscribe_multiple(pointer, &id, Int32(copies.count), copies, 1, 0, nil)
        return result == MOSQ_ERR_SUCCESS.rawValue ? .success(id) : .failure(explain(result))
    }

    func unsubscribe(_ filter: String) -> Result<Int32, ConnectionEnd> {
        var id: Int32 = 0
        let result = mosquitto_unsubscribe(pointer, &id, filter)
        return result == MOSQ_ERR_SUCCESS.rawValue ? .success(id) : .failure(explain(result))
    }

    /// - Returns: why the connection has ended.
    func read() -> ConnectionEnd? {
        repeat {
            let result =
                version == .v5
                ? notifyd_mqtt_read(pointer, options.downgrades?.path, options.broker.server.address.description)
                : mosquitto_loop_read(pointer, 1)
            if result != MOSQ_ERR_SUCCESS.rawValue { return explain(result) }
        } while socket >= 0 && mosquitto_ssl_get(pointer).map { SSL_pending($0) > 0 } ?? false
        return nil
    }

    func write() -> ConnectionEnd? {
        let result = mosquitto_loop_write(pointer, 1)
        return result == MOSQ_ERR_SUCCESS.rawValue ? nil : explain(result)
    }

    /// Pings the broker, or finds that it has not answered the last time.
    func keepAlive() -> ConnectionEnd? {
        let result = mosquitto_loop_misc(pointer)
        return result == MOSQ_ERR_SUCCESS.rawValue ? nil : explain(result)
    }

    // MARK: Explanations of errors

    private func explain(_ result: Int32) -> ConnectionEnd {
        let number = errno
        let place = "\(options.broker.server.address)"
        switch mosq_err_t(result) {
        case MOSQ_ERR_CONN_LOST, MOSQ_ERR_NO_CONN, MOSQ_ERR_CONN_REFUSED: return explain(.closed)
        case MOSQ_ERR_MALFORMED_PACKET, MOSQ_ERR_PROTOCOL: return .malformed
        case MOSQ_ERR_KEEPALIVE: return ConnectionEnd(.unavailable, "the broker does not answer")
        case MOSQ_ERR_EAI, MOSQ_ERR_LOOKUP:
            return ConnectionEnd(.unavailable, "the address of \(place) is not known")
        case MOSQ_ERR_ERRNO where number == EPROTO:
            // A broker that wants a certificate says so after it was greeted, and resets the connection at once.
            return explain(
                ConnectionEnd(
                    .unavailable, "the broker has ended the TLS connection; it may want a certificate of this device",
                    advice: "If it does, name its file in ~/.config/notifyd/mqtt.toml; notifyd-mqtt.toml(5), "
                        + "“certificate”."))
        case MOSQ_ERR_ERRNO:
            return explain(
                ConnectionEnd(.unavailable, "\(place) cannot be reached: \(String(cString: strerror(number)))"))
        case MOSQ_ERR_TLS, MOSQ_ERR_TLS_HANDSHAKE:
            return explain(ConnectionEnd(.refused, "no TLS connection to \(place) can be made"))
        case MOSQ_ERR_OVERSIZE_PACKET, MOSQ_ERR_PAYLOAD_SIZE:
            return ConnectionEnd(.messageTooLong, "the broker does not take messages of this size")
        default:
            return explain(ConnectionEnd(.unavailable, String(cString: mosquitto_strerror(result))))
        }
    }

    /// The error of OpenSSL, if there was one, explains more.
    func explain(_ end: ConnectionEnd) -> ConnectionEnd {
        problem ?? end
    }

    /// A line of libmosquitto's log. While it is written, the reason is still there.
    fileprivate func logged(_ line: String) {
        guard problem == nil else { return }
        if line.contains("host name verification failed") {
            problem = ConnectionEnd(foreignCertificateAt: options.broker.server.address)
            return
        }
        guard line.contains("OpenSSL Error"), let session = mosquitto_ssl_get(pointer) else { return }
        let result = SSL_get_verify_result(session)
        guard result != 0 else {
            // What OpenSSL says of its own ends with the reason.
            let reason = line.split(separator: ":").last.map(String.init) ?? line
            // The broker was killed, or the network is gone.
            guard !reason.contains("unexpected eof") else { return }
            let isPlain = reason.contains("wrong version number")
            problem = ConnectionEnd(
                .refused, isPlain ? "TLS is not spoken at \(options.broker.server.address)" : "TLS: \(reason)")
            return
        }
        problem = ConnectionEnd(
            badCertificate: result, String(cString: X509_verify_cert_error_string(result)))
    }

    // MARK: Callbacks

    private func setCallbacks() {
        mosquitto_connect_v5_callback_set(pointer) { _, context, code, flags, properties in
            var seconds: UInt16 = 0
            let found = mosquitto_property_read_int16(
                properties, Int32(MQTT_PROP_SERVER_KEEP_ALIVE.rawValue), &seconds, false)
            var bytes: UInt32 = 0
            let isLimited = mosquitto_property_read_int32(
                properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), &bytes, false)
            owner(context)?.connectionAnswered(
                code, sessionPresent: flags & 1 != 0, serverKeepalive: found == nil ? nil : seconds,
                longestPacket: isLimited == nil ? nil : Int(bytes))
        }
        mosquitto_disconnect_v5_callback_set(pointer) { _, context, code, _ in owner(context)?.disconnected(code) }
        mosquitto_subscribe_callback_set(pointer) { _, context, id, count, codes in
            let granted = (0..<Int(count)).map { codes?[$0] ?? 0x80 }
            owner(context)?.subscriptionAnswered(id, granted)
        }
        mosquitto_publish_v5_callback_set(pointer) { _, context, id, code, _ in
            owner(context)?.messageAcknowledged(id, code)
        }
        mosquitto_message_callback_set(pointer) { _, context, message in
            guard let message = message?.pointee, let topic = message.topic else { return }
            let context = context.map { Unmanaged<CallbackContext>.fromOpaque($0).takeUnretainedValue() }
            let count = Int(message.payloadlen)
            var payload: [UInt8]?
            if count <= context?.client?.options.maximumPayload ?? 0 {
                payload = Array(UnsafeRawBufferPointer(start: message.payload, count: count))
            }
            context?.owner.received(
                BrokerMessage(topic: String(cString: topic), payload: payload, isRetained: message.retain))
        }
        mosquitto_log_callback_set(pointer) { _, context, level, line in
            guard level == MOSQ_LOG_ERR, let line, let context else { return }
            Unmanaged<CallbackContext>.fromOpaque(context).takeUnretainedValue().client?.logged(String(cString: line))
        }
    }
}

/// What the callbacks of libmosquitto get.
private final class CallbackContext {
    unowned let owner: ConnectionLoop
    weak var client: Client?

    init(_ owner: ConnectionLoop) {
        self.owner = owner
    }
}

private func owner(_ context: UnsafeMutableRawPointer?) -> ConnectionLoop? {
    context.map { Unmanaged<CallbackContext>.fromOpaque($0).takeUnretainedValue().owner }
}
