import DequeModule
import Glibc
import Linking
import Logging
import Mosquitto
import NotifyBridge
import NotifyClient
import NotifyText
import Systemd

/// Does what one line decides: it connects the value `Link` with a broker, with notifyd, with the disk and with the
/// clock.
///
/// Each line has a connection to the broker of its own: a connection has one will, and a channel that floods is not
/// read from without holding up the private link.
final class LineShell: @unchecked Sendable {
    // Proof: everything but `init` runs on `loop`.

    /// How a line is, for people.
    struct Condition: Equatable {
        var state = BridgeStatus.State.connecting
        var detail = ""
        /// What to do about it; `nil` for the usual advice.
        var advice: String?
        /// Whether people should look at it although it is connected.
        var isAlarming = false
    }

    let loop: WorkLoop
    private let services: BridgeServices
    private let settings: LinkSettings
    private let isChannel: Bool
    private let device: Device
    private let prefix: String
    private let coding: RecordCoding
    private let configuration: Linking.Configuration
    /// Called when there may be something new to show.
    private let onChange: () -> Void

    var link: Link
    private var cipher: LineCipher
    private(set) var condition = Condition()
    private(set) var roundTrip: Duration?
    private var rejected = RejectedMessages()
    private var ownMessages = RecentSet<Int>(capacity: 64)

    // The broker.
    var connection: BrokerConnection?
    /// Events of earlier connections are passed over.
    private var connectionNumber: UInt64 = 0
    var connectedAt: ContinuousClock.Instant?
    var version = ProtocolVersion.v5
    private var backoff = Backoff()
    private var retry: WorkTimer?
    private var tokens: [UInt64: (token: MessageToken, sent: ContinuousClock.Instant, bytes: Int)] = [:]
    private var payloadLimit = PayloadLimit()
    /// Why this end gives up the connection: a person has to change something.
    private var complaint: String?
    /// Whether the log says that the broker is not connected.
    private var isAbsenceLogged = false
    private var lastToken: UInt64 = 0
    private var wantsReconnection = false
    private var hasFailed = false
    /// Whether a failed line has said its last words.
    private var isOver = false
    var lastOptions: ConnectionOptions?
    /// Called when the broker has what a device says that leaves.
    var leaving: ((Bool) -> Void)?
    private var isStopped = false

    private var timer: WorkTimer?
    /// Inputs that effects have caused: they are handled after the effects of the input before them.
    private var inputs: Deque<LinkInput> = []
    private var isHandling = false
    private lazy var letters = LineLetters(services, loop)
    private lazy var reader = ChangeReader(ChangeSource(services, place: settings.name)) { [weak self] in
        self?.handle(.journalChanged)
    }

    private lazy var announcements = AnnouncementWatch(services) { [weak self] notice in self?.announced(notice) }

    init(
        _ configuration: Linking.Configuration, _ cipher: LineCipher, device: Device, settings: LinkSettings,
        records: [Record], services: BridgeServices, loop: WorkLoop, onChange: @escaping () -> Void
    ) {
        self.configuration = configuration
        self.cipher = cipher
        self.device = device
        self.settings = settings
        self.services = services
        self.loop = loop
        self.onChange = onChange
        switch configuration.kind {
        case .link:
            isChannel = false
            prefix = "notifyd/1/\(settings.user)/"
        case .channel(let name, _):
            isChannel = true
            prefix = "notifyd/1/channel/\(name)/"
        }
        coding = RecordCoding(line: configuration.line)
        link = Link(device, configuration, records: records, seed: .random(in: .min ... .max))
    }

    var name: String { configuration.line }
    var isSealed: Bool { cipher.isSealed }
    var unopenedMessages: Int { link.unopenedMessages }

    var forgedMessages: Int { link.forgedMessages }
    var isCrowded: Bool { link.isCrowded }

    /// The condition as people should see it: a connection on which nothing can be opened is of no use.
    var shownCondition: Condition {
        guard condition.state == .connected else { return condition }
        func count(_ messages: Int) -> String { "\(messages) message\(messages == 1 ? "" : "s")" }
        var alarms: [String] = []
        if unopenedMessages > 0 {
            let reason = isSealed ? "the others have another key" : "the others have a key"
            let version = isChannel ? ", or an older notifyd" : ""
            alarms.append("\(count(unopenedMessages)) cannot be opened: \(reason)\(version)")
        }
        if forgedMessages > 0 { alarms.append("\(count(forgedMessages)) passed over as forged or moved") }
        if isCrowded { alarms.append("too many devices") }
        guard !alarms.isEmpty else { return condition }
        let detail = ([condition.detail] + alarms).joined(separator: "; ")
        return Condition(state: .connected, detail: detail, isAlarming: true)
    }

