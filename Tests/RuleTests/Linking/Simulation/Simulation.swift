import NotifyTestSupport
import Routing

@testable import Linking

/// What was not so at the end of a simulation, or on the way.
struct Wreck: Error, CustomStringConvertible {
    let description: String
}

/// Two to nine devices, a broker, and everything that goes wrong with them. `Link` is the code that the program runs;
/// notifyd, the disk, the network and the clocks are made up. The seed decides everything.
///
/// First comes a time of trouble. Then everything is mended, every device connects once more, and after enough time all
/// must have converged.
final class Simulation {
    struct Published {
        let origin: Int
        let time: Int64
        let topic: Topic
        let wasCovered: Bool
        /// Whether the bridge of the origin was to say it.
        let isToBeSaid: Bool
    }

    /// What happened, over many seeds: each must have happened.
    struct Counts {
        var published = 0
        var taken = 0
        var doubles = 0
        var questions = 0
        var answers = 0
        var restored = 0
        var failures = 0
        var holds = 0
        var forged = 0
        var postponed = 0
        var covered = 0
        var banners = 0

        static func += (left: inout Counts, right: Counts) {
            for path in Counts.all { left[keyPath: path.1] += right[keyPath: path.1] }
        }

        nonisolated(unsafe) static let all: [(String, WritableKeyPath<Counts, Int>)] = [
            ("an event", \.published), ("a message that was taken", \.taken), ("a double", \.doubles),
            ("a question", \.questions), ("an answer", \.answers), ("a restored journal", \.restored),
            ("a failed line", \.failures), ("a hold", \.holds), ("a forged message", \.forged),
            ("a message for later", \.postponed), ("an event that a screen elsewhere claims", \.covered),
            ("a banner", \.banners),
        ]
    }

    static let topics = ["/a", "/a/b", "/post/7", "/run/영희", "/local/x"].map { try! Topic($0) }
    static let valueTopics = ["/v/1", "/v/2", "/v/3/x"].map { try! Topic($0) }
    static let privateTopics = [TopicPrefix(try! Topic("/local"))]

    let seed: UInt64
    var random: SplitMix64
    var schedule = Schedule()
    private(set) var broker: SimulatedBroker!
    private(set) var machines: [Machine] = []
    let isChannel: Bool
    let isFair: Bool
    /// Whether messages become JSON on their way.
    let encodes: Bool
    let hasWrongClocks: Bool
    var trace: ((String) -> Void)?
    private(set) var complaint: String?
    private(set) var counts = Counts()
    var events: [GlobalName: Published] = [:]
    var exemptNames: Set<GlobalName> = []
    /// With the clock and the journal, ids go back: a removal and an event may have the same name.
    var removalNames: Set<GlobalName> = []
    var exemptTopics: Set<String> = []
    /// What was forgotten somewhere: others were told that it is gone, and a backup may bring it back.
    var forgotten: Set<GlobalName> = []
    var recorded: [SimulatedBroker.Packet] = []
    private var backups: [(machine: Int, journal: SimulatedJournal, disk: BridgeDisk)] = []
    var evil: Set<Device> = []
    var hasClones: Bool { !clonedDevices.isEmpty }
    /// Names that two machines had at the same time.
    private(set) var clonedDevices: Set<Device> = []
    /// A key is pinned at first sight: whoever comes after a forger may pin the forger's.
    var isClosed = false
    private var checks = 0
    private var serial = 0

    var now: Int64 { schedule.now }

    private init(seed: UInt64, trace: ((String) -> Void)?) {
        self.seed = seed
        self.trace = trace
        random = SplitMix64(seed: seed)
        var first = SplitMix64(seed: ~seed)
        isFair = first.chance(10)
        isChannel = !isFair && first.chance(30)
        encodes = seed % 4 == 0
        hasWrongClocks = !isFair && !isChannel && first.chance(25)
        broker = SimulatedBroker(world: self)
    }

