import CMosquitto
import Glibc
import Linking
import NotifyClient
import Systemd

/// What happens on one connection.
///
/// libmosquitto's own loop ends on errors of TLS, names and passwords, and wakes up every second; here a ``WorkLoop``
/// waits for the socket and for one timer. Looking up a name, connecting and disconnecting block, so they have a thread
/// of their own.
final class ConnectionLoop: @unchecked Sendable {
    // Proof: everything but `init`, `opening` and `leaving` runs on `loop`.

    private let options: ConnectionOptions
    private let loop: WorkLoop
    private let handler: @Sendable (ConnectionEvent) -> Void
    private let timer: Int32

    // One attempt.
    private var client: Client?
    /// Whether a client is connecting on its own thread.
    private var isOpening = false
    private var isVersionRefused = false
    private var isOver = false
    private var version: ProtocolVersion
    private var end: ConnectionEnd?
    private var hasAnswered = false
    private var isConnected = false
    private var sessionPresent = false
    private var longestPacket: Int?
    private var isFlushing = false
    /// Whether the connection is to end with a DISCONNECT, and the session with it.
    private var sendsDisconnect = false
    private var endsSession = false
    private var sent: [Int32: (token: UInt64, topic: String)] = [:]
    /// What the broker has not answered yet.
    private var subscription: (id: Int32, filters: [String])?
    /// `nil` once all have come.
    private var retained: RetainedMessages?
    /// Messages that were not confirmed, and until when they must be.
    private var unconfirmed = 0
    private var confirmBy: Int64?

    /// The retained messages, which the broker sends after a subscription.
    private struct RetainedMessages {
        /// The filter of the part that is being read; `nil`: everything is.
        var part: String?
        /// Those of the next parts.
        var rest: ArraySlice<String>
        var count = 0
        var lastHeard: Int64 = 0
    }

    // Time, in microseconds of the clock that goes on while the machine sleeps.
    private var keepalive: Int64
    /// When libmosquitto has last sent a packet, at the earliest.
    private var lastSent: Int64 = 0
    private var lastHeard: Int64 = 0
    private var deadline: Int64?
    private var pausedUntil: Int64?
    private var asleep: Int64 = 0
    /// When the timer fires next.
    private var armed: Int64?
    /// What is waited for.
    private var watched: (socket: Int32, events: Int16)?

    init(
        _ options: ConnectionOptions, on loop: WorkLoop, _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) {
        self.options = options
        self.loop = loop
        self.handler = handler
        version = options.downgrades?.names(options.broker.server.address) ?? false ? .v311 : options.version
        keepalive = options.keepalive.microseconds
        timer = notifyd_mqtt_timer()
        precondition(timer >= 0, "no timer can be created")
    }

    deinit { close(timer) }

    // MARK: Attempts

    /// Connects, and handles everything until the connection ends.
    func begin() {
        Client.initializeLibrary()
        // It holds this object until everything is over.
        loop.watch(timer, for: Int16(POLLIN)) { [self] _ in
            notifyd_mqtt_timer_clear(timer)
            armed = nil
            proceed()
        }
        attempt()
    }

    private func attempt() {
        end = nil
        isVersionRefused = false
        isOpening = true
        let begin = Clock.boottime()
        asleep = options.asleep()
        lastSent = begin
        lastHeard = begin
        deadline = begin + options.timeout.microseconds
        onOwnThread { [self, version] in
            let result = opening(version)
            loop.perform { self.opened(result) }
        }
    }

    private func opening(_ version: ProtocolVersion) -> Result<Client, ConnectionEnd> {
        do throws(ConnectionEnd) {
            let client = try Client(options, version: version, owner: self)
            try client.connect(to: options.broker.server.address, keepalive: options.keepalive)
            return .success(client)
        } catch {
            return .failure(error)
        }
    }

    private func opened(_ result: Result<Client, ConnectionEnd>) {
        isOpening = false
        switch result {
        case .success(let client):
            self.client = client
            proceed()
        case .failure(let error): attemptEnded(end ?? error)
        }
    }

    /// Ends the attempt if there is a reason, and waits for what comes next.
    private func proceed() {
        guard let client, !isOpening else { return }
        if client.socket < 0 { end = end ?? client.explain(.closed) } else { checkTime() }
        guard let end else { return wait(client) }
        unwatch()
        // When it is released, it closes the socket: the broker publishes the will, unless it was told that the
        // connection ends.
        self.client = nil
        guard end == .requested, isConnected, sendsDisconnect else { return attemptEnded(end) }
        onOwnThread { [self] in
            client.disconnect(endingSession: endsSession)
            loop.perform { self.attemptEnded(end) }
        }
    }

