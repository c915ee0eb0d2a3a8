import NotifyTestSupport
import Routing

@testable import Linking

/// What a bridge has on disk.
struct BridgeDisk {
    var line: LineRecord?
    var devices: [Device: DeviceRecord] = [:]
    var values: [Digest: ValueRecord] = [:]
    /// When the device had joined, in true time.
    var joined: Int64?

    var records: [Record] {
        (line.map { [.line($0)] } ?? []) + devices.keys.sorted().map { .device($0, devices[$0]!) }
            + values.keys.sorted().map { .value($0, values[$0]!) }
    }

    mutating func write(_ records: [Record], at time: Int64) {
        for record in records {
            switch record {
            case .line(let line):
                self.line = line
                if line.hasJoined { joined = joined ?? time }
            case .device(let device, let record): devices[device] = record
            case .value(let digest, let value): values[digest] = value
            }
        }
    }
}

/// A device with a notifyd and a bridge, both of which can be killed at any time.
final class Machine {
    enum Refusal { case none, events, everything }

    private struct Window {
        var deadline: Int64
        var holds: [Int64] = []
    }

    let label: Int
    unowned let world: Simulation
    var journal: SimulatedJournal
    var disk = BridgeDisk()
    var clock: Int64
    var refusal = Refusal.none
    var isDiskFailing = false
    var isNetworkUp = true

    // notifyd
    var isDaemonUp = false
    private var daemonLife = 0
    private var windows: [GlobalName: Window] = [:]
    private(set) var screens: [Topic] = []

    // The bridge
    private(set) var link: Link?
    private var bridgeLife = 0
    private var armed: Int64?
    private var connection: SimulatedBroker.Connection?
    private var isConnecting = false
    private(set) var failures: [LinkFailure] = []
    private(set) var hasFailed = false
    /// Whether a failed line has said its last words.
    private var isOver = false
    private(set) var letters: [RejectedEntry] = []
    var wasRestored = false
    /// Whether notifyd began a journal that was put back with numbers that the bridge had seen before: the clock was
    /// behind. If the bridge was away until the numbers had passed those, it cannot know that rows are lost.
    private(set) var hasNumbersTwice = false

    /// Between programs on this machine, and to the broker, in microseconds.
    private let busTime: Int64 = 200
    /// A cloned disk has the same key.
    private var signer = ""
    /// The line, in `via`.
    private var via: String { world.configuration(signer).line }
    private var client: String { "client of \(journal.device)" }

    init(label: Int, world: Simulation, device: Device, clock: Int64) {
        self.label = label
        self.world = world
        self.clock = clock
        signer = "key of \(label)"
        journal = SimulatedJournal(device: device)
    }

    var wall: Int64 { 1_700_000_000_000_000 + world.now + clock }
    private var moment: Link.Now { Link.Now(uptime: Uptime(microseconds: world.now + 1), wall: wall) }
    private func trace(_ text: @autoclosure () -> String) { world.trace?("\(world.now / 1000) ms #\(label) \(text())") }

    // MARK: notifyd

    func startDaemon() {
        guard !isDaemonUp else { return }
        isDaemonUp = true
        daemonLife += 1
        journal.start(wall: wall)
        if wasRestored, let seen = disk.line?.seen, journal.lastNumber <= seen { hasNumbersTwice = true }
        trace("notifyd starts")
        for item in journal.items.values.filter({ $0.outcome.isEmpty }).sorted(by: { $0.id < $1.id }) {
            if item.expires <= wall { journal.expire(item.event.name) } else { open(item, window: 2_000_000) }
        }
        handle(.daemonAppeared)
    }

    func killDaemon() {
        guard isDaemonUp else { return }
        trace("notifyd dies")
        isDaemonUp = false
        daemonLife += 1
        windows = [:]
        handle(.daemonVanished)
    }

    private func open(_ item: SimulatedJournal.Item, window: Int64) {
        windows[item.event.name] = Window(deadline: world.now + window)
        announce(item, hasWindow: true)
        if screens.contains(where: { TopicPrefix($0).covers(item.event.topic) }) {
            claimHere(item.event.name, .claimed)
        }
        check(item.event.name, after: window)
    }

    private func announce(_ item: SimulatedJournal.Item, hasWindow: Bool) {
        let announced = AnnouncedEvent(
            id: EventID(item.id), name: item.event.name, topic: item.event.topic, via: item.via, hasWindow: hasWindow)
        deliver(.announced(announced))
    }

