import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Banners that wait for another device: for a screen that covers the topic, or until the link has caught up.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct HoldTests {
    private let rig: LinkRig! = Fixture.current()
    private static let atOnce = PublishOptions(window: .zero)
    /// Shorter than the way to the other device and back may take.
    private static let brief = PublishOptions(window: .milliseconds(30))

    private func outcome(of id: EventID, on device: LinkedDevice) async throws -> Outcome.Kind? {
        try await device.client.history("/").first { $0.event.id == id }?.outcome
    }

    private func isHeld(_ id: EventID, on device: LinkedDevice) async throws -> Bool {
        try await device.client.explain(id).claims.contains { $0.form == "ClaimProvisionally" }
    }

    /// Returns when the first device holds events for a screen of the second one at a topic. Screens are told at most
    /// once a second, and nothing but a hold shows it.
    private func waitForScreen(_ topic: String, _ rig: LinkRig) async throws {
        try await rig.one.until("the screen is known", within: .seconds(30)) {
            let id = try await rig.one.client.publish(topic, title: "probe", options: Self.brief)
            try await rig.one.until("it is decided") { try await outcome(of: id, on: rig.one) != nil }
            return try await isHeld(id, on: rig.one)
        }
        try await rig.one.until("no banner is there", within: .seconds(30)) {
            for banner in rig.one.server.showing { rig.one.server.dismiss(banner.id) }
            return rig.one.server.showing.isEmpty
        }
    }

    private func banners(_ device: LinkedDevice) -> [String] {
        device.server.banners.all.map(\.title).filter { $0 != "probe" }
    }

    // MARK: Screens

    @Test(.link) func noBannerFlashesWhileTheClaimOfAScreenElsewhereIsOnItsWay() async throws {
        let screen = try await rig.two.client.openScreen("/post")
        try await waitForScreen("/post/27", rig)
        for attempt in 1... {
            // The claim is under way for longer than the window, and for less than the 600 ms of the hold.
            rig.two.bridge.signal(SIGSTOP)
            let sent = ContinuousClock.now
            let id = try await rig.one.client.publish("/post/27", title: "\(attempt)", options: Self.brief)
            try await rig.one.until("the window is over") { ContinuousClock.now - sent > .milliseconds(150) }
            let isInTime = ContinuousClock.now - sent < .milliseconds(350)
            rig.two.bridge.signal(SIGCONT)
            try await rig.one.until("it is decided") { try await outcome(of: id, on: rig.one) != nil }
            if isInTime, ContinuousClock.now - sent < .milliseconds(590) || attempt == 10 {
                #expect(try await isHeld(id, on: rig.one))
                #expect(try await outcome(of: id, on: rig.one) == .claimed)
                #expect(!banners(rig.one).contains("\(attempt)"))
                break
            }
            // This machine was too slow.
        }
        #expect(banners(rig.two).isEmpty)
        withExtendedLifetime(screen) {}
    }

    @Test func aClaimThatDoesNotComeBringsTheBanner() async throws {
        // Without a limit, so that no probe's banner folds this one into a summary.
        try await withLink(daemon: "[banner]\nmax_per_second = 0\n") { rig in
            let screen = try await rig.two.client.openScreen("/post")
            try await waitForScreen("/post/27", rig)
            rig.two.bridge.signal(SIGSTOP)
            let sent = ContinuousClock.now
            try await rig.one.client.publish("/post/27", title: "late", options: Self.brief)
            // With a count in it, where an event of `waitForScreen` was shown too.
            let banner = await rig.one.server.banners.next(within: .seconds(30)) { $0.title.hasPrefix("late") }
            let delay = try #require(banner).arrival - sent
            #expect(delay >= .milliseconds(600) && delay < .seconds(10), "\(delay)")
            // The claim comes in the end.
            rig.two.bridge.signal(SIGCONT)
            #expect(await rig.one.server.closes.next(within: .seconds(30)) { $0.id == banner?.id } != nil)
            withExtendedLifetime(screen) {}
        }
    }

    // MARK: Behind

    /// What was claimed while this device was away has no banner, though its claims come after all events.
    @Test func windowsLastWhileTheLinkIsBehind() async throws {
        // The window is short, so that it ends long before the claims are there.
        let daemon = "[banner]\nmax_per_second = 0\n[[route]]\ntopic = \"/log/{name}\"\nwindow = \"20ms\"\n"
        try await withLink(daemon: daemon) { rig in
            await rig.two.bridge.stop()
            var ids: [EventID] = []
            for number in 1...150 {
                ids.append(try await rig.one.client.publish("/log/a", title: "\(number)", options: Self.atOnce))
            }
            for id in ids { _ = try await rig.one.client.claim(id) }
            try await rig.one.until("Backlog", is: 0, within: .seconds(60))
            try await rig.two.bridge.start()
            try await rig.two.hears("150", within: .seconds(60))
            try await rig.two.until("all are claimed", within: .seconds(60)) {
                try await rig.two.client.unread("/") == 0
            }
            #expect(banners(rig.two).isEmpty, "\(banners(rig.two).count) of 150 have flashed")
            #expect(try await rig.two.titles() == (1...150).map { "\($0)" })
        }
    }

    @Test(.link) func whatHasExpiredMeanwhileGetsNoBanner() async throws {
        await rig.two.bridge.stop()
        let short = PublishOptions(timeToLive: .seconds(1), window: .zero)
        try await rig.one.client.publish("/log/a", title: "short", options: short)
        try await rig.one.client.publish("/log/a", title: "long", options: Self.atOnce)
        try await rig.one.until("Backlog", is: 0)
        let row = try await rig.one.client.journalChanges().changes.first {
            $0.kind == "event" && $0.details["title"]?.string == "short"
        }
        let expires: Int64 = try #require(row?.details["expires"]?.integer())
        try await rig.one.until("it has expired") { SystemClock.wall > expires }
        try await rig.two.bridge.start()
        try await rig.two.hears("long")
        let banner = await rig.two.server.banners.next(within: .seconds(30)) { _ in true }
        #expect(banner?.title == "long")
        #expect(try await rig.two.titles() == ["short", "long"])
        let event = try await rig.two.event("short")
        #expect(event.outcome == .expired)
        #expect(banners(rig.two) == ["long"])
    }
}