    var isConnected: Bool { connectedAt != nil }
    var peers: [Link.PeerState] { link.peerStates }
    var test: LinkTest? { link.test }
    /// What waits to be said.
    var backlog: Int { link.backlog }

    // MARK: Life

    func start() {
        handle(.started)
        handle(.connecting)
    }

    /// Ends the connection: the will says that the device is offline.
    func stop() {
        isStopped = true
        retry?.cancel()
        timer?.cancel()
        timer = nil
        connection?.end(afterFlush: true)
        connection = nil
    }

    /// Handles an input, and then those that its effects have caused.
    func handle(_ input: LinkInput) {
        guard !isStopped else { return }
        inputs.append(input)
        guard !isHandling else { return }
        isHandling = true
        while !isStopped, let next = inputs.popFirst() { handleNext(next) }
        isHandling = false
        onChange()
    }

    private func handleNext(_ input: LinkInput) {
        if case .daemonVanished = input { reader.daemonVanished() }
        let now = Link.Now(uptime: Uptime(microseconds: Clock.boottime()), wall: SystemClock.wall)
        let effects = link.handle(input, at: now)
        announcements.want(link.wantsAnnouncements)
        for effect in effects { perform(effect) }
        rejected.note(link.statistics, line: configuration.line, services.logger)
    }

    private func announced(_ notice: DaemonNotice) {
        switch notice {
        case .event(let event): if let announced = Announced(event, of: device) { handle(.announced(announced)) }
        case .resolved(let outcome): handle(.decided(outcome.id))
        case .appeared, .vanished, .removed, .attention, .action: break
        }
    }

    // MARK: Effects

    private func perform(_ effect: LinkEffect) {
        switch effect {
        case .connect(let address, let will): connect(address, will)
        case .reconnect:
            wantsReconnection = true
            connection?.end(afterFlush: true)
        case .say(let token, let address, let message): say(token, address, message)
        case .acknowledge:
            // libmosquitto has done it. What is lost between that and the disk has a number, and is asked for.
            break
        case .receive(let isWanted): connection?.receive(isWanted)
        case .subscribeAgain: connection?.subscribeAgain()
        case .publish(let token, let request): call(token, request.call(isChannel: isChannel))
        case .claimNamed(let token, let request): call(token, request.call)
        case .hold(let id, let duration):
            services.daemon.submit(.hold(id, for: duration))
        case .release(let id): services.daemon.submit(.release(id))
        case .readChanges(let token, let after, let limit): read(token, after: after, limit: limit)
        case .readNewest(let token): readNewest(token)
        case .store(let token, let records):
            let letters = letters.take()
            services.store.write(records.map(coding.change), keeping: letters) { [weak self] error in
                self?.loop.perform { [weak self] in
                    self?.letters.wrote(letters, error)
                    self?.handle(error == nil ? .stored(token) : .notStored(token))
                }
            }
        case .keep(let letter): keep(letter)
        case .fail(let failure): fail(failure)
        case .end:
            isOver = true
            connection?.disconnect()
        case .armTimer(let moment): arm(moment)
        }
    }

    private func call(_ token: CallToken, _ call: DaemonCall) {
        services.daemon.submit(call) { [weak self] answer in self?.handle(.answered(token, CallResult(answer))) }
    }

    private func read(_ token: ReadToken, after: UInt64, limit: UInt32) {
        reader.read(after: after, limit: limit) { [weak self] page in
            self?.handle(page.map { .changes(token, $0) } ?? .readFailed(token))
        }
    }

    private func readNewest(_ token: ReadToken) {
        loop.task { [weak self, services, loop] in
            let newest = try? await services.daemon.newestChange()
            guard let self else { return }
            if let newest { return loop.perform { [weak self] in self?.handle(.newest(newest)) } }
            // At once would ask without a pause for as long as it fails.
            loop.perform(after: .seconds(1)) { [weak self] in self?.handle(.readFailed(token)) }
        }
    }

