import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Claims between real devices: each is a notifyd and a notifyd-mqtt on a bus of their own.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ClaimTests {
    private let rig: LinkRig! = Fixture.current()
    private static let atOnce = PublishOptions(window: .zero)

    /// Publishes an event, and returns when both devices show its banner.
    private func publishBanner(_ title: String, _ rig: LinkRig) async throws -> (one: EventID, two: EventID) {
        let id = try await rig.one.client.publish("/post/27", title: title, options: Self.atOnce)
        for device in rig.devices {
            let banner = await device.server.banners.next(within: .seconds(10)) { $0.title == title }
            if banner == nil { throw RehearsalError("\(device.name) shows no banner. \(device.bridge.log)") }
        }
        return (id, try await rig.two.event(title).event.id)
    }

    private func outcome(of id: EventID, on device: LinkedDevice) async throws -> Outcome.Kind? {
        try await device.client.history("/").first { $0.event.id == id }?.outcome
    }

    @Test(.link) func aClaimOnOneTakesTheBannerOffTheOther() async throws {
        let (one, two) = try await publishBanner("one", rig)
        _ = try await rig.one.client.claim(one)
        #expect(await rig.two.server.closes.next(within: .seconds(10)) != nil)
        try await rig.two.until("it is retracted") { try await outcome(of: two, on: rig.two) == .retracted }
        let row = try await rig.two.client.journalChanges().changes.last { $0.kind == "outcome" }
        #expect(row?.details["device"]?.string == "desk")
        // The other way round, though the event did not begin there.
        let again = try await publishBanner("two", rig)
        _ = try await rig.two.client.claim(again.two)
        #expect(await rig.one.server.closes.next(within: .seconds(10)) != nil)
    }

    @Test(.link) func aBannerThatIsClosedOnOneIsClosedOnTheOther() async throws {
        let (_, two) = try await publishBanner("one", rig)
        let banner = try #require(rig.one.server.showing.first)
        rig.one.server.dismiss(banner.id)
        #expect(await rig.two.server.closes.next(within: .seconds(10)) != nil)
        try await rig.two.until("it is dismissed") { try await outcome(of: two, on: rig.two) == .dismissed }
    }

    @Test(.link) func whatIsTakenBackIsTakenBackEverywhere() async throws {
        let (one, two) = try await publishBanner("one", rig)
        try await rig.one.client.withdraw(one)
        #expect(await rig.two.server.closes.next(within: .seconds(10)) != nil)
        try await rig.two.until("it is withdrawn") { try await outcome(of: two, on: rig.two) == .withdrawn }
    }

    @Test(.link) func whatIsClaimedBeforeItArrivesShowsNoBanner() async throws {
        await rig.broker.kill()
        let id = try await rig.one.client.publish("/post/27", title: "one", options: Self.atOnce)
        _ = try await rig.one.client.claim(id)
        try await rig.broker.start()
        let event = try await rig.two.event("one")
        try await rig.two.until("it is claimed") {
            try await outcome(of: event.event.id, on: rig.two) == .claimed
        }
        #expect(rig.two.server.banners.all.isEmpty)
    }

    /// A claim overtakes its event: the daemon of the third was away when the event was said.
    @Test(.link(3)) func aClaimFromAThirdDeviceReachesAll() async throws {
        let id = try await rig.one.client.publish("/post/27", title: "one", options: Self.atOnce)
        for device in rig.devices { try await device.hears("one") }
        let third = rig.devices[2]
        _ = try await third.client.claim(try await third.event("one").event.id)
        try await rig.one.until("it is retracted") { try await outcome(of: id, on: rig.one) == .retracted }
        try await rig.two.until("nothing is unread") { try await rig.two.client.unread("/") == 0 }
    }

    @Test(.link) func marksAreReadEverywhere() async throws {
        try await rig.two.client.mute("/post", for: .seconds(600))
        let id = try await rig.one.client.publish("/post/27", title: "one", options: Self.atOnce)
        try await rig.two.hears("one")
        try await rig.two.until("it is unread") { try await rig.two.client.unread("/") == 1 }
        _ = try await rig.one.client.claim(id)
        try await rig.two.until("nothing is unread") { try await rig.two.client.unread("/") == 0 }
    }

    /// Its banner was held back on the device where it is read, so that only its mark is new there.
    @Test(.link) func whatIsReadOnOneLeavesBannerAndInboxOfTheOther() async throws {
        try await rig.two.client.mute("/post", for: .seconds(600))
        let id = try await rig.one.client.publish("/post/27", title: "one", options: Self.atOnce)
        #expect(await rig.one.server.banners.next(within: .seconds(10)) != nil)
        try await rig.two.until("it is unread") { try await rig.two.client.unread("/") == 1 }
        #expect(try await rig.two.client.markRead("/post") == 1)
        #expect(await rig.one.server.closes.next(within: .seconds(10)) != nil)
        try await rig.one.until("it is retracted") { try await outcome(of: id, on: rig.one) == .retracted }
        #expect(try await rig.one.client.unread("/") == 0)
    }

    // MARK: Screens

    /// The event is held for the screen of the other device, and its claim comes in time.
    @Test(.link) func aScreenElsewhereKeepsTheBannerAway() async throws {
        let screen = try await rig.one.client.openScreen("/post/27")
        try await rig.two.until("the screen is known", within: .seconds(5)) {
            // It is told at most once a second, and nothing else shows it.
            let title = "probe \(UInt64.random(in: 0 ... .max))"
            let id = try await rig.one.client.publish("/post/27", title: title, options: Self.atOnce)
            _ = try? await rig.one.client.claim(id)
            let event = try await rig.two.event(title)
            try await rig.two.until("it is decided") {
                try await outcome(of: event.event.id, on: rig.two) != nil
            }
            return try await outcome(of: event.event.id, on: rig.two) == .claimed
        }
        withExtendedLifetime(screen) {}
    }
}
