import CMosquitto
import Glibc
import Systemd

/// What the thread of a connection does. Everything here runs on that thread.
///
/// libmosquitto's own loop ends on errors of TLS, names and passwords, and wakes up every second; this one waits for the socket,
/// for commands and for one timer.
final class ConnectionLoop {
    private let options: ConnectionOptions
    private let inbox: CommandInbox
    private let handler: @Sendable (ConnectionEvent) -> Void
    private let timer: Int32

    // One attempt.
    private var client: Client?
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
    private var subscription: Int32?
    /// Messages that were not confirmed, and until when they must be.
    private var unconfirmed = 0
    private var confirmBy: Int64?

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

    init(
        _ options: ConnectionOptions, _ inbox: CommandInbox, _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) {
        self.options = options
        self.inbox = inbox
        self.handler = handler
        version = options.version
        keepalive = options.keepalive.microseconds
        timer = notifyd_mqtt_timer()
        precondition(timer >= 0, "no timer can be created")
    }

    deinit { close(timer) }

    /// Connects, and handles everything until the connection ends.
    func run() {
        Client.initializeLibrary()
        var end = attempt()
        // A broker of 3.1.1 says so, or closes the connection without a word.
        if version == .v5, !isConnected, end.kind != .asked, isVersionRefused || end == .closed && !hasAnswered {
            version = .v311
            end = attempt()
        }
        handler(.ended(end))
    }

    private var isVersionRefused = false

    private func attempt() -> ConnectionEnd {
        end = nil
        isVersionRefused = false
        do throws(ConnectionEnd) {
            let client = try Client(options, version: version, owner: self)
            self.client = client
            // It closes the socket: the broker publishes the will, unless it was told that the connection ends.
            defer {
                if end == .asked, isConnected, let farewell { client.disconnect(endingSession: farewell.endsSession) }
                self.client = nil
            }
            let begin = Clock.boottime()
            asleep = options.asleep()
            lastSent = begin
            lastHeard = begin
            deadline = begin + options.patience.microseconds
            try client.connect(to: options.broker.address, keepalive: options.keepalive)
            while true {
                handleCommands(client)
                if let end { return end }
                guard client.socket >= 0 else { return end ?? client.explain(.closed) }
                wait(client)
                checkTime()
                if let end { return end }
            }
        } catch {
            return error
        }
    }

    // MARK: Commands

    private func handleCommands(_ client: Client) {
        for command in inbox.takeAll() {
            switch command {
            case .publish(let token, let topic, let payload, let isRetained):
                guard isConnected, end == nil, !isFlushing else { continue }
                let result = client.publish(topic, payload, isRetained: isRetained)
                switch result {
                case .success(let id):
                    if sent.isEmpty { lastHeard = Clock.boottime() }
                    sent[id] = (token, topic)
                    lastSent = Clock.boottime()
                case .failure(let error) where error.kind == .messageTooLong: handler(.refusedAsTooLong(token))
                case .failure(let error): end = error
                }
            case .subscribe: if isConnected, !options.subscriptions.isEmpty { subscribe(client) }
            case .receive(let isWanted):
                pausedUntil = isWanted ? nil : Clock.boottime() + options.longestPause.microseconds
            case .confirm:
                unconfirmed -= 1
                if unconfirmed <= 0 { (unconfirmed, confirmBy) = (0, nil) }
            case .end(let afterFlush):
                guard afterFlush, isConnected, !sent.isEmpty else {
                    end = end ?? .asked
                    continue
                }
                isFlushing = true
                deadline = Clock.boottime() + 2_000_000
            case .disconnect(let endingSession):
                farewell = Farewell(endsSession: endingSession)
                guard isConnected, !sent.isEmpty else {
                    end = end ?? .asked
                    continue
                }
                isFlushing = true
                deadline = Clock.boottime() + 10_000_000
            }
        }
    }

    private func subscribe(_ client: Client) {
        switch client.subscribe(options.subscriptions) {
        case .success(let id):
            subscription = id
            lastSent = Clock.boottime()
        case .failure(let error): end = error
        }
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
        var descriptors = [
            pollfd(fd: client.socket, events: reading | writing, revents: 0),
            pollfd(fd: inbox.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: timer, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&descriptors, nfds_t(descriptors.count), -1) > 0 else { return }
        let ready = descriptors[0].revents
        if ready & Int16(POLLOUT) != 0 { note(client.write()) }
        if end == nil, ready & Int16(POLLIN | POLLHUP | POLLERR) != 0 { note(client.read()) }
    }

    /// An error that no callback has explained.
    private func note(_ error: ConnectionEnd?) {
        if let error, end == nil { end = error }
    }

    private func arm(_ now: Int64) {
        var moments = [lastSent + keepalive]
        if let deadline { moments.append(deadline) }
        if let pausedUntil { moments.append(pausedUntil) }
        if let confirmBy { moments.append(confirmBy) }
        if !sent.isEmpty, unconfirmed == 0 { moments.append(lastHeard + options.patience.microseconds) }
        notifyd_mqtt_timer_set(timer, max(moments.min()!, now + 1000))
    }

    private func checkTime() {
        let now = Clock.boottime()
        let asleep = options.asleep()
        if asleep - self.asleep >= 5_000_000 { end = end ?? .slept }
        if let deadline, deadline <= now {
            end = end ?? (isFlushing ? .asked : ConnectionEnd(.unavailable, "the broker does not answer"))
        }
        if !sent.isEmpty, lastHeard + options.patience.microseconds <= now, pausedUntil == nil, unconfirmed == 0 {
            end = end ?? ConnectionEnd(.unavailable, "the broker does not acknowledge messages")
        }
        if let confirmBy, confirmBy <= now {
            end = end ?? ConnectionEnd(.unavailable, "messages are not taken here in time")
        }
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
        guard let client else { return }
        if options.subscriptions.isEmpty { becomeConnected() } else { subscribe(client) }
    }

    func subscriptionAnswered(_ id: Int32, _ codes: [Int32]) {
        guard id == subscription else { return }
        subscription = nil
        if let refused = zip(options.subscriptions, codes).first(where: { $0.1 >= 0x80 }) {
            end = end ?? ConnectionEnd(noReading: refused.0)
        }
        becomeConnected()
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

extension Duration {
    var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
