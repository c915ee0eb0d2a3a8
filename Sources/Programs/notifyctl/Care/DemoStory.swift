import NotifyClient
import NotifyRehearsal
import NotifyText

struct Story {
    let stage: Stage
    let window: Duration

    func scenes(_ show: (Scene) -> Void) async throws {
        var first = try await postOnScreen()
        // On a busy machine the screen itself may be too late: then the scene is repeated.
        for _ in 1...3 where first.wasTooSlow { first = try await postOnScreen() }
        show(first)
        var nobody = Scene(title: "Post 28 is on no screen: a banner appears", topic: "/post/28", window: window)
        nobody.audience = "shows post 27, so it hears nothing of this"
        show(try await unclaimed(nobody, body: "Mina commented"))
        let invitation = Scene(title: "A friend invites you to a run", topic: "/run/r1/invite", window: window)
        show(try await unclaimed(invitation, fields: ["from": "Mina"]))
        let finish = Scene(title: "Your mate has finished", topic: "/run/r1/mate/영희/finished", window: window)
        show(try await unclaimed(finish, fields: ["distance": 5000]))
        show(try await lateClaim())
    }

    /// Claimed in time: the screen takes 30 ms to draw the news, then claims.
    private func postOnScreen() async throws -> Scene {
        var scene = Scene(
            title: "Post 27 is on screen: the screen claims, and no banner appears", topic: "/post/27", window: window)
        scene.start = .now
        let id = try await stage.publisher.publish("/post/27", body: "Mina commented")
        scene.acknowledged = .now - scene.start

        let event = try await stage.screen.event()
        scene.heard = event.time - scene.start
        try await Task.sleep(until: event.time + .milliseconds(30), tolerance: .zero, clock: .continuous)
        let claim = ContinuousClock.now - scene.start
        scene.claimed = (claim, try await stage.screen.client.claim(id))
        let end = try await stage.screen.outcome(.claimed, .retracted, of: id)
        scene.outcome = (end.time - scene.start, end.content)

        scene.watched = window * 2
        scene.banner = await stage.screen.bannerIfAny(since: scene.start, within: window * 2).map {
            ($0.arrival - scene.start, $0.title)
        }
        return scene
    }

    private func unclaimed(_ plan: Scene, body: String = "", fields: Fields = [:]) async throws -> Scene {
        var scene = plan
        scene.start = .now
        let id = try await stage.publisher.publish(scene.topic, body: body, fields: fields)
        scene.acknowledged = .now - scene.start
        let banner = try await stage.screen.banner(since: scene.start)
        scene.banner = (banner.arrival - scene.start, banner.title)
        let end = try await stage.screen.outcome(.shown, of: id)
        scene.outcome = (end.time - scene.start, end.content)
        return scene
    }

    /// Claimed too late: the user opens the post 50 ms after the banner came.
    private func lateClaim() async throws -> Scene {
        let plan = Scene(
            title: "You open post 29 a moment too late: its banner is taken down again", topic: "/post/29",
            window: window)
        var scene = try await unclaimed(plan, body: "Mina commented")
        guard let shown = scene.outcome?.outcome, let banner = shown.banner else { return scene }
        try await Task.sleep(for: .milliseconds(50), tolerance: .zero)
        let claim = ContinuousClock.now - scene.start
        scene.claimed = (claim, try await stage.screen.client.claim(shown.id))
        scene.takenDown = try await stage.screen.takenDown(banner).arrival - scene.start
        let end = try await stage.screen.outcome(.retracted, of: shown.id)
        scene.outcome?.outcome.kind = end.content.kind
        return scene
    }
}

/// Everything the story needs: a private bus with a real daemon and a stand-in for the desktop's notification server,
/// a publisher and a screen, each with its own connection.
struct Stage {
    let publisher: NotifyClient
    let screen: Witness
    private let daemon: DaemonProcess

    init(_ bus: PrivateBus, daemon program: String) async throws {
        let server = try await NotificationServer.start(on: bus)
        daemon = try await DaemonProcess.start(program, on: bus)
        publisher = try await NotifyClient(address: bus.address)
        screen = try await Witness(NotifyClient(address: bus.address), server, eventsAt: "/post/27")
    }

    func end() async {
        await publisher.close()
        await screen.client.close()
        await daemon.stop()
        screen.server.stop()
    }
}

/// Somebody who claims, and hears and sees what happens, and when.
struct Witness {
    struct Heard<Content: Sendable>: Sendable {
        let content: Content
        let time: ContinuousClock.Instant
    }

    let client: NotifyClient
    let server: NotificationServer
    /// Where, at the end of a sentence: such as “ on the desk”.
    private let place: String
    private let events: Mailbox<Heard<Event>>
    private let outcomes: Mailbox<Heard<Outcome>>

    init(
        _ client: NotifyClient, _ server: NotificationServer, eventsAt topic: String = "/", place: String = ""
    ) async throws {
        (self.client, self.server, self.place) = (client, server, place)
        events = Self.timed(try await client.events(at: topic))
        outcomes = Self.timed(try await client.outcomes(at: "/"))
    }

    /// The next event, or the one with a title, which no other one has.
    func event(_ title: String? = nil) async throws -> Heard<Event> {
        try await expect("the event" + (title.map { " “\($0)”" } ?? "") + place) {
            await events.next(within: $0) { title == nil || $0.content.title == title }
        }
    }