    private func keep(_ letter: Linking.DeadLetter) {
        services.logger.warning(
            letter.device == device
                ? "An event cannot be said to other devices" : "notifyd never takes a message of another device",
            metadata: ["line": "\(configuration.line)", "device": "\(letter.device)", "error": "\(letter.reason)"])
        let topic: Topic? =
            switch letter.said?.content {
            case .event(let event): event.topic
            case .claim(let claim): claim.topic
            case .removal(let removal): removal.topic
            case .nothing, .unknown, .malformed, nil: nil
            }
        let content =
            letter.said.map { Linking.Message(device: letter.device, at: 0, body: .said($0)).encoded } ?? []
        letters.add(
            BusLetter(
                topic: topic?.description, origin: "\(configuration.line) \(letter.device)", reason: letter.reason,
                content: content))
    }

    private func arm(_ moment: Uptime) {
        timer?.cancel()
        let delay = max(0, moment.microseconds - Clock.boottime()) + 1
        timer = loop.perform(after: .microseconds(delay)) { [weak self] in self?.handle(.timerFired) }
    }

    private func fail(_ failure: LinkFailure) {
        show(
            .failed, "\(failure)",
            "On each machine that has this device: notifyctl link reset. What was said before keeps its names.")
        hasFailed = true
        services.logger.error(
            "The line has failed", metadata: ["line": "\(configuration.line)", "error": "\(failure)"])
    }

    /// What has failed stays so.
    private func show(_ state: BridgeStatus.State, _ detail: String, _ advice: String? = nil) {
        guard !hasFailed else { return }
        condition = Condition(
            state: state, detail: isChannel ? "\(configuration.line): \(detail)" : detail, advice: advice)
        onChange()
    }

    // MARK: The broker

    private func connect(_ address: Linking.Address, _ will: Linking.Message) {
        guard connection == nil, !isStopped, !isOver else { return }
        let options: ConnectionOptions
        do {
            options = try connectionOptions(address, will)
            lastOptions = options
        } catch {
            show(.failed, "\(error)", BridgeStatus.correction(of: LinkBridge.name))
            return tryAgain()
        }
        if condition.state == .connected { show(.connecting, "\(settings.server)") }
        connectionNumber += 1
        connection = BrokerConnection(options, on: loop) { [weak self, number = connectionNumber] event in
            self?.happened(event, on: number)
        }
    }

    private func connectionOptions(_ address: Linking.Address, _ will: Linking.Message) throws
        -> ConnectionOptions
    {
        let topic = prefix + address.description
        var options = ConnectionOptions(
            broker: try settings.broker(), client: cipher.clientID(line: configuration.line),
            will: Will(topic: topic, payload: try cipher.seal(will, on: topic)),
            // They do not overlap: some brokers deliver a message once for each filter. Values come last: of many
            // retained messages a broker drops the last ones, and who is there counts most.
            subscriptions: ["o/+", "d/+", "s/+", "r/\(device)", "u/\(device)", "v/+/+"].map { prefix + $0 })
        options.parts = Linking.Address.valueParts.map { prefix + $0 }
        options.marker = prefix + Linking.Address.answers(device).description
        options.version = version
        options.note = BrokerNote(path: services.store.folder + "/no-mqtt5")
        options.maximumPayload = Linking.Message.maximumBytes
        return options
    }

    private func say(_ token: MessageToken, _ address: Linking.Address, _ message: Linking.Message?) {
        guard let connection else { return }
        let topic = prefix + address.description
        guard let payload = try? message.map({ try cipher.seal($0, on: topic) }) ?? [] else { return }
        lastToken += 1
        tokens[lastToken] = (token, .now, payload.count)
        if case .stream = address { ownMessages.insert(payload.hashValue) }
        connection.publish(lastToken, topic: topic, payload: payload, isRetained: address.isRetained)
    }

    private func happened(_ event: ConnectionEvent, on number: UInt64) {
        guard number == connectionNumber, !isStopped else { return }
        switch event {
        case .connected(let version, _, let longestPacket):
            self.version = version
            connectedAt = .now
            payloadLimit.connected(packet: longestPacket, topic: longestTopic)
            guard limitText() else { return }
            show(
                .connected,
                "\(settings.server) as \"\(settings.user)\", "
                    + "\(version.words)\(cipher.isSealed ? "" : ", without a key")"
            )
            if isAbsenceLogged {
                isAbsenceLogged = false
                services.logger.notice(
                    "The broker is connected again",
                    metadata: ["line": "\(configuration.line)", "broker": "\(settings.server)"])
            }
            handle(.connected)
        case .received(let message): received(message)
        case .acknowledged(let number):
            guard let (token, sent, bytes) = tokens.removeValue(forKey: number) else { return }
            payloadLimit.taken(bytes)
            roundTrip = .now - sent
            handle(.acknowledged(token))
        case .refusedAsTooLong(let number):
            guard let (_, _, bytes) = tokens.removeValue(forKey: number) else { return }
            payloadLimit.refused(bytes)
            _ = limitText()
        case .ended(let end): ended(end)
        }
    }

