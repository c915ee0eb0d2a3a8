import DequeModule
import Glibc
import Linking
import Logging
import Mosquitto
import NotifyBridge
import NotifyClient
import NotifyText
import Systemd

/// Performs the effects of one `Link`: connects it with a broker, notifyd, the disk and the clock.
///
/// Each line has a connection to the broker of its own: a connection has one will, and a channel that floods is not
/// read from without holding up the private link.
final class LineShell: @unchecked Sendable {
    // Proof: everything but `init` runs on `loop`.

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

    private(set) var link: Link
    private var cipher: LineCipher
    private let session: BrokerSession
    private(set) var roundTrip: Duration?
    private var rejected = RejectedMessages()
    private var ownMessages = RecentSet<Int>(capacity: 64)

    // The broker.
    private var inFlight: [UInt64: (token: MessageToken, sent: ContinuousClock.Instant, bytes: Int)] = [:]
    private var payloadLimit = PayloadLimit()
    /// Why this end gives up the connection: a person has to change something.
    private var complaint: String?
    private var wantsReconnection = false
    /// Whether a failed line has sent its last message.
    private var isOver = false
    /// Called when the broker has what a device sends that leaves.
    private var onLeft: ((Bool) -> Void)?
    /// The connection that ends a session of MQTT 3.1.1.
    private var clean: BrokerConnection?
    private var isStopped = false

    private var timer: WorkTimer?
    /// Inputs that effects have caused: they are handled after the effects of the input before them.
    private var inputs: Deque<LinkInput> = []
    private var isHandling = false
    /// Dead letters that are kept with the next records: what the records say to be done is never without its letter.
    private var letters: [DeadLetter] = []
    /// Letters that wait at most; the oldest ones are given up for others.
    private static let maximumLetters = 100
    private lazy var reader = ChangeReader(ChangeSource(services, place: settings.name)) { [weak self] in
        self?.handle(.journalChanged)
    }