    static func run(seed: UInt64, trace: ((String) -> Void)? = nil) -> (wreck: Wreck?, counts: Counts) {
        let simulation = Simulation(seed: seed, trace: trace)
        simulation.run()
        defer { simulation.dismantle() }
        return (simulation.complaint.map { Wreck(description: $0) }, simulation.counts)
    }

    /// Machines and their connections refer to each other, and so do what is scheduled and whom it concerns.
    private func dismantle() {
        schedule = Schedule()
        for machine in machines { machine.abandonConnection() }
        machines = []
    }

    func complain(_ text: String) {
        complaint = complaint ?? text
        trace?("COMPLAINT: \(text)")
    }

    func configuration(_ signer: String) -> Configuration {
        Configuration(
            kind: isChannel ? .channel(name: "sunday-run", signer: Signer(signer)) : .link, name: signer,
            skip: Self.privateTopics, isSealed: true, digest: Self.digest)
    }

    static let digest: @Sendable (String) -> Digest = { text in
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Digest(hexadecimal(hash) + hexadecimal(~hash))!
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    func newDevice() -> Device { Device(Self.hexadecimal(random.next()) + Self.hexadecimal(random.next()))! }

    // MARK: The run

    private func run() {
        for _ in 0..<2 + random.below(random.chance(20) ? 8 : 3) { addMachine() }
        advance(by: 15_000_000)
        if !isFair { makeFaults() }
        let moves = 20 + random.below(100)
        // Awaited names are kept for a day.
        let longest: Int64 = 18 * 3_600_000_000
        for _ in 0..<moves where complaint == nil {
            move()
            let pause: Int64 =
                switch random.below(isFair ? 7 : 10) {
                case 0...4: Int64(random.below(200_000))
                case 5...8: Int64(random.below(5_000_000))
                default: Int64(random.below(600_000_000))
                }
            advance(by: now < longest ? pause : min(pause, 1_000_000))
        }
        end()
    }

    private func addMachine() {
        var clock = Int64(random.below(4_000_000)) - 2_000_000
        if isFair { clock = Int64(random.below(20_000)) }
        if hasWrongClocks, random.chance(40) {
            clock = random.pick([-730, -1, 2, 27_000]) * 24 * 3_600_000_000 + Int64(random.below(1_000_000))
        }
        let machine = Machine(label: machines.count, world: self, device: newDevice(), clock: clock)
        machines.append(machine)
        machine.startDaemon()
        machine.startBridge()
    }

    private func makeFaults() {
        let isCruel = random.chance(30)
        broker.faults.loss = random.pick([0, 0, 1, 5, isCruel ? 30 : 10])
        broker.faults.doubling = random.pick([0, 2, 10])
        broker.faults.reordering = random.pick([0, 0, 5, 30])
        broker.faults.latency = random.pick([500, 2_000, 20_000, 150_000])
        broker.faults.queueLimit = random.pick([1000, 1000, 5, 50])
    }

    private func advance(by length: Int64) {
        let end = now + length
        while complaint == nil, let action = schedule.next(until: end) { action() }
    }

    private func end() {
        trace?("everything is mended")
        broker.heal()
        for machine in machines {
            machine.refusal = .none
            machine.isDiskFailing = false
            machine.isNetworkUp = true
        }
        for round in 0..<(isChannel ? 120 : 60) where complaint == nil {
            for machine in machines {
                machine.startDaemon()
                if machine.hasFailed {
                    counts.failures += 1
                    machine.reset()
                } else {
                    machine.startBridge()
                }
            }
            // What was said last is noticed when its author connects again.
            if round == 3 { for machine in machines { machine.dropConnection() } }
            advance(by: 60_000_000)
        }
        guard complaint == nil else { return }
        checkConvergence()
        for machine in machines {
            guard let statistics = machine.link?.statistics else { continue }
            counts.taken += statistics.accepted
            counts.doubles += statistics.duplicates
            counts.questions += statistics.questions
            counts.answers += statistics.answers
            counts.holds += statistics.holds
            counts.forged += statistics.forged
            counts.postponed += statistics.postponed
        }
    }

    // MARK: What is known about the world

    func published(_ item: SimulatedJournal.Item, on machine: Machine) {
        counts.published += 1
        let name = item.event.name
        guard events[name] == nil else { return }
        let covering = machines.contains { other in
            other !== machine && isShared(item.event.topic)
                && other.screens.contains { TopicPrefix($0).covers(item.event.topic) }
        }
        if covering { counts.covered += 1 }
        events[name] = Published(
            origin: machine.label, time: now, topic: item.event.topic, wasCovered: covering,
            isToBeSaid: machine.disk.line != nil)
    }

    func showed(_ name: GlobalName, on machine: Machine) {
        counts.banners += 1
        let isStillCovered = machines.contains { other in
            other.screens.contains { TopicPrefix($0).covers(events[name]?.topic ?? Self.topics[0]) }
        }
        if isFair, events[name]?.wasCovered == true, isStillCovered {
            complain("a banner for \(name) on \(machine.label), though a screen elsewhere claims it in time")
        }
    }

    func lost(from journal: SimulatedJournal, to backup: SimulatedJournal, on machine: Machine) {
        counts.restored += 1
        for (name, item) in journal.items where item.isRead && backup.items[name]?.isRead != true {
            exemptNames.insert(name)
        }
        // What was forgotten may have been read before.
        exemptNames.formUnion(journal.forgotten)
        // Others were told, or may be, that it is gone; a second backup may bring it back.
        forgotten.formUnion(journal.items.keys.filter { backup.items[$0] == nil })
        for (topic, value) in journal.values where backup.values[topic]?.stamp != value.stamp {
            // The value of a topic that began here is lost here, and with it maybe a removal.
            exemptTopics.insert(topic)
        }
    }

    func record(_ packet: SimulatedBroker.Packet) {
        if recorded.count < 40 { recorded.append(packet) } else { recorded[random.below(40)] = packet }
    }

    /// What others can make grow is bounded.
    func check(_ machine: Machine) {
        checks += 1
        guard checks % 16 == 0, let link = machine.link else { return }
        let limits = link.limits
        let sizes = [
            ("missing ranges", link.peers.values.map(\.open.ranges.count).max() ?? 0, limits.missingRanges),
            ("devices", link.peers.count, limits.devices), ("holds", link.holds.count, limits.holds),
            (
                "waiting entries", link.queue.count + link.inCall.count,
                limits.waitingMessagesAtMost + limits.callsInFlight
            ),
            ("messages in flight", link.out.inFlight.count, limits.messagesInFlight),
            ("rows", link.out.rows.count, Int(limits.rowsPerPage)), ("values", link.values.seen.count, limits.values),
            ("questions", link.answers.waiting.count, limits.waitingQuestions),
        ]
        for (name, size, limit) in sizes where size > limit {
            complain("\(machine.label) has \(size) \(name), and at most \(limit) are allowed")
        }
    }

    // MARK: What happens

    private var alive: [Machine] { machines.filter { $0.link != nil && !$0.hasFailed } }

    private func move() {
        let machine = random.pick(machines)
        switch random.below(isFair ? 60 : 100) {
        case 0..<25: publish(on: machine)
        case 25..<35: publishValue(on: machine)
        case 35..<47:
            if let name = event(on: machine) { machine.claimHere(name, random.pick([.claimed, .claimed, .read])) }
        case 47..<50:
            if let name = event(on: machine) { machine.claimHere(name, random.pick([.dismissed, .withdrawn])) }
        case 50..<58:
            let topic = random.pick(Self.topics)
            machine.screen(topic, isOpen: !machine.screens.contains(topic))
            // A screen is known elsewhere after a moment.
            if isFair { advance(by: 3_000_000) }
        case 58..<60:
            for _ in 0..<random.below(60) { publish(on: machine) }
        case 60..<66: machine.killBridge()
        case 66..<70: machine.killDaemon()
        case 70..<78:
            for other in machines where random.chance(70) {
                other.startDaemon()
                if !other.hasFailed {
                    other.startBridge()
                } else if random.chance(50) {
                    counts.failures += 1
                    other.reset()
                }
                other.isNetworkUp = true
            }
            broker.isUp = true
        case 78..<81: machine.cutNetwork()
        case 81..<84: machine.dropConnection()
        case 84..<87:
            broker.kill(forgettingSessions: random.chance(50), forgettingRetained: random.chance(50))
        case 87..<89: broker.faults.isSplit.toggle()
        case 89..<91: machine.refusal = random.pick([.none, .events, .everything])
        case 91: machine.isDiskFailing.toggle()
        case 92:
            machine.journal.forget(random.pick(Self.topics))
            forgotten.formUnion(machine.journal.forgotten)
        case 93: if machines.count < 9, !isClosed { addMachine() }
        case 94: if machine.disk.line != nil { backups.append((machine.label, machine.journal, machine.disk)) }
        case 95: restore()
        case 96:
            // Clones with wrong clocks give the same names to different events.
            if random.chance(40), !hasWrongClocks { clone(machine) }
        case 97: if hasWrongClocks { machine.clock += Int64(random.below(4_000_000_000)) - 2_000_000_000 }
        default: forge(against: machine)
        }
    }

    private func publish(on machine: Machine) {
        serial += 1
        let topic = random.pick(Self.topics)
        let ttl: UInt32 = random.chance(15) ? UInt32(random.below(30)) : 43_200
        switch random.below(isChannel ? 8 : 10) {
        case 8: machine.publish(topic, name: GlobalName(source: "app", eventID: "\(serial)"), ttl: ttl)
        case 9:
            // The bridge of another network on several devices.
            let name = GlobalName(source: "ntfy:example.org/x", eventID: "\(serial)")
            for other in machines where random.chance(70) { other.publish(topic, name: name, via: "ntfy:x") }
        default: machine.publish(topic, ttl: ttl)
        }
    }

    private func publishValue(on machine: Machine) {
        let topic = random.pick(Self.valueTopics)
        // Some publish at the same microsecond.
        let published = random.chance(20) ? 1_700_000_000_000_000 + now / 10_000_000 * 10_000_000 : nil
        let ttl: UInt32 = random.chance(20) ? UInt32(random.below(60)) : 80_000
        machine.publish(topic, ttl: ttl, retained: true, removal: random.chance(20), published: published)
    }

    private func event(on machine: Machine) -> GlobalName? {
        let names = machine.journal.items.keys.sorted()
        guard !names.isEmpty else { return nil }
        return random.chance(60)
            ? names.max { machine.journal.items[$0]!.id < machine.journal.items[$1]!.id } : random.pick(names)
    }

    private func restore() {
        guard !backups.isEmpty else { return }
        let backup = random.pick(backups)
        let machine = machines[backup.machine]
        let isRunning = machine.link != nil
        switch isClosed ? 0 : random.below(3) {
        case 0: machine.restoreJournal(backup.journal)
        case 1:
            machine.killBridge()
            machine.disk = backup.disk
            machine.wasRestored = true
        default:
            machine.killBridge()
            machine.restoreJournal(backup.journal)
            machine.disk = backup.disk
        }
        if isRunning, !machine.hasFailed { machine.startBridge() }
    }

    private func clone(_ machine: Machine) {
        guard machines.count < 9, !isClosed, machine.disk.line != nil, !machine.hasFailed else { return }
        clonedDevices.insert(machine.journal.device)
        let copy = machine.clone(label: machines.count)
        machines.append(copy)
        broker.faults.isSplit = false
        copy.startDaemon()
        copy.startBridge()
        machine.startBridge()
    }
}
