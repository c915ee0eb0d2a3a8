import NotifyTestSupport
import Routing

@testable import Linking

/// What strangers and other members of a channel send, though it is not for them to say.
extension Simulation {
    func forge(against victim: Machine) {
        guard !recorded.isEmpty, broker.isUp else { return }
        let node = random.below(2)
        var packet = random.pick(recorded)
        let isPinned = machines.allSatisfy {
            $0 === victim || $0.disk.devices[victim.journal.device]?.signer != nil
        }
        switch random.below(isChannel ? 7 : 3) {
        case 0: broker.publish(packet, node: node)
        case 1:
            packet.isRubbish = true
            broker.publish(packet, node: node)
        case 2: if !packet.address.isRetained { broker.keep(packet, node: node) }
        case 3:
            guard isPinned else { return }
            isClosed = true
            // Says something for the victim, with a key of its own.
            let entry = StreamEntry(number: UInt64(victim.wall), previous: 0, content: .nothing)
            send(.entry(entry), as: victim.journal.device, on: .stream(victim.journal.device), node)
        case 4:
            let device = evilDevice()
            for index in 0..<random.below(400) {
                let number = UInt64(1_700_000_000_000_000 + now) + UInt64(index) * 3
                let name = GlobalName(device: random.chance(90) ? device : victim.journal.device, id: number)
                let event = SharedEvent(
                    name: name, topic: Self.topics[0], title: "evil", body: "", published: Int64(number),
                    expires: Int64(number) + 1_000_000)
                send(
                    .entry(StreamEntry(number: number, previous: number - 2, content: .event(event))), as: device,
                    on: .stream(device), node)
            }
        case 5:
            let device = evilDevice()
            let last = UInt64(1_700_000_000_000_000 + now) + (random.chance(50) ? 1 << 50 : 0)
            send(
                .description(Description(counter: .max, name: "evil", first: 0, last: last)), as: device,
                on: .description(device), node)
            send(.presence(Presence(connection: .max, isOnline: true)), as: device, on: .presence(device), node)
            guard isPinned else { return }
            isClosed = true
            send(
                .presence(Presence(connection: .max, isOnline: false)), as: victim.journal.device,
                on: .presence(victim.journal.device), node)
        default:
            let device = evilDevice()
            for _ in 0..<30 {
                send(
                    .question(Question(id: random.next(), after: 0, through: .max)), as: device,
                    on: .questions(victim.journal.device), node)
            }
            send(
                .answer(Answer(id: random.next(), after: 0, through: .max, items: [])), as: device,
                on: .answers(victim.journal.device), node)
        }
    }

    private func evilDevice() -> Device {
        if let device = evil.min(), random.chance(60) { return device }
        let device = newDevice()
        evil.insert(device)
        return device
    }

    private func send(_ body: Message.Body, as device: Device, on address: Address, _ node: Int) {
        let message = Message(device: device, at: 1_700_000_000_000_000 + now, body: body)
        broker.publish(SimulatedBroker.Packet(address: address, message: message, signer: "evil"), node: node)
    }
}
