import Linking
import NotifyClient
import NotifyRehearsal
import NotifyText

struct LinkStory {
    let stage: LinkStage
    let window: Duration

    private var places: [LinkScene.Place] { stage.actors.map { LinkScene.Place(name: $0.name) } }

    func scenes(_ show: (any PlayedScene) -> Void) async throws {
        var first = try await claimedInTime()
        // On a busy machine the laptop itself may be too late: then the scene is repeated.
        for _ in 1...3 where first.wasTooSlow { first = try await claimedInTime() }
        show(first)
        show(try await claimedLate())
        show(try await closedByTheUser())
        show(try await outage())
    }

    /// Publishes an event, and returns when it is heard everywhere, with its id on each device.
    private func publish(_ title: String, on publisher: Int, in scene: inout LinkScene) async throws -> [EventID] {
        scene.start = .now
        let client = stage.actors[publisher].client
        try await client.publish(scene.topic, title: title)
        scene.places[publisher].acknowledged = .now - scene.start
        var ids: [EventID] = []
        for (index, actor) in stage.actors.enumerated() {
            let heard = try await actor.witness.event(title)
            scene.places[index].heard = heard.time - scene.start
            ids.append(heard.content.id)
        }
        return ids
    }

    /// The laptop takes 30 ms to draw the news, then claims.
    private func claimedInTime() async throws -> LinkScene {
        var scene = LinkScene(
            title: "Published on the desk, and on screen on the laptop: its claim silences all three",
            topic: "/post/27", window: window, wanted: .claimed, places: places)
        let ids = try await publish("Mina commented", on: 0, in: &scene)
        let drawn = scene.start + (scene.places[1].heard ?? .zero) + .milliseconds(30)
        try await Task.sleep(until: drawn, tolerance: .zero, clock: .continuous)
        let claim = ContinuousClock.now - scene.start
        scene.places[1].claimed = (claim, try await stage.laptop.client.claim(ids[1]))
        scene.watched = window * 2
        for (index, actor) in stage.actors.enumerated() {
            let end = try await actor.witness.outcome(.claimed, .retracted, of: ids[index])
            scene.places[index].decided = (end.time - scene.start, end.content.kind)
        }
        for (index, actor) in stage.actors.enumerated() {
            let banner = await actor.witness.bannerIfAny(since: scene.start, within: window * 2)
            scene.places[index].banner = banner.map { $0.arrival - scene.start }
        }
        return scene
    }

    /// Published on the laptop; the user opens it on the phone, 50 ms after the last banner came.
    private func claimedLate() async throws -> LinkScene {
        var scene = LinkScene(
            title: "Published on the laptop, opened a moment too late on the phone: all three banners are taken down",
            topic: "/post/28", window: window, wanted: .retracted, places: places)
        let ids = try await publish("Jan commented", on: 1, in: &scene)
        let banners = try await banners("Jan commented", in: &scene)
        let claim = ContinuousClock.now - scene.start
        scene.places[2].claimed = (claim, try await stage.phone.client.claim(ids[2]))
        try await wait(for: banners, ids, .retracted, in: &scene)
        return scene
    }

    private func closedByTheUser() async throws -> LinkScene {
        var scene = LinkScene(
            title: "Published on the phone, and its banner closed on the desk: it closes everywhere",
            topic: "/post/29", window: window, wanted: .dismissed, places: places)
        let ids = try await publish("Mina replied", on: 2, in: &scene)
        let banners = try await banners("Mina replied", in: &scene)
        let closed = ContinuousClock.now - scene.start
        stage.desk.device.server.dismiss(banners[0])
        scene.places[0].closed = closed
        scene.places[0].takenDown = closed
        try await wait(for: banners, ids, .dismissed, in: &scene)
        return scene
    }

    /// The banners on all devices, 50 ms after the last has come.
    private func banners(_ title: String, in scene: inout LinkScene) async throws -> [UInt32] {
        var banners: [UInt32] = []
        for (index, actor) in stage.actors.enumerated() {
            let banner = try await actor.witness.banner("the banner “\(title)”", since: scene.start)
            scene.places[index].banner = banner.arrival - scene.start
            banners.append(banner.id)
        }
        try await Task.sleep(for: .milliseconds(50), tolerance: .zero)
        return banners
    }

