import CMosquitto
import Glibc
import NotifyClient
import Systemd

/// What happens on one connection.
///
/// libmosquitto's own loop ends on errors of TLS, names and passwords, and wakes up every second; here a ``WorkLoop``
/// waits for the socket and for one timer. To look up a name, to connect and to take leave are calls that wait, so they
/// have a thread of their own.
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
    /// Set if the connection is to end with a DISCONNECT.
    private var farewell: Farewell?
    private var sent: [Int32: (token: UInt64, topic: String)] = [:]
    /// What the broker has not answered yet.
    private var subscription: (id: Int32, filters: [String])?
    /// `nil` if nothing is read of it any more.
    private var kept: KeptMessages?
    /// Messages that were not confirmed, and until when they must be.
    private var unconfirmed = 0
    private var confirmBy: Int64?

    /// What the broker has kept and sends to those who subscribe.
    private struct KeptMessages {
        /// The filter of the part that is being read; `nil`: everything is.
        var part: String?
        /// Those of the next parts.
        var rest: ArraySlice<String>
        var count = 0
        var lastHeard: Int64 = 0
    }

    private struct Farewell {
        let endsSession: Bool
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
        version = options.note?.names(options.broker.address) ?? false ? .v311 : options.version
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
            try client.connect(to: options.broker.address, keepalive: options.keepalive)
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
        guard end == .asked, isConnected, let farewell else { return attemptEnded(end) }
        onOwnThread { [self] in
            client.disconnect(endingSession: farewell.endsSession)
            loop.perform { self.attemptEnded(end) }
        }
    }

    private func attemptEnded(_ end: ConnectionEnd) {
        if end == .malformed, version == .v5 { options.note?.write(options.broker.address) }
        // A broker of 3.1.1 says so, or closes the connection without a word, or answers what is not MQTT 5.
        let isOld = isVersionRefused || end == .closed && !hasAnswered || end == .malformed
        if version == .v5, !isConnected, end.kind != .asked, isOld {
            version = .v311
            return attempt()
        }
        isOver = true
        loop.watch(timer, for: 0) { _ in }
        handler(.ended(end))
    }

    // MARK: Commands

    func handle(_ command: ConnectionCommand) {
        guard !isOver else { return }
        switch command {
        case .publish(let token, let topic, let payload, let isRetained):
            guard isConnected, end == nil, !isFlushing, let client else { return }
            switch client.publish(topic, payload, isRetained: isRetained) {
            case .success(let id):
                if sent.isEmpty { lastHeard = Clock.boottime() }
                sent[id] = (token, topic)
                lastSent = Clock.boottime()
            case .failure(let error) where error.kind == .messageTooLong: handler(.refusedAsTooLong(token))
            case .failure(let error): end = error
            }
        case .subscribe: if isConnected, !options.subscriptions.isEmpty { subscribeAll() }
        case .receive(let isWanted):
            pausedUntil = isWanted ? nil : Clock.boottime() + options.longestPause.microseconds
        case .confirm:
            unconfirmed -= 1
            if unconfirmed <= 0 { (unconfirmed, confirmBy) = (0, nil) }
        case .end(let afterFlush):
            if afterFlush, isConnected, !sent.isEmpty {
                isFlushing = true
                deadline = Clock.boottime() + 2_000_000
            } else {
                end = end ?? .asked
            }
        case .disconnect(let endingSession):
            farewell = Farewell(endsSession: endingSession)
            if isConnected, !sent.isEmpty {
                isFlushing = true
                deadline = Clock.boottime() + 10_000_000
            } else {
                end = end ?? .asked
            }
        }
        proceed()
    }

    // MARK: Subscriptions

    private func subscribeAll() {
        if let part = kept?.part, let client { note(sending: client.unsubscribe(part)) }
        kept = options.parts.isEmpty ? nil : KeptMessages(rest: options.parts[...])
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
        guard kept?.part == nil else { return mark() }
        if let refused = zip(filters, codes).first(where: { $0.1 >= 0x80 }) {
            end = end ?? ConnectionEnd(noReading: refused.0)
        }
        becomeConnected()
    }

    /// A broker keeps the order of what it sends to a client, so this comes after all that it had kept of the part.
    private func mark() {
        kept?.lastHeard = Clock.boottime()
        guard end == nil, !isFlushing, let client else { return }
        note(sending: client.publish(options.marker, [], isRetained: false))
    }

    /// Goes on to the next part.
    private func readNextPart() {
        guard var kept, end == nil, let client else { return }
        if let part = kept.part { note(sending: client.unsubscribe(part)) }
        kept.part = kept.rest.popFirst()
        kept.lastHeard = Clock.boottime()
        self.kept = kept.part == nil ? nil : kept
        if let part = kept.part { subscribe([part]) }
    }

    private func note(sending result: Result<Int32, ConnectionEnd>) {
        switch result {
        case .success: lastSent = Clock.boottime()
        case .failure(let error): end = end ?? error
        }
    }

    /// When everything has come that the broker has kept, or of a part of it.
    private var keptEnd: Int64? {
        guard let kept, pausedUntil == nil, !isFlushing, kept.part != nil || kept.count >= options.keptCount else {
            return nil
        }
        return kept.lastHeard + options.keptSilence.microseconds
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
        if events & Int16(POLLOUT) != 0 { note(client.write()) }
        if end == nil, events & Int16(POLLIN | POLLHUP | POLLERR) != 0 { note(client.read()) }
        proceed()
    }

    /// An error that no callback has explained.
    private func note(_ error: ConnectionEnd?) {
        if let error, end == nil { end = error }
    }

    /// A timer that fires too early does no harm.
    private func arm(_ now: Int64) {
        var moments = [lastSent + keepalive]
        if let deadline { moments.append(deadline) }
        if let pausedUntil { moments.append(pausedUntil) }
        if let confirmBy { moments.append(confirmBy) }
        if let keptEnd { moments.append(keptEnd) }
        if !sent.isEmpty, unconfirmed == 0 { moments.append(lastHeard + options.timeout.microseconds) }
        let next = max(moments.min()!, now + 1000)
        if let armed, armed <= next { return }
        armed = next
        notifyd_mqtt_timer_set(timer, next)
    }

    private func checkTime() {
        let now = Clock.boottime()
        let asleep = options.asleep()
        if asleep - self.asleep >= 5_000_000 { end = end ?? .slept }
        if let deadline, deadline <= now {
            end = end ?? (isFlushing ? .asked : ConnectionEnd(.unavailable, "the broker does not answer"))
        }
        if !sent.isEmpty, lastHeard + options.timeout.microseconds <= now, pausedUntil == nil, unconfirmed == 0 {
            end = end ?? ConnectionEnd(.unavailable, "the broker does not acknowledge messages")
        }
        if let confirmBy, confirmBy <= now {
            end = end ?? ConnectionEnd(.unavailable, "messages are not taken here in time")
        }
        if let keptEnd, keptEnd <= now { readNextPart() }
        guard end == nil, lastSent + keepalive <= now, let client else { return }
        lastSent = now
        note(client.keepAlive())
    }

    // MARK: What libmosquitto tells

    func connectionAnswered(
        _ code: Int32, sessionPresent: Bool, serverKeepalive: UInt16?, longestPacket: Int?
    ) {
        hasAnswered = true
        guard code == 0 else {
            isVersionRefused = version == .v5 ? code == 0x84 : code == 1
            end = end ?? ConnectionEnd(refusedWith: code, version: version, user: options.broker.user)
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
            end = end ?? ConnectionEnd(noWriting: topic, code: code)
            return
        }
        if isFlushing, sent.isEmpty { end = end ?? .asked }
    }

    func received(_ message: BrokerMessage) {
        lastHeard = Clock.boottime()
        // Its acknowledgement is under way already.
        lastSent = lastHeard
        if !options.parts.isEmpty, message.topic == options.marker, message.payload == [] {
            if kept?.part != nil { readNextPart() }
            return
        }
        if message.isRetained {
            kept?.count += 1
            kept?.lastHeard = lastHeard
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
