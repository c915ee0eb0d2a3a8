import ChildProcesses
import NotifyClient
import NotifyRehearsal

struct Story {
    let stage: Stage
    let window: Duration

    func scenes(_ show: (Scene) -> Void) async throws {
        let arrivals = try await stage.shows("/post/27")
        var first = try await postOnScreen(arrivals)
        // On a busy machine the screen itself may be too late: then the scene is repeated.
        for _ in 1...3 where first.wasTooSlow { first = try await postOnScreen(arrivals) }
        show(first)
        var nobody = Scene("Post 28 is on no screen: a banner appears", topic: "/post/28", window: window)
        nobody.audience = "shows post 27, so it hears nothing of this"
        show(try await unclaimed(nobody, body: "Mina commented"))
        show(
            try await unclaimed(
                Scene("A friend invites you to a run", topic: "/run/r1/invite", window: window),
                fields: ["from": "Mina"]))
        show(
            try await unclaimed(
                Scene("Your mate has finished", topic: "/run/r1/mate/영희/finished", window: window),
                fields: ["distance": 5000]))
        show(try await lateClaim())
    }

    /// Claimed in time: the screen takes 30 ms to draw the news, then claims.
    private func postOnScreen(_ arrivals: Mailbox<Stage.Heard<Event>>) async throws -> Scene {
        var scene = Scene(
            "Post 27 is on screen: the screen claims, and no banner appears", topic: "/post/27", window: window)
        scene.start = .now
        let id = try await stage.publisher.publish("/post/27", body: "Mina commented")
        scene.acknowledged = .now - scene.start

        let event = try await Stage.expect("the event") { await arrivals.next(within: $0) }
        scene.heard = event.time - scene.start
        try await Task.sleep(until: event.time + .milliseconds(30), tolerance: .zero, clock: .continuous)
        let claim = ContinuousClock.now - scene.start
        scene.claimed = (claim, try await stage.screen.claim(id))
        let end = try await stage.outcome(.claimed, .retracted, of: id)
        scene.outcome = (end.time - scene.start, end.content)

        let horizon = window * 2
        scene.watched = horizon
        let rest = scene.start + horizon - .now
        if let banner = await stage.server.banners.next(within: rest, where: { [scene] in $0.arrival >= scene.start }) {
            scene.banner = (banner.arrival - scene.start, banner.title)
        }
        return scene
    }

    private func unclaimed(_ plan: Scene, body: String = "", fields: Fields = [:]) async throws -> Scene {
        var scene = plan
        scene.start = .now
        let id = try await stage.publisher.publish(scene.topic, body: body, fields: fields)
        scene.acknowledged = .now - scene.start
        let banner = try await stage.banner(since: scene.start)
        scene.banner = (banner.arrival - scene.start, banner.title)
        let end = try await stage.outcome(.shown, of: id)
        scene.outcome = (end.time - scene.start, end.content)
        return scene
    }

    /// Claimed too late: the user opens the post 50 ms after the banner came.
    private func lateClaim() async throws -> Scene {
        var scene = try await unclaimed(
            Scene(
                "You open post 29 a moment too late: its banner is taken down again", topic: "/post/29", window: window),
            body: "Mina commented")
        guard let shown = scene.outcome?.outcome, let banner = shown.banner else { return scene }
        try await Task.sleep(for: .milliseconds(50), tolerance: .zero)
        let claim = ContinuousClock.now - scene.start
        scene.claimed = (claim, try await stage.screen.claim(shown.id))
        scene.takenDown = try await stage.takenDown(banner).arrival - scene.start
        let end = try await stage.outcome(.retracted, of: shown.id)
        scene.outcome?.outcome.kind = end.content.kind
        return scene
    }
}