    func outcome(_ kinds: Outcome.Kind..., of id: EventID) async throws -> Heard<Outcome> {
        try await expect("the outcome of event \(id)" + place) {
            await outcomes.next(within: $0) { $0.content.id == id && kinds.contains($0.content.kind) }
        }
    }

    func banner(_ what: String = "a banner", since start: ContinuousClock.Instant) async throws
        -> NotificationServer.Banner
    { try await expect(what + place) { await server.banners.next(within: $0) { $0.arrival >= start } } }

    /// - Parameter limit: how long after the start there must be none.
    func bannerIfAny(
        since start: ContinuousClock.Instant, within limit: Duration
    ) async -> NotificationServer.Banner? {
        await server.banners.next(within: start + limit - .now) { $0.arrival >= start }
    }

    func takenDown(_ banner: UInt32) async throws -> NotificationServer.Close {
        try await expect("the banner\(place) to be taken down") {
            await server.closes.next(within: $0) { $0.id == banner }
        }
    }

    private func expect<Thing>(_ what: String, _ wait: (Duration) async -> Thing?) async throws -> Thing {
        let limit = Duration.seconds(10)
        if let thing = await wait(limit) { return thing }
        throw RehearsalError("The demo waited \(limit.shortText) for \(what), in vain.")
    }

    private static func timed<Content>(_ source: Subscription<Content>) -> Mailbox<Heard<Content>> {
        let box = Mailbox<Heard<Content>>()
        Task { for try await content in source { box.put(Heard(content: content, time: .now)) } }
        return box
    }
}

/// The result of one scene. All times count from the call of the publisher.
struct Scene: PlayedScene {
    let title: String
    let topic: String
    let window: Duration
    /// When the publisher made its call.
    var start = ContinuousClock.now
    var acknowledged = Duration.zero
    var heard: Duration?
    var claimed: (time: Duration, verdict: Verdict)?
    var outcome: (time: Duration, outcome: Outcome)?
    var banner: (time: Duration, text: String)?
    var takenDown: Duration?
    /// How long the absence of a banner was checked, if there must be none.
    var watched: Duration?
    /// The note for the screen if it claims nothing.
    var audience = "no screen shows it"

    /// Whether a claim that must be in time was sent too late.
    var wasTooSlow: Bool { watched != nil && (claimed?.time ?? .zero) > window / 2 }

    var flaws: [String] {
        var flaws: [String] = []
        if watched != nil, let banner { flaws.append("there was a banner, after \(banner.time.displayText)") }
        if watched == nil, banner == nil { flaws.append("there was no banner") }
        if let banner, banner.time < window { flaws.append("the banner came before the window's end") }
        if let claimed {
            let wanted: Verdict = banner == nil ? .suppressed : .retracted
            if claimed.verdict != wanted { flaws.append("the verdict was \(claimed.verdict), not \(wanted)") }
        }
        return flaws
    }

    var timeline: Timeline { Timeline(lanes: [publisherLane, screenLane, windowLane, bannerLane]) }

    private var publisherLane: Timeline.Lane {
        Timeline.Lane(
            actor: "publisher", marks: [(.zero, "P")],
            note: "\(topic), acknowledged after \(acknowledged.displayText)")
    }

    private var screenLane: Timeline.Lane {
        var lane = Timeline.Lane(actor: "screen", note: audience)
        if let heard {
            lane.marks.append((heard, "h"))
            lane.note = "hears it after \(heard.displayText)"
        }
        if let claimed {
            lane.marks.append((claimed.time, "C"))
            let start = heard == nil ? "opens the post, " : lane.note + ", "
            lane.note = start + "claims at \(claimed.time.displayText): \(claimed.verdict)"
        }
        return lane
    }

    private var windowLane: Timeline.Lane {
        let end = banner?.time ?? outcome?.time ?? window
        var lane = Timeline.Lane(actor: "window", spans: [(.zero, end, "=")], marks: [(.zero, "["), (end, "]")])
        if banner == nil, claimed != nil {
            lane.note = "closed by the claim; it would have been open for \(window.shortText)"
        } else if let lateness = outcome?.outcome.lateness {
            lane.note = "\(window.shortText), ended by its timer \(lateness.displayText) late"
        } else {
            lane.note = "\(window.shortText), ended by its timer"
        }
        return lane
    }

    private var bannerLane: Timeline.Lane {
        var lane = Timeline.Lane(actor: "banner")
        guard let banner else {
            lane.note = "none" + (watched.map { " (watched for \($0.shortText))" } ?? "")
            return lane
        }
        let end = takenDown ?? Timeline.column * Timeline.columns
        lane.spans = [(banner.time, end, "#")]
        lane.marks = [(banner.time, "B")]
        lane.note = "“\(Terminal.plain(banner.text))” after \(banner.time.displayText)"
        if let takenDown {
            lane.marks.append((takenDown, "x"))
            lane.note += ", taken down at \(takenDown.displayText)"
        }
        return lane
    }

    var json: JSON {
        [
            "title": title, "topic": topic, "acknowledged": acknowledged, "heard": heard, "claimed": claimed?.time,
            "verdict": claimed?.verdict, "outcome": outcome?.outcome.kind, "banner": banner?.time,
            "taken-down": takenDown, "flaws": flaws,
        ]
    }
}