    private func attemptEnded(_ end: ConnectionEnd) {
        if end == .malformed, version == .v5 { options.downgrades?.write(options.broker.server.address) }
        // A broker of 3.1.1 refuses the version, or closes the connection, or answers what is not MQTT 5.
        let isOld = isVersionRefused || end == .closed && !hasAnswered || end == .malformed
        if version == .v5, !isConnected, end.kind != .requested, isOld {
            version = .v311
            return attempt()
        }
        isOver = true
        loop.watch(timer, for: 0) { _ in }
        handler(.ended(end))
    }

    // MARK: Commands

    func perform(_ command: (ConnectionLoop) -> Void) {
        guard !isOver else { return }
        command(self)
        proceed()
    }

    func publish(_ token: UInt64, _ topic: String, _ payload: [UInt8], isRetained: Bool) {
        guard isConnected, end == nil, !isFlushing, let client else { return }
        switch client.publish(topic, payload, isRetained: isRetained) {
        case .success(let id):
            if sent.isEmpty { lastHeard = Clock.boottime() }
            sent[id] = (token, topic)
            lastSent = Clock.boottime()
        case .failure(let error) where error.kind == .messageTooLong: handler(.refusedAsTooLong(token))
        case .failure(let error): end = error
        }
    }

    func subscribeAgain() {
        if isConnected, !options.subscriptions.isEmpty { subscribeAll() }
    }

    func receive(_ isWanted: Bool) {
        pausedUntil = isWanted ? nil : Clock.boottime() + options.longestPause.microseconds
    }

    func confirm() {
        unconfirmed -= 1
        if unconfirmed <= 0 { (unconfirmed, confirmBy) = (0, nil) }
    }

    /// Ends the connection.
    ///
    /// - Parameter time: to wait for the acknowledgements of all messages, at most; `nil`: none.
    func finish(within time: Duration?) {
        if let time, isConnected, !sent.isEmpty {
            isFlushing = true
            deadline = Clock.boottime() + time.microseconds
        } else {
            fail(.requested)
        }
    }

    func disconnect(endingSession: Bool) {
        sendsDisconnect = true
        endsSession = endingSession
        finish(within: .seconds(10))
    }

    // MARK: Subscriptions

    private func subscribeAll() {
        if let part = retained?.part, let client { recordSent(client.unsubscribe(part)) }
        retained = options.parts.isEmpty ? nil : RetainedMessages(rest: options.parts[...])
        subscribe(options.subscriptions)
    }

    private func subscribe(_ filters: [String]) {
        guard let client else { return }
        switch client.subscribe(filters) {
        case .success(let id):
            subscription = (id, filters)
            lastSent = Clock.boottime()
        case .failure(let error): end = error
        }
    }

    func subscriptionAnswered(_ id: Int32, _ codes: [Int32]) {
        guard let (awaited, filters) = subscription, id == awaited else { return }
        subscription = nil
        // What is refused of a part comes when it changes.
        guard retained?.part == nil else { return publishMarker() }
        if let refused = zip(filters, codes).first(where: { $0.1 >= 0x80 }) {
            fail(ConnectionEnd(noReading: refused.0))
        }
        becomeConnected()
    }

    /// A broker keeps the order of what it sends to a client, so this comes after all that it had retained of the part.
    private func publishMarker() {
        retained?.lastHeard = Clock.boottime()
        guard end == nil, !isFlushing, let client else { return }
        recordSent(client.publish(options.marker, [], isRetained: false))
    }

    /// Goes on to the next part.
    private func readNextPart() {
        guard var retained, end == nil, let client else { return }
        if let part = retained.part { recordSent(client.unsubscribe(part)) }
        retained.part = retained.rest.popFirst()
        retained.lastHeard = Clock.boottime()
        self.retained = retained.part == nil ? nil : retained
        if let part = retained.part { subscribe([part]) }
    }

    private func recordSent(_ result: Result<Int32, ConnectionEnd>) {
        switch result {
        case .success: lastSent = Clock.boottime()
        case .failure(let error): fail(error)
        }
    }

    /// When everything has come that the broker has retained, or of a part of it.
    private var retainedEnd: Int64? {
        guard let retained, pausedUntil == nil, !isFlushing,
            retained.part != nil || retained.count >= options.manyRetained
        else {
            return nil
        }
        return retained.lastHeard + options.retainedSilence.microseconds
    }

    // MARK: Waiting

