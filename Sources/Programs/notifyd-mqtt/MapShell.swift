import Linking
import Logging
import Mapping
import Mosquitto
import NotifyBridge
import NotifyClient
import NotifyText
import Systemd

/// Publishes messages of others on the broker as events, and events as messages for them: `[[map]]` in
/// notifyd-mqtt.toml(5).
///
/// It has a connection of its own, because its messages are acknowledged only when notifyd has them on disk, one after
/// the other. What notifyd refuses for now is left to the broker, which sends it again on the next connection: nothing
/// waits here.
final class MapShell: @unchecked Sendable {
    // Proof: everything but `init` runs on `loop`.

    private let loop: WorkLoop
    private let services: BridgeServices
    private let settings: LinkSettings
    private let client: String
    private let session: BrokerSession
    private var connection: BrokerConnection? { session.connection }
    private var isDaemonThere = false
    private var isStopped = false

    private var limits: [RateLimit]
    /// The newest message of each topic whose map keeps values and is over its rate, in the order in which they came.
    private var late: [Inbound] = []
    private var isLateTimerSet = false
    /// The last value of each topic, so that it is recognized when the broker sends what it keeps.
    private var known: [String: [UInt8]] = [:]
    private var sender: MapSender?

    /// Topics whose newest message waits, or is remembered.
    private static let maximumTopics = 1000
    /// Bytes of a message that is remembered.
    private static let maximumKnown = 1024
    private static let lateInterval = Duration.milliseconds(100)

    init(
        _ settings: LinkSettings, cipher: LineCipher, services: BridgeServices, loop: WorkLoop,
        onChange: @escaping () -> Void
    ) {
        self.settings = settings
        self.services = services
        self.loop = loop
        session = BrokerSession("maps", prefix: "maps: ", settings, services, loop, onChange: onChange)
        client = cipher.clientID(line: "map")
        limits = settings.maps.inbound.map { _ in RateLimit() }
        if !settings.maps.outbound.isEmpty {
            sender = MapSender(settings.maps.outbound, services: services, loop: loop)
        }
        session.onEvent = { [weak self] event in self?.handle(event) }
        session.onRetry = { [weak self] in self?.connect() }
    }

    var condition: BrokerSession.Condition { session.condition }

    func stop() {
        isStopped = true
        sender?.stop()
        session.stop()
    }

    func daemonAppeared() {
        isDaemonThere = true
        connect()
    }

    /// What comes meanwhile is kept by the broker.
    func daemonVanished() {
        isDaemonThere = false
        connection?.end()
    }

    // MARK: The broker

    private func connect() {
        guard isDaemonThere else { return }
        session.connect { broker in
            var options = ConnectionOptions(broker: broker, client: client, subscriptions: settings.maps.subscriptions)
            options.confirmsMessages = true
            options.maximumPayload = InboundMap.maximumBytes
            return options
        }
    }

    private func handle(_ event: ConnectionEvent) {
        switch event {
        case .connected:
            session.show(.connected, "\(settings.server)")
            if let connection { sender?.connected(connection) }
        case .received(let message): receive(message)
        case .acknowledged(let token): sender?.acknowledged(token)
        case .refusedAsTooLong(let token): sender?.refused(token)
        case .ended(let end):
            sender?.disconnected()
            if isDaemonThere { session.connectLater(after: end) }
        }
    }

    // MARK: Messages

    /// A message for a map.
    private struct Inbound {
        let topic: String
        let map: Int
        var payload: [UInt8]
        /// Whether the broker had kept it.
        let isRetained: Bool
        /// The connection on which it is to be confirmed; `nil` if it was.
        let connection: UInt64?
    }

    private func receive(_ message: BrokerMessage) {
        guard let index = settings.maps.index(ofMapFor: message.topic) else {
            // A filter of an earlier configuration, which the session still has.
            connection?.confirm()
            return
        }
        let map = settings.maps.inbound[index]
        let inbound = Inbound(
            topic: message.topic, map: index, payload: message.payload ?? [], isRetained: message.isRetained,
            connection: session.number)
        guard message.payload != nil else {
            return reject(inbound, "the message has more than \(InboundMap.maximumBytes) bytes")
        }
        let isKnown = map.isRetained && known[message.topic] == inbound.payload
        if map.id == nil, isKnown || message.isRetained && !map.isRetained {
            // What the broker has kept is not new, and a value that stays the same is none either.
            return confirm(inbound)
        }
        let result = result(of: inbound)
        // What is left out does not count: of what is published often, a map may take little.
        if case .success(.nothing) = result { return confirm(inbound) }
        let now = Uptime(microseconds: Clock.boottime())
        guard limits[index].admitMessage(at: now) else {
            let isKept = map.isRetained && keepForLater(inbound)
            if !isKept, let count = limits[index].countDropped(at: now) {
                services.logger.warning(
                    "A map drops messages: more than \(RateLimit.perSecond) a second come",
                    metadata: ["filter": "\(map.filter)", "dropped": "\(count)"])
            }
            return confirm(inbound)
        }
        late.removeAll { $0.topic == message.topic }
        publish(inbound, result)
    }