    /// A signal, or an answer, on its way to the bridge.
    private func deliver(_ input: LinkInput) {
        let (bridge, daemon) = (bridgeLife, daemonLife)
        world.schedule.after(busTime) { [self] in
            if bridge == bridgeLife, daemon == daemonLife { handle(input) }
        }
    }

    private func check(_ name: GlobalName, after delay: Int64) {
        let life = daemonLife
        world.schedule.after(delay) { [self] in
            guard life == daemonLife, let window = windows[name] else { return }
            guard let item = journal.items[name], item.outcome.isEmpty else {
                windows[name] = nil
                return
            }
            let due = max(window.deadline, window.holds.max() ?? 0)
            guard due <= world.now else { return check(name, after: due - world.now) }
            windows[name] = nil
            if item.expires <= wall {
                journal.expire(name)
            } else {
                journal.show(name)
                world.showed(name, on: self)
                trace("banner for \(name)")
            }
            deliver(.decided(EventID(item.id)))
            deliver(.journalChanged)
        }
    }

    func publish(
        _ topic: Topic, name: GlobalName? = nil, via: String = "", ttl: UInt32 = 43_200, retained: Bool = false,
        removal: Bool = false, published: Int64? = nil
    ) {
        guard isDaemonUp, refusal != .everything else { return }
        let (name, item) = journal.publishHere(
            topic, title: "t\(world.random.below(1000))", name: name, via: via, ttl: ttl, retained: retained,
            removal: removal, published: published, wall: wall)
        trace("publishes \(name) at \(topic)\(retained ? " retained" : "")\(removal ? " removed" : "")")
        if let item {
            world.published(item, on: self)
            if item.outcome.isEmpty { open(item, window: 100_000) } else { announce(item, hasWindow: false) }
        } else if removal {
            world.removalNames.insert(name)
        }
        deliver(.journalChanged)
    }

    func claimHere(_ name: GlobalName, _ form: SharedClaim.Form) {
        guard isDaemonUp, refusal != .everything else { return }
        trace("\(form) \(name)")
        guard let topic = journal.items[name]?.event.topic else { return }
        claim(SharedClaim(name: name, topic: topic, form: form, place: ""), via: "")
    }

    private func claim(_ claim: SharedClaim, via: String) {
        if let id = journal.claim(claim, via: via, wall: wall) {
            windows[claim.name] = nil
            deliver(.decided(EventID(id)))
        }
        deliver(.journalChanged)
    }

    func screen(_ topic: Topic, isOpen: Bool) {
        trace("screen \(topic) \(isOpen)")
        screens.removeAll { $0 == topic }
        if isOpen {
            screens.append(topic)
            for item in journal.items.values
            where item.outcome.isEmpty && TopicPrefix(topic).covers(item.event.topic) && isDaemonUp {
                claimHere(item.event.name, .claimed)
            }
        }
        deliver(.screenChanged(TopicPrefix(topic), isAttended: isOpen))
    }

    /// The journal of an earlier time; what was published and claimed here since then is lost.
    func restoreJournal(_ backup: SimulatedJournal) {
        trace("the journal is restored")
        let wasUp = isDaemonUp
        killDaemon()
        world.lost(from: journal, to: backup, on: self)
        let device = journal.device
        journal = backup
        journal.device = device
        wasRestored = true
        if wasUp { startDaemon() }
    }

    // MARK: The bridge

    func startBridge() {
        guard link == nil else { return }
        bridgeLife += 1
        trace("the bridge starts")
        hasFailed = false
        isOver = false
        armed = nil
        link = Link(journal.device, world.configuration(signer), records: disk.records, seed: world.random.next())
        handle(.started)
        if isDaemonUp { handle(.daemonAppeared) }
        for topic in screens { handle(.screenChanged(TopicPrefix(topic), isAttended: true)) }
        isConnecting = true
        handle(.connecting)
    }

    func killBridge() {
        guard link != nil else { return }
        trace("the bridge dies")
        bridgeLife += 1
        link = nil
        isConnecting = false
        dropConnection()
    }

    /// At the end of the world.
    func abandonConnection() { connection = nil }

