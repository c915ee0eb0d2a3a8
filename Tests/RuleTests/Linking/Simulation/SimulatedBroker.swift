import NotifyTestSupport

@testable import Linking

/// A broker, or a cluster of two nodes: every acknowledgement is given, and nothing is promised by it. A message is
/// acknowledged when it is delivered, as libmosquitto does it.
final class SimulatedBroker {
    struct Packet {
        let address: Address
        let message: Message?
        let signer: String?
        var isRetained = false
        /// Not a message at all.
        var isRubbish = false
    }

    final class Session {
        let client: String
        let device: Device
        var queue: [Packet] = []
        var connection: Connection?
        var node = 0
        var isPumping = false
        var lastDelivery: Int64 = -1_000_000

        init(client: String, device: Device) {
            self.client = client
            self.device = device
        }
    }

    final class Connection {
        let node: Int
        let will: Packet
        let deliver: (Packet) -> Void
        let end: (_ takenOver: Bool) -> Void
        var isReceiving = true
        var isOver = false

        init(
            node: Int, will: Packet, deliver: @escaping (Packet) -> Void, end: @escaping (Bool) -> Void
        ) {
            self.node = node
            self.will = will
            self.deliver = deliver
            self.end = end
        }
    }

    struct Faults {
        var loss = 0
        var doubling = 0
        var reordering = 0
        var latency: Int64 = 2_000
        var queueLimit = 1000
        var isSplit = false
    }

    unowned let world: Simulation
    var faults = Faults()
    var sessions: [String: Session] = [:]
    var retained: [[Address: Packet]] = [[:], [:]]
    var isUp = true
    private(set) var delivered = 0

    init(world: Simulation) {
        self.world = world
    }

    func connect(client: String, device: Device, _ connection: Connection) {
        let session = sessions[client] ?? Session(client: client, device: device)
        sessions[client] = session
        if let old = session.connection { end(session, old, takenOver: true, willDelay: 0) }
        session.connection = connection
        session.node = connection.node
        subscribe(session)
    }

    func subscribe(_ session: Session) {
        for address in retained[session.node].keys.sorted(by: { $0.description < $1.description }) {
            guard var packet = retained[session.node][address] else { continue }
            switch address {
            case .questions(let device), .answers(let device): if device != session.device { continue }
            default: break
            }
            packet.isRetained = true
            session.queue.append(packet)
        }
        pump(session)
    }

    /// A stranger has something kept that was said once.
    func keep(_ packet: Packet, node: Int) { retained[node][packet.address] = packet }

    func end(_ session: Session, _ connection: Connection, takenOver: Bool, willDelay: Int64?) {
        guard !connection.isOver else { return }
        connection.isOver = true
        if session.connection === connection { session.connection = nil }
        connection.end(takenOver)
        if let willDelay {
            world.schedule.after(willDelay) { [self] in if isUp { publish(connection.will, node: connection.node) } }
        }
    }

    func publish(_ packet: Packet, node: Int) {
        if packet.address.isRetained {
            for other in retained.indices where other == node || !faults.isSplit {
                retained[other][packet.address] = packet.message == nil ? nil : packet
            }
        }
        for client in sessions.keys.sorted() {
            let session = sessions[client]!
            if faults.isSplit, session.node != node { continue }
            switch packet.address {
            case .questions(let device), .answers(let device): if device != session.device { continue }
            default: break
            }
            if world.random.chance(faults.loss) { continue }
            enqueue(packet, session)
            if world.random.chance(faults.doubling) { enqueue(packet, session) }
        }
    }

    private func enqueue(_ packet: Packet, _ session: Session) {
        // The newest are dropped, without a word.
        guard session.queue.count < faults.queueLimit else { return }
        session.queue.append(packet)
        pump(session)
    }

    func pump(_ session: Session) {
        guard !session.isPumping, let connection = session.connection, connection.isReceiving, !session.queue.isEmpty
        else { return }
        session.isPumping = true
        let isBusy = world.now - session.lastDelivery < faults.latency
        world.schedule.after(isBusy ? 200 : faults.latency + Int64(world.random.below(1000))) { [self] in
            session.isPumping = false
            guard let connection = session.connection, connection.isReceiving, !session.queue.isEmpty else { return }
            let index = world.random.chance(faults.reordering) ? world.random.below(min(6, session.queue.count)) : 0
            let packet = session.queue.remove(at: index)
            delivered += 1
            session.lastDelivery = world.now
            connection.deliver(packet)
            pump(session)
        }
    }

    /// `kill -9`: what was not on its disk is gone.
    func kill(forgettingSessions: Bool, forgettingRetained: Bool) {
        isUp = false
        for client in sessions.keys.sorted() {
            let session = sessions[client]!
            if let connection = session.connection { end(session, connection, takenOver: false, willDelay: nil) }
            if forgettingSessions { session.queue = [] }
        }
        if forgettingSessions { sessions = [:] }
        if forgettingRetained { retained = [[:], [:]] }
    }

    func heal() {
        faults = Faults()
        isUp = true
        // The nodes of a cluster agree on one of them, whichever was right.
        retained[1] = retained[0]
    }
}