    private func result(of inbound: Inbound) -> Result<InboundMap.Result, MapError> {
        let map = settings.maps.inbound[inbound.map]
        return Result { () throws(MapError) in try map.result(of: inbound.payload, at: inbound.topic) }
    }

    private func publish(_ inbound: Inbound, _ result: Result<InboundMap.Result, MapError>) {
        let map = settings.maps.inbound[inbound.map]
        do throws(MapError) {
            guard let call = try result.get().call(map, isKept: inbound.isRetained && map.id == nil) else {
                return confirm(inbound)
            }
            services.daemon.submit(call) { [weak self] answer in self?.handle(answer, to: inbound) }
        } catch {
            reject(inbound, error.description)
        }
    }

    private func handle(_ answer: DaemonAnswer, to inbound: Inbound) {
        switch answer {
        case .done:
            if settings.maps.inbound[inbound.map].isRetained { remember(inbound) }
            confirm(inbound)
        case .refusedForNow: leaveToBroker(inbound)
        case .refused(let error): reject(inbound, "\(error)")
        }
    }

    private func confirm(_ inbound: Inbound) {
        if inbound.connection == session.number, !isStopped { connection?.confirm() }
    }

    /// The broker has it still, and sends it again on the next connection.
    private func leaveToBroker(_ inbound: Inbound) {
        if inbound.connection == session.number, !isStopped { connection?.end() }
    }

    private func remember(_ inbound: Inbound) {
        guard inbound.payload.count <= Self.maximumKnown else {
            known[inbound.topic] = nil
            return
        }
        if known.count >= Self.maximumTopics, known[inbound.topic] == nil { known = [:] }
        known[inbound.topic] = inbound.payload
    }

    /// Keeps a dead letter of what can never be published.
    private func reject(_ inbound: Inbound, _ reason: String) {
        services.logger.warning(
            "A message cannot be taken in",
            metadata: ["filter": "\(settings.maps.inbound[inbound.map].filter)", "error": "\(reason)"])
        let letter = DeadLetter(
            origin: "map \(inbound.topic.beginning(ofBytes: 255))", reason: reason, content: inbound.payload)
        services.deadLetters.attempt(letter) { [weak self] result in
            self?.loop.perform { [weak self] in
                switch result {
                case .kept, .givenUp: self?.confirm(inbound)
                case .failed: self?.leaveToBroker(inbound)
                }
            }
        }
    }

    // MARK: Values beyond the rate

    /// - Returns: whether there was room.
    private func keepForLater(_ inbound: Inbound) -> Bool {
        if let index = late.firstIndex(where: { $0.topic == inbound.topic }) {
            late[index].payload = inbound.payload
        } else if late.count < Self.maximumTopics {
            late.append(
                Inbound(
                    topic: inbound.topic, map: inbound.map, payload: inbound.payload, isRetained: false, connection: nil
                ))
        } else {
            return false
        }
        setLateTimer()
        return true
    }

    private func setLateTimer() {
        guard !isLateTimerSet, !late.isEmpty else { return }
        isLateTimerSet = true
        loop.perform(after: Self.lateInterval) { [weak self] in
            guard let self, !isStopped else { return }
            isLateTimerSet = false
            publishLate()
        }
    }

    private func publishLate() {
        let now = Uptime(microseconds: Clock.boottime())
        if isDaemonThere, let index = late.firstIndex(where: { limits[$0.map].admitMessage(at: now) }) {
            let inbound = late.remove(at: index)
            publish(inbound, result(of: inbound))
        }
        setLateTimer()
    }
}

extension InboundMap.Result {
    /// The call to notifyd; `nil` if there is none.
    ///
    /// - Parameter isKept: whether the broker had kept the message, and so it is a value, and no news.
    fileprivate func call(_ map: InboundMap, isKept: Bool) -> DaemonCall? {
        // A name that no channel can have, after "mqtt:": the link treats it as its own, and does not send it.
        let source = (map.isLinked ? "" : GlobalName.localSource) + map.source
        var options: [String: Value] = [
            "source": .string(source), "via": .string(map.isLinked ? "map" : "mqtt:/map"),
            "published": .int64(SystemClock.wall),
        ]
        let unique = "\(UInt64.random(in: 0 ... .max)).\(UInt64.random(in: 0 ... .max))"
        switch self {
        case .nothing: return nil
        case .removal(let topic):
            options["event-id"] = .string(unique)
            options["remove"] = .boolean(true)
            return .publish(topic.description, options: options)
        case .event(let event):
            options["event-id"] = .string(event.id ?? unique)
            if let urgency = event.urgency { options["urgency"] = .byte(urgency) }
            if map.isRetained { options["retain"] = .boolean(true) }
            if isKept || event.isSilent { options["banner"] = .boolean(false) }
            // A value that only comes again leaves its banner as it is.
            if let collapse = event.collapse, !isKept || event.isSilent { options["collapse"] = .string(collapse) }
            return .publish(event.topic.description, title: event.title, body: event.body, options: options)
        }
    }
}