    func dropConnection() {
        guard let connection, let session = world.broker.sessions[client] else { return }
        world.broker.end(session, connection, takenOver: false, willDelay: Int64(world.random.below(30_000_000)))
    }

    func cutNetwork() {
        isNetworkUp = false
        dropConnection()
    }

    /// What "notifyctl link reset" does.
    func reset() {
        trace("reset")
        killBridge()
        let wasUp = isDaemonUp
        killDaemon()
        journal.device = world.newDevice()
        disk.line = disk.line?.reset
        if wasUp { startDaemon() }
        startBridge()
    }

    func handle(_ input: LinkInput) {
        guard link != nil else { return }
        let effects = link!.handle(input, at: moment)
        world.check(self)
        for effect in effects { perform(effect) }
    }

    private func later(_ delay: Int64, _ action: @escaping () -> Void) {
        let life = bridgeLife
        world.schedule.after(delay) { [self] in if life == bridgeLife { action() } }
    }

    private func perform(_ effect: LinkEffect) {
        switch effect {
        case .connect(let address, let will): connect(address, will)
        case .reconnect: dropConnection()
        case .send(let token, let address, let message): send(token, address, message)
        case .receive(let isReceiving):
            connection?.isReceiving = isReceiving
            if isReceiving, let session = world.broker.sessions[client] { world.broker.pump(session) }
        case .subscribeAgain:
            if connection != nil, let session = world.broker.sessions[client] { world.broker.subscribe(session) }
        case .publish(let token, let event, let ttl, let window):
            call(token) { [self] in
                if refusal != .none { return .refusedForNow }
                let item = journal.publish(event, ttl: ttl, via: via, wall: wall)
                trace("takes \(event.name)\(item == nil ? " again" : "")")
                if let item {
                    if item.outcome.isEmpty {
                        open(item, window: Int64(window ?? 100) * 1000)
                    } else {
                        announce(item, hasWindow: false)
                    }
                }
                deliver(.journalChanged)
                return .done
            }
        case .remove(let token, let removal):
            call(token) { [self] in
                if refusal == .everything { return .refusedForNow }
                journal.remove(removal, via: via)
                deliver(.journalChanged)
                return .done
            }
        case .claimNamed(let token, let named):
            call(token) { [self] in
                if refusal == .everything { return .refusedForNow }
                trace("is told \(named.form) \(named.name)")
                claim(named, via: via)
                return .done
            }
        case .hold(let id, let duration):
            onDaemon { [self] in
                guard let name = journal.names[id.rawValue], windows[name] != nil else { return }
                windows[name]!.holds = [world.now + duration.microseconds]
            }
        case .release(let id):
            onDaemon { [self] in
                guard let name = journal.names[id.rawValue], windows[name] != nil else { return }
                windows[name]!.holds = []
                check(name, after: max(0, windows[name]!.deadline - world.now))
            }
        case .readChanges(let token, let after, let limit):
            guard isDaemonUp else { return later(busTime) { [self] in handle(.readFailed(token)) } }
            onDaemon { [self] in deliver(.changes(token, journal.changes(after: after, limit: Int(limit)))) }
        case .readNewest(let token):
            guard isDaemonUp else { return later(busTime) { [self] in handle(.readFailed(token)) } }
            onDaemon { [self] in deliver(.newest(journal.lastNumber)) }
        case .store(let token, let records):
            later(1000 + Int64(world.random.below(4000))) { [self] in
                if isDiskFailing { return handle(.notStored(token)) }
                disk.write(records, at: world.now)
                handle(.stored(token))
            }
        case .reject(let letter):
            trace("dead letter: \(letter.reason)")
            letters.append(letter)
        case .fail(let failure):
            trace("fails: \(failure)")
            failures.append(failure)
            hasFailed = true
        case .disconnect:
            isOver = true
            isConnecting = false
            guard let connection, let session = world.broker.sessions[client] else { return }
            world.broker.end(session, connection, takenOver: false, willDelay: nil)
        case .armTimer(let moment):
            armed = moment.microseconds
            let delay = moment.microseconds - world.now - 1
            later(delay) { [self] in
                guard armed == moment.microseconds else { return }
                armed = nil
                handle(.timerFired)
            }
        }
    }

    private func onDaemon(_ action: @escaping () -> Void) {
        let life = daemonLife
        world.schedule.after(busTime) { [self] in if isDaemonUp, life == daemonLife { action() } }
    }

