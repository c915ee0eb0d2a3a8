import ChildProcesses
import LinkSettings
import NotifyClient
import NotifyRehearsal
import NotifyText

/// Three linked devices, and somebody on each of them who publishes, listens and claims.
struct LinkStage {
    struct Actor {
        let device: LinkedDevice
        let client: NotifyClient
        private let events: Mailbox<Stage.Heard<Event>>
        private let outcomes: Mailbox<Stage.Heard<Outcome>>

        var name: String { device.name }

        /// Of its bridge, as notifyd-mqtt(8) has it.
        var state: String? {
            get async throws { try await device.bridge.property("State")?.string }
        }

        fileprivate init(_ device: LinkedDevice) async throws {
            self.device = device
            client = try await NotifyClient(address: device.bus.address)
            events = Stage.timed(try await client.events(at: "/"))
            outcomes = Stage.timed(try await client.outcomes(at: "/"))
        }

        /// The event with this title, which no other one has.
        func event(_ title: String) async throws -> Stage.Heard<Event> {
            try await Stage.expect("the event “\(title)” on the \(name)") {
                await events.next(within: $0) { $0.content.title == title }
            }
        }

        func outcome(_ kinds: Outcome.Kind..., of id: EventID) async throws -> Stage.Heard<Outcome> {
            try await Stage.expect("the outcome of event \(id) on the \(name)") {
                await outcomes.next(within: $0) { $0.content.id == id && kinds.contains($0.content.kind) }
            }
        }

        func banner(_ title: String) async throws -> NotificationServer.Banner {
            try await Stage.expect("the banner “\(title)” on the \(name)") {
                await device.server.banners.next(within: $0) { $0.title == title }
            }
        }

        func takenDown(_ banner: UInt32) async throws -> NotificationServer.Close {
            try await Stage.expect("a banner on the \(name) to be taken down") {
                await device.server.closes.next(within: $0) { $0.id == banner }
            }
        }

        /// The titles of all events at a topic, in the order in which they came.
        func titles(_ topic: String) async throws -> [String] {
            try await client.history(topic).map(\.event.title)
        }
    }

    let broker: PrivateBroker
    let actors: [Actor]

    var desk: Actor { actors[0] }
    var laptop: Actor { actors[1] }
    var phone: Actor { actors[2] }

    init(_ broker: PrivateBroker, _ programs: LinkedDevice.Programs) async throws {
        self.broker = broker
        let key = Base64.encode(LinkKey.make())
        var devices: [LinkedDevice] = []
        var actors: [Actor] = []
        do {
            for name in ["desk", "laptop", "phone"] {
                let device = try await LinkedDevice(name, programs)
                devices.append(device)
                try device.link(to: "unix:\(broker.socket)", key: key)
                actors.append(try await Actor(device))
            }
            try await devices.startBridges()
        } catch {
            await devices.end()
            throw error
        }
        self.actors = actors
    }

    func end() async {
        for actor in actors { await actor.client.close() }
        await actors.map(\.device).end()
    }
}