    private func wait(
        for banners: [UInt32], _ ids: [EventID], _ kind: Outcome.Kind, in scene: inout LinkScene
    ) async throws {
        for (index, actor) in stage.actors.enumerated() {
            if scene.places[index].takenDown == nil {
                scene.places[index].takenDown = try await actor.witness.takenDown(banners[index]).arrival - scene.start
            }
            let end = try await actor.witness.outcome(kind, of: ids[index])
            scene.places[index].decided = (end.time - scene.start, end.content.kind)
        }
    }

    // MARK: The outage

    private static let eventsOfEach = 5

    /// Every device goes on by itself; afterwards all have everything.
    private func outage() async throws -> OutageScene {
        var scene = OutageScene(
            title: "The broker is killed: each device goes on, and afterwards nothing is missing",
            topic: "/run/r1/log", places: stage.actors.map { OutageScene.Place(name: $0.name) })
        await stage.broker.kill()
        let start = ContinuousClock.now
        var expected: Set<String> = []
        for number in 1...Self.eventsOfEach {
            for (index, actor) in stage.actors.enumerated() {
                let title = "\(actor.name) \(number)"
                let begin = ContinuousClock.now
                try await actor.client.publish(scene.topic, title: title, options: PublishOptions(banner: false))
                scene.places[index].published.append(begin - start)
                scene.places[index].longestWait = max(scene.places[index].longestWait, .now - begin)
                expected.insert(title)
            }
            try await Task.sleep(for: .milliseconds(50), tolerance: .zero)
        }
        scene.events = expected.count
        // Neither the state of a bridge nor a whole journal is announced.
        var deadline = ContinuousClock.now + .seconds(10) * Timeouts.factor
        for actor in stage.actors {
            while try await actor.state == "connected" {
                guard ContinuousClock.now < deadline else {
                    throw RehearsalError("The \(actor.name) did not notice that the broker is away.")
                }
                try await Task.sleep(for: .milliseconds(10), tolerance: .zero)
            }
        }
        try await stage.broker.start()
        scene.returned = .now - start
        deadline = .now + .seconds(60) * Timeouts.factor
        while ContinuousClock.now < deadline, scene.places.contains(where: { $0.complete == nil }) {
            for (index, actor) in stage.actors.enumerated() where scene.places[index].complete == nil {
                if scene.places[index].connected == nil, try await actor.state == "connected" {
                    scene.places[index].connected = .now - start
                }
                if try await Set(actor.titles(scene.topic)).isSuperset(of: expected) {
                    scene.places[index].complete = .now - start
                }
            }
            try await Task.sleep(for: .milliseconds(10), tolerance: .zero)
        }
        for (index, actor) in stage.actors.enumerated() {
            let titles = try await actor.titles(scene.topic)
            scene.places[index].missing = expected.subtracting(titles).count
            scene.places[index].doubled = titles.count - Set(titles).count
        }
        return scene
    }
}

/// Three linked devices, and somebody on each of them who publishes, listens and claims.
struct LinkStage {
    struct Actor {
        let device: LinkedDevice
        let witness: Witness

        var name: String { device.name }
        var client: NotifyClient { witness.client }

        /// Of its bridge, as notifyd-mqtt(8) has it.
        var state: String? { get async throws { try await device.bridge.property("State")?.string } }

        /// The titles of all events at a topic, in the order in which they came.
        func titles(_ topic: String) async throws -> [String] { try await client.history(topic).map(\.event.title) }
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
                let witness = try await Witness(device.client, device.server, place: " on the \(name)")
                actors.append(Actor(device: device, witness: witness))
            }
            try await devices.startBridges()
        } catch {
            await devices.end()
            throw error
        }
        self.actors = actors
    }

    func end() async {
        await actors.map(\.device).end()
    }
}