    private func call(_ token: CallToken, _ action: @escaping () -> CallResult) {
        onDaemon { [self] in deliver(.answered(token, action())) }
    }

    // MARK: The broker

    private func connect(_ address: Address, _ will: Message) {
        later(5_000) { [self] in
            guard connection == nil else { return }
            guard isNetworkUp, world.broker.isUp else { return tryAgain() }
            let life = bridgeLife
            let node = world.broker.faults.isSplit || world.random.chance(50) ? label % 2 : 0
            let connection = SimulatedBroker.Connection(
                node: node, will: packet(address, will),
                deliver: { [self] packet in if life == bridgeLife { receive(packet) } },
                end: { [self] takenOver in
                    self.connection = nil
                    guard life == bridgeLife, link != nil, !isOver else { return }
                    trace("connection ends\(takenOver ? ", taken over" : "")")
                    later(1) { [self] in
                        handle(.disconnected)
                        tryAgain()
                    }
                })
            self.connection = connection
            isConnecting = false
            world.broker.connect(client: client, device: journal.device, connection)
            trace("connected to node \(node)")
            handle(.connected)
        }
    }

    private func tryAgain() {
        guard !isOver else { return }
        later(500_000 + Int64(world.random.below(2_000_000))) { [self] in
            if connection == nil, !isOver { handle(.connecting) }
        }
    }

    private func packet(_ address: Address, _ message: Message?) -> SimulatedBroker.Packet {
        var message = message
        if world.encodes, let plain = message {
            message = try? Message(decoding: plain.encoded)
            if message == nil { world.complain("a message cannot be read: \(plain)") }
        }
        return SimulatedBroker.Packet(address: address, message: message, signer: signer)
    }

    private func send(_ token: MessageToken, _ address: Address, _ message: Message?) {
        guard let connection, !connection.isOver else { return }
        let packet = packet(address, message)
        if case .entry(let entry) = message?.body, case .event(let event) = entry.content, failures.isEmpty,
            !world.hasClones, let origin = event.name.device, origin != journal.device
        {
            world.complain("\(label) says \(event.name) of another device")
        }
        trace("says on \(address.description.prefix(6)): \(message?.body.summary ?? "nothing")")
        later(world.broker.faults.latency) { [self] in
            guard !connection.isOver else { return }
            world.broker.publish(packet, node: connection.node)
            world.record(packet)
            later(1_000) { [self] in if !connection.isOver { handle(.acknowledged(token)) } }
        }
    }

    private func receive(_ packet: SimulatedBroker.Packet) {
        let content: Delivery.Content
        if packet.isRubbish {
            content = .unopened
        } else if let message = packet.message {
            content = .message(message, signer: packet.signer.map(Signer.init))
        } else {
            content = .empty
        }
        handle(
            .received(
                Delivery(
                    address: packet.address, isRetained: packet.isRetained,
                    content: content)))
    }

    // MARK: Copies

    /// A second machine with the same disk.
    func clone(label: Int) -> Machine {
        let copy = Machine(label: label, world: world, device: journal.device, clock: clock + 37)
        copy.journal = journal
        copy.disk = disk
        copy.signer = signer
        return copy
    }
}

extension Message.Body {
    /// For the trace.
    fileprivate var summary: String {
        switch self {
        case .entry(let entry): entry.summary
        case .answer(let answer):
            "answer \(answer.after)...\(answer.through) wait \(answer.wait): \(answer.items.map(\.summary))"
        case .description(let it):
            "description \(it.name) first \(it.first) last \(it.last) attended \(it.attended.count)"
        case .presence(let it): "presence \(it.connection) \(it.isOnline)\(it.isDuplicated ? " shared" : "")"
        case .ping(let id): "ping \(id)"
        case .pong(let id): "pong \(id)"
        case .question(let it): "question \(it.after)...\(it.through)"
        }
    }
}

extension StreamEntry {
    fileprivate var summary: String {
        let what =
            switch content {
            case .event(let event): "event \(event.name) at \(event.topic) \(event.outcome)"
            case .claim(let claim): "\(claim.form) \(claim.name)"
            case .removal(let removal): "removal \(removal.name) at \(removal.topic)"
            case .nothing, .unknown, .malformed: "\(content)"
            }
        return "[\(previous)→\(number) \(what)]"
    }
}