    private func wait(_ client: Client) {
        let now = Clock.boottime()
        if let until = pausedUntil, until <= now { pausedUntil = nil }
        arm(now)
        // What waits to be written begins with the acknowledgements of these messages.
        let isHolding = unconfirmed > 0
        let reading = pausedUntil == nil && !isHolding ? Int16(POLLIN) : 0
        let writing = client.wantsToWrite && !isHolding ? Int16(POLLOUT) : 0
        let wanted = (client.socket, reading | writing)
        if let watched {
            if watched == wanted { return }
            if watched.socket != wanted.0 { unwatch() }
        }
        watched = wanted
        loop.watch(wanted.0, for: wanted.1) { [unowned self] in ready($0) }
    }

    private func unwatch() {
        if let watched { loop.watch(watched.socket, for: 0) { _ in } }
        watched = nil
    }

    private func ready(_ events: Int16) {
        guard let client else { return }
        if events & Int16(POLLOUT) != 0 { fail(client.write()) }
        if end == nil, events & Int16(POLLIN | POLLHUP | POLLERR) != 0 { fail(client.read()) }
        proceed()
    }

    /// Ends the connection, unless a callback has had a better reason to.
    private func fail(_ reason: ConnectionEnd?) { end = end ?? reason }

    /// A timer that fires too early does no harm.
    private func arm(_ now: Int64) {
        var moments = [lastSent + keepalive]
        if let deadline { moments.append(deadline) }
        if let pausedUntil { moments.append(pausedUntil) }
        if let confirmBy { moments.append(confirmBy) }
        if let retainedEnd { moments.append(retainedEnd) }
        if !sent.isEmpty, unconfirmed == 0 { moments.append(lastHeard + options.timeout.microseconds) }
        let next = max(moments.min()!, now + 1000)
        if let armed, armed <= next { return }
        armed = next
        notifyd_mqtt_timer_set(timer, next)
    }

    private func checkTime() {
        let now = Clock.boottime()
        let asleep = options.asleep()
        if asleep - self.asleep >= 5_000_000 { fail(.slept) }
        if let deadline, deadline <= now {
            fail(isFlushing ? .requested : ConnectionEnd(.unavailable, "the broker does not answer"))
        }
        if !sent.isEmpty, lastHeard + options.timeout.microseconds <= now, pausedUntil == nil, unconfirmed == 0 {
            fail(ConnectionEnd(.unavailable, "the broker does not acknowledge messages"))
        }
        if let confirmBy, confirmBy <= now {
            fail(ConnectionEnd(.unavailable, "messages are not taken here in time"))
        }
        if let retainedEnd, retainedEnd <= now { readNextPart() }
        guard end == nil, lastSent + keepalive <= now, let client else { return }
        lastSent = now
        fail(client.keepAlive())
    }

    // MARK: Callbacks of libmosquitto

    func connectionAnswered(
        _ code: Int32, sessionPresent: Bool, serverKeepalive: UInt16?, longestPacket: Int?
    ) {
        hasAnswered = true
        guard code == 0 else {
            isVersionRefused = version == .v5 ? code == 0x84 : code == 1
            fail(ConnectionEnd(refusedWith: code, version: version, user: options.broker.user))
            return
        }
        if let serverKeepalive, serverKeepalive > 0 { keepalive = Int64(serverKeepalive) * 1_000_000 }
        self.sessionPresent = sessionPresent
        self.longestPacket = longestPacket
        if options.subscriptions.isEmpty { becomeConnected() } else { subscribeAll() }
    }

    private func becomeConnected() {
        guard !isConnected, end == nil else { return }
        isConnected = true
        deadline = nil
        handler(.connected(version: version, sessionPresent: sessionPresent, longestPacket: longestPacket))
    }

    func messageAcknowledged(_ id: Int32, _ code: Int32) {
        lastHeard = Clock.boottime()
        guard let (token, topic) = sent.removeValue(forKey: id) else { return }
        switch code {
        case ..<0x80: handler(.acknowledged(token))
        case ConnectionEnd.tooLong: handler(.refusedAsTooLong(token))
        default:
            fail(ConnectionEnd(noWriting: topic, code: code))
            return
        }
        if isFlushing, sent.isEmpty { fail(.requested) }
    }

    func received(_ message: BrokerMessage) {
        lastHeard = Clock.boottime()
        // Its acknowledgement is under way already.
        lastSent = lastHeard
        if !options.parts.isEmpty, message.topic == options.marker, message.payload == [] {
            if retained?.part != nil { readNextPart() }
            return
        }
        if message.isRetained {
            retained?.count += 1
            retained?.lastHeard = lastHeard
        }
        if options.confirmsMessages {
            unconfirmed += 1
            confirmBy = confirmBy ?? lastHeard + options.confirmationTime.microseconds
        }
        handler(.received(message))
    }

    func disconnected(_ code: Int32) {
        guard end == nil, code >= 0x80 else { return }
        end = ConnectionEnd(disconnectedWith: code)
    }
}