    private var longestTopic: Int {
        // Those of values have two bytes more than all others.
        prefix.utf8.count + Linking.Address.stream(device).description.utf8.count + 2
    }

    /// Tells the line how long a message may be. A broker with which too little fits into a message is of no use.
    private func limitText() -> Bool {
        let longest = payloadLimit.bytes.map { cipher.longestText(inPayload: $0) } ?? .max
        guard longest >= Linking.Message.shortestLimit else {
            complaint = "the broker takes only messages of up to \(payloadLimit.bytes ?? 0) bytes; the link needs 8 KiB"
            connection?.end()
            return false
        }
        handle(.textLimited(longest))
        return true
    }

    private func received(_ message: BrokerMessage) {
        guard message.topic.hasPrefix(prefix),
            let address = Linking.Address(message.topic.dropFirst(prefix.count))
        else { return }
        if case .stream(device) = address, let payload = message.payload, ownMessages.contains(payload.hashValue) {
            return
        }
        let content = message.payload.map { cipher.open($0, on: message.topic) } ?? .unopened
        lastToken += 1
        handle(
            .received(
                Delivery(
                    token: DeliveryToken(lastToken), address: address, isRetained: message.isRetained,
                    content: content)))
    }

    private func ended(_ end: ConnectionEnd) {
        connection = nil
        let longest = tokens.values.map(\.bytes).max()
        let isAllSaid = tokens.isEmpty
        tokens = [:]
        if leaving != nil { return hasLeft(isAllSaid && end.kind == .asked) }
        if let since = connectedAt {
            connectedAt = nil
            let age: Duration = .now - since
            payloadLimit.ended(end, longest: longest, age: age)
            // A broker that ends each connection at once is not asked again at once.
            if age > .seconds(30) { backoff.reset() }
            handle(.disconnected)
        }
        guard !isOver, !isStopped else { return }
        if wantsReconnection {
            wantsReconnection = false
            return tryAgain()
        }
        let reason = complaint ?? end.description
        let state: BridgeStatus.State = end.kind == .refused || complaint != nil ? .failed : .waiting
        if !hasFailed, condition.state != state || !condition.detail.hasSuffix(reason) {
            isAbsenceLogged = true
            services.logger.notice(
                "The broker is not connected",
                metadata: ["line": "\(configuration.line)", "broker": "\(settings.server)", "reason": "\(reason)"])
        }
        show(state, reason, complaint == nil ? end.advice : nil)
        complaint = nil
        tryAgain()
    }

    private func tryAgain() {
        retry?.cancel()
        retry = loop.perform(after: backoff.next()) { [weak self] in
            guard let self, connection == nil, !isOver else { return }
            handle(.connecting)
        }
    }
}

extension ProtocolVersion {
    fileprivate var words: String {
        switch self {
        case .v311: "MQTT 3.1.1"
        case .v5: "MQTT 5"
        }
    }
}

/// `notifyctl link leave`.
extension LineShell {
    /// Tells the others and the broker that this device does not come back. The line does nothing more then.
    ///
    /// - Parameter completion: gets whether the broker has acknowledged it.
    func leave(_ completion: @escaping (Bool) -> Void) {
        guard isConnected, let connection else { return completion(false) }
        handle(.leave)
        leaving = completion
        connection.disconnect(endingSession: true)
    }

    /// The connection has ended.
    func hasLeft(_ isTold: Bool) {
        guard let completion = leaving else { return }
        leaving = nil
        connectedAt = nil
        stop()
        guard isTold, version == .v311, var options = lastOptions else { return completion(isTold) }
        // Only a clean connection ends a session of MQTT 3.1.1.
        options.isClean = true
        options.version = version
        leaving = completion
        connection = BrokerConnection(options, on: loop) { [self] event in endedSession(event) }
    }

    private func endedSession(_ event: ConnectionEvent) {
        switch event {
        case .connected: connection?.disconnect()
        case .ended:
            connection = nil
            let completion = leaving
            leaving = nil
            completion?(true)
        case .received, .acknowledged, .refusedAsTooLong: break
        }
    }
}
