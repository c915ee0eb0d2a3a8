import Linking
import Logging
import Mapping
import Mosquitto
import NotifyBridge
import NotifyClient
import NotifyText
import Systemd

/// Takes in what others publish on the broker, and sends out what they should hear: `[[map]]` in notifyd-mqtt.toml(5).
///
/// It has a connection of its own, because its messages are acknowledged only when notifyd has them on disk, one after
/// the other. What notifyd does not take now is left to the broker, which sends it again on the next connection:
/// nothing waits here.
final class MapShell: @unchecked Sendable {
    // Proof: everything but `init` runs on `loop`.

    private let loop: WorkLoop
    private let services: BridgeServices
    private let settings: LinkSettings
    private let client: String
    private let onChange: () -> Void

    private(set) var condition = LineShell.Condition()
    /// Whether the log says that the broker is not connected.
    private var isAbsenceLogged = false
    private var connection: BrokerConnection?
    private var connectionNumber: UInt64 = 0
    private var connectedAt: ContinuousClock.Instant?
    private var version = ProtocolVersion.v5
    private var backoff = Backoff()
    private var retry: WorkTimer?
    private var isDaemonThere = false
    private var isStopped = false

    private var limits: [RateLimit]
    /// The newest message of each topic whose map keeps values and is over its rate, in the order in which they came.
    private var late: [(topic: String, map: Int, payload: [UInt8])] = []
    private var isLateTimerSet = false
    /// The last value of each topic, by which it is known again when the broker sends what it keeps.
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
        self.onChange = onChange
        client = cipher.clientID(line: "map")
        limits = settings.maps.inbound.map { _ in RateLimit() }
        if !settings.maps.outbound.isEmpty {
            sender = MapSender(settings.maps.outbound, services: services, loop: loop)
        }
    }

    func stop() {
        isStopped = true
        retry?.cancel()
        sender?.stop()
        connection?.end(afterFlush: true)
        connection = nil
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
        guard connection == nil, isDaemonThere, !isStopped else { return }
        retry?.cancel()
        var options: ConnectionOptions
        do {
            options = ConnectionOptions(
                broker: try settings.broker(), client: client,
                subscriptions: settings.maps.subscriptions)
        } catch {
            show(.failed, "\(error)", BridgeStatus.correction(of: LinkBridge.name))
            return tryAgain()
        }
        options.version = version
        options.note = BrokerNote(path: services.store.folder + "/no-mqtt5")
        options.confirmsMessages = true
        options.maximumPayload = InboundMap.maximumBytes
        connectionNumber += 1
        connection = BrokerConnection(options, on: loop) { [weak self, number = connectionNumber] event in
            self?.happened(event, on: number)
        }
    }

    private func happened(_ event: ConnectionEvent, on number: UInt64) {
        guard number == connectionNumber, !isStopped else { return }
        switch event {
        case .connected(let version, _, _):
            self.version = version
            connectedAt = .now
            show(.connected, "\(settings.server)")
            if let connection { sender?.connected(connection) }
        case .received(let message): received(message)
        case .acknowledged(let token): sender?.acknowledged(token)
        case .refusedAsTooLong(let token): sender?.refused(token)
        case .ended(let end): ended(end)
        }
    }

    private func ended(_ end: ConnectionEnd) {
        connection = nil
        sender?.disconnected()
        if let since = connectedAt, .now - since > .seconds(30) {
            backoff.reset()
        }
        connectedAt = nil
        guard !isStopped, isDaemonThere else { return }
        show(end.kind == .refused ? .failed : .waiting, end.description, end.advice)
        tryAgain()
    }

    private func tryAgain() {
        retry?.cancel()
        retry = loop.perform(after: backoff.next()) { [weak self] in self?.connect() }
    }

    private func show(_ state: BridgeStatus.State, _ detail: String, _ advice: String? = nil) {
        guard condition.state != state || condition.detail != "maps: \(detail)" else { return }
        condition = LineShell.Condition(state: state, detail: "maps: \(detail)", advice: advice)
        if state == .connected, isAbsenceLogged {
            isAbsenceLogged = false
            services.logger.notice("The broker is connected again", metadata: ["line": "maps"])
        }
        if state == .failed || state == .waiting {
            isAbsenceLogged = true
            services.logger.notice("The broker is not connected", metadata: ["line": "maps", "reason": "\(detail)"])
        }
        onChange()
    }

    // MARK: Messages

    private func received(_ message: BrokerMessage) {
        guard let index = settings.maps.index(ofMapFor: message.topic) else {
            // A filter of an earlier configuration, which the session still has.
            connection?.confirm()
            return
        }
        let map = settings.maps.inbound[index]
        guard let payload = message.payload else {
            return refuse(message.topic, "the message has more than \(InboundMap.maximumBytes) bytes", [], map)
        }
        let isKnown = map.isRetained && known[message.topic] == payload
        if map.id == nil, isKnown || message.isRetained && !map.isRetained {
            // What the broker has kept is not new, and a value that stays the same is none either.
            connection?.confirm()
            return
        }
        let result = Result { () throws(MapError) in try map.result(of: payload, at: message.topic) }
        if case .success(.nothing) = result {
            // What is left out does not count: of what is published often, a map may take little.
            connection?.confirm()
            return
        }
        let now = Uptime(microseconds: Clock.boottime())
        guard limits[index].take(at: now) else {
            if !map.isRetained || !keepForLater(message.topic, index, payload), let count = limits[index].drop(at: now)
            {
                services.logger.warning(
                    "A map drops messages: more than \(RateLimit.perSecond) a second come",
                    metadata: ["filter": "\(map.filter)", "dropped": "\(count)"])
            }
            connection?.confirm()
            return
        }
        late.removeAll { $0.topic == message.topic }
        take(result, of: payload, at: message.topic, map, isKept: message.isRetained, needsConfirmation: true)
    }

    private func take(
        _ result: Result<InboundMap.Result, MapError>, of payload: [UInt8], at topic: String, _ map: InboundMap,
        isKept: Bool, needsConfirmation: Bool
    ) {
        let made: InboundMap.Result
        do throws(MapError) {
            made = try result.get()
        } catch {
            return refuse(topic, error.description, payload, map, needsConfirmation: needsConfirmation)
        }
        guard let call = made.call(map, isKept: isKept && map.id == nil) else {
            if needsConfirmation { connection?.confirm() }
            return
        }
        let number = needsConfirmation ? connectionNumber : nil
        services.daemon.submit(call) { [weak self] answer in
            self?.answered(answer, topic, payload, map, number)
        }
    }

    private func answered(
        _ answer: DaemonAnswer, _ topic: String, _ payload: [UInt8], _ map: InboundMap, _ number: UInt64?
    ) {
        let isCurrent = number == connectionNumber
        switch answer {
        case .done:
            if map.isRetained { remember(topic, payload) }
            if isCurrent { connection?.confirm() }
        case .refusedForNow:
            // The broker has it still.
            if isCurrent { connection?.end() }
        case .refused(let error): refuse(topic, "\(error)", payload, map, needsConfirmation: isCurrent)
        }
    }

    private func remember(_ topic: String, _ payload: [UInt8]) {
        guard payload.count <= Self.maximumKnown else {
            known[topic] = nil
            return
        }
        if known.count >= Self.maximumTopics, known[topic] == nil { known = [:] }
        known[topic] = payload
    }

    /// What can never be taken.
    private func refuse(
        _ topic: String, _ reason: String, _ payload: [UInt8], _ map: InboundMap, needsConfirmation: Bool = true
    ) {
        services.logger.warning(
            "A message cannot be taken in", metadata: ["filter": "\(map.filter)", "error": "\(reason)"])
        let letter = BusLetter(origin: "map \(topic.beginning(ofBytes: 255))", reason: reason, content: payload)
        let number = needsConfirmation ? connectionNumber : nil
        services.deadLetters.attempt(letter) { [weak self] result in
            self?.loop.perform { [weak self] in self?.buried(result, number) }
        }
    }

    private func buried(_ result: DeadLetterWriter.Result, _ number: UInt64?) {
        guard number == connectionNumber, !isStopped else { return }
        switch result {
        case .kept, .givenUp: connection?.confirm()
        // The broker has it still.
        case .failed: connection?.end()
        }
    }

    // MARK: Values beyond the rate

    /// - Returns: whether there was room.
    private func keepForLater(_ topic: String, _ map: Int, _ payload: [UInt8]) -> Bool {
        if let index = late.firstIndex(where: { $0.topic == topic }) {
            late[index].payload = payload
        } else if late.count < Self.maximumTopics {
            late.append((topic, map, payload))
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
            takeLate()
        }
    }

    private func takeLate() {
        let now = Uptime(microseconds: Clock.boottime())
        if isDaemonThere, let index = late.firstIndex(where: { limits[$0.map].take(at: now) }) {
            let item = late.remove(at: index)
            let map = settings.maps.inbound[item.map]
            let result = Result { () throws(MapError) in try map.result(of: item.payload, at: item.topic) }
            take(result, of: item.payload, at: item.topic, map, isKept: false, needsConfirmation: false)
        }
        setLateTimer()
    }
}

extension InboundMap.Result {
    /// What notifyd is asked for; `nil` if nothing.
    ///
    /// - Parameter isKept: whether the broker had kept the message, and so it is a value, and no news.
    fileprivate func call(_ map: InboundMap, isKept: Bool) -> DaemonCall? {
        // "mqtt:" and what no channel is called: the link takes it for something that it has brought, and it stays
        // here.
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
            // A value that is only heard again leaves the banner that it had in its place.
            if let collapse = event.collapse, !isKept || event.isSilent { options["collapse"] = .string(collapse) }
            return .publish(event.topic.description, title: event.title, body: event.body, options: options)
        }
    }
}