    private lazy var announcements = AnnouncementWatch(services) { [weak self] notice in self?.handle(notice) }

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
        session = BrokerSession(
            configuration.line, prefix: configuration.kind == .link ? "" : "\(configuration.line): ", settings,
            services,
            loop, onChange: onChange)
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
        session.onEvent = { [weak self] event in self?.handle(event) }
        session.onRetry = { [weak self] in
            guard let self, !isOver else { return }
            handle(.connecting)
        }
    }

    var name: String { configuration.line }
    var isSealed: Bool { cipher.isSealed }

    /// The condition as people should see it: a connection on which nothing can be opened is of no use.
    var condition: BrokerSession.Condition {
        let condition = session.condition
        guard condition.state == .connected else { return condition }
        func count(_ messages: Int) -> String { "\(messages) message\(messages == 1 ? "" : "s")" }
        var alarms: [String] = []
        if link.unopenedMessages > 0 {
            let reason = isSealed ? "the others have another key" : "the others have a key"
            let version = isChannel ? ", or an older notifyd" : ""
            alarms.append("\(count(link.unopenedMessages)) cannot be opened: \(reason)\(version)")
        }
        if link.forgedMessages > 0 { alarms.append("\(count(link.forgedMessages)) passed over as forged or moved") }
        if link.isCrowded { alarms.append("too many devices") }
        guard !alarms.isEmpty else { return condition }
        let detail = ([condition.detail] + alarms).joined(separator: "; ")
        return BrokerSession.Condition(state: .connected, detail: detail, isAlarming: true)
    }

    var isConnected: Bool { session.isConnected }

    // MARK: Life

    func start() {
        handle(.started)
        handle(.connecting)
    }

    /// Ends the connection: the broker publishes the will.
    func stop() {
        isStopped = true
        timer?.cancel()
        session.stop()
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
        announcements.setWanted(link.wantsAnnouncements)
        for effect in effects { perform(effect) }
        rejected.log(link.statistics, line: name, services.logger)
    }

    private func handle(_ notice: DaemonNotice) {
        switch notice {
        case .event(let event): if let announced = AnnouncedEvent(event, of: device) { handle(.announced(announced)) }
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
            session.connection?.end(afterFlush: true)
        case .send(let token, let address, let message): send(token, address, message)
        case .receive(let isWanted): session.connection?.receive(isWanted)
        case .subscribeAgain: session.connection?.subscribeAgain()
        case .publish(let token, let event, let ttl, let window):
            call(.publish(event, ttl: ttl, window: window, via: name, isChannel: isChannel), token)
        case .remove(let token, let removal): call(.remove(removal, via: name), token)
        case .claimNamed(let token, let claim): call(.claim(claim, via: name), token)
        case .hold(let id, let duration): services.daemon.submit(.hold(id, for: duration))
        case .release(let id): services.daemon.submit(.release(id))
        case .readChanges(let token, let after, let limit):
            reader.read(after: after, limit: limit) { [weak self] page in
                self?.handle(page.map { .changes(token, $0) } ?? .readFailed(token))
            }
        case .readNewest(let token): readNewest(token)
        case .store(let token, let records):
            let changes = records.map { RecordChange($0, coding) }
            services.store.write(changes, keeping: letters) { [weak self, letters] error in
                self?.loop.perform { [weak self] in self?.stored(token, letters, error) }
            }
            letters = []
        case .reject(let entry): reject(entry)
        case .fail(let failure): fail(failure)
        case .disconnect:
            isOver = true
            session.connection?.disconnect()
        case .armTimer(let moment): arm(moment)
        }
    }

    private func call(_ call: DaemonCall, _ token: CallToken) {
        services.daemon.submit(call) { [weak self] answer in self?.handle(.answered(token, CallResult(answer))) }
    }

    private func readNewest(_ token: ReadToken) {
        loop.task { [weak self, services, loop] in
            let newest = try? await services.daemon.newestChange()
            guard let self else { return }
            if let newest { return loop.perform { [weak self] in self?.handle(.newest(newest)) } }
            // Without a pause this would repeat in a tight loop while it fails.
            loop.perform(after: .seconds(1)) { [weak self] in self?.handle(.readFailed(token)) }
        }
    }

    private func reject(_ entry: RejectedEntry) {
        services.logger.warning(
            entry.device == device
                ? "An event cannot be said to other devices" : "notifyd never takes a message of another device",
            metadata: ["line": "\(name)", "device": "\(entry.device)", "error": "\(entry.reason)"])
        letters.append(
            DeadLetter(
                topic: entry.entry?.content.subject?.topic.description, origin: "\(name) \(entry.device)",
                reason: entry.reason, content: entry.content))
        limitLetters()
    }

    /// Letters that could not be written wait again, unless the disk takes nothing for too long.
    private func stored(_ token: StoreToken, _ written: [DeadLetter], _ error: StoreError?) {
        if !written.isEmpty, services.deadLetters.wrote(written.count, error) == .failed {
            letters = written + letters
            limitLetters()
        }
        handle(error == nil ? .stored(token) : .notStored(token))
    }

    private func limitLetters() {
        let excess = letters.count - Self.maximumLetters
        guard excess > 0 else { return }
        letters.removeFirst(excess)
        services.deadLetters.gaveUp(excess)
    }

    private func arm(_ moment: Uptime) {
        timer?.cancel()
        let delay = max(0, moment.microseconds - Clock.boottime()) + 1
        timer = loop.perform(after: .microseconds(delay)) { [weak self] in self?.handle(.timerFired) }
    }

    private func fail(_ failure: LinkFailure) {
        session.fail(
            "\(failure)",
            advice: "On each machine that has this device: notifyctl link reset. What was said before keeps its names.")
        services.logger.error("The line has failed", metadata: ["line": "\(name)", "error": "\(failure)"])
    }

    // MARK: The broker

    private func connect(_ address: Linking.Address, _ will: Linking.Message) {
        guard !isOver else { return }
        if session.condition.state == .connected { session.show(.connecting, "\(settings.server)") }
        session.connect { broker in
            let topic = prefix + address.description
            var options = ConnectionOptions(
                broker: broker, client: cipher.clientID(line: name),
                will: Will(topic: topic, payload: try cipher.seal(will, on: topic)),
                // They do not overlap: some brokers deliver a message once for each filter. Values come last: of many
                // retained messages a broker drops the last ones, and who is there counts most.
                subscriptions: ["o/+", "d/+", "s/+", "r/\(device)", "u/\(device)", "v/+/+"].map { prefix + $0 })
            options.parts = Linking.Address.valueParts.map { prefix + $0 }
            options.marker = prefix + Linking.Address.answers(device).description
            options.maximumPayload = Linking.Message.maximumBytes
            return options
        }
    }

    private func send(_ token: MessageToken, _ address: Linking.Address, _ message: Linking.Message?) {
        guard let connection = session.connection else { return }
        let topic = prefix + address.description
        guard let payload = try? message.map({ try cipher.seal($0, on: topic) }) ?? [] else { return }
        inFlight[token.rawValue] = (token, .now, payload.count)
        if case .stream = address { ownMessages.insert(payload.hashValue) }
        connection.publish(token.rawValue, topic: topic, payload: payload, isRetained: address.isRetained)
    }

    private func handle(_ event: ConnectionEvent) {
        switch event {
        case .connected(let version, _, let longestPacket):
            payloadLimit.connected(packet: longestPacket, topic: longestTopic)
            guard limitText() else { return }
            session.show(
                .connected,
                "\(settings.server) as \"\(settings.user)\", "
                    + "\(version.words)\(cipher.isSealed ? "" : ", without a key")"
            )
            handle(.connected)
        case .received(let message): receive(message)
        case .acknowledged(let number):
            guard let (token, sent, bytes) = inFlight.removeValue(forKey: number) else { return }
            payloadLimit.accepted(bytes)
            roundTrip = .now - sent
            handle(.acknowledged(token))
        case .refusedAsTooLong(let number):
            guard let (_, _, bytes) = inFlight.removeValue(forKey: number) else { return }
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
            session.connection?.end()
            return false
        }
        handle(.textLimited(longest))
        return true
    }

    private func receive(_ message: BrokerMessage) {
        guard message.topic.hasPrefix(prefix),
            let address = Linking.Address(message.topic.dropFirst(prefix.count))
        else { return }
        if case .stream(device) = address, let payload = message.payload, ownMessages.contains(payload.hashValue) {
            return
        }
        let content = message.payload.map { cipher.open($0, on: message.topic) } ?? .unopened
        handle(.received(Delivery(address: address, isRetained: message.isRetained, content: content)))
    }

    private func ended(_ end: ConnectionEnd) {
        let longest = inFlight.values.map(\.bytes).max()
        inFlight = [:]
        if onLeft != nil { return finishLeaving(isTold: longest == nil && end.kind == .requested) }
        if let age = session.age {
            payloadLimit.ended(end, longest: longest, age: age)
            handle(.disconnected)
        }
        guard !isOver, !isStopped else { return }
        if wantsReconnection {
            wantsReconnection = false
            return session.connectLater()
        }
        session.connectLater(after: end, complaint: complaint)
        complaint = nil
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
        guard isConnected, let connection = session.connection else { return completion(false) }
        handle(.leave)
        onLeft = completion
        connection.disconnect(endingSession: true)
    }

    /// The connection has ended.
    private func finishLeaving(isTold: Bool) {
        guard let completion = onLeft else { return }
        onLeft = nil
        stop()
        guard isTold, session.version == .v311, var options = session.lastOptions else { return completion(isTold) }
        // Only a clean connection ends a session of MQTT 3.1.1.
        options.isClean = true
        options.version = .v311
        onLeft = completion
        clean = BrokerConnection(options, on: loop) { [self] event in
            switch event {
            case .connected: clean?.disconnect()
            case .ended:
                clean = nil
                onLeft?(true)
                onLeft = nil
            case .received, .acknowledged, .refusedAsTooLong: break
            }
        }
    }
}

extension RecordChange {
    init(_ record: Record, _ coding: RecordCoding) {
        let (key, value) = coding.encode(record)
        self.init(key, value)
    }
}
