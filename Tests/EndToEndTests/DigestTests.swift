import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// The digest that follows a schedule.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct DigestTests {
    /// Its button prints what it runs to the log of the daemon.
    private static let configuration = """
        [banner]
        terminal = ["sh", "-c", "echo it runs $0 $1 >&2"]

        [[quiet]]
        from = "06:00"
        to = "12:00"
        digest = true
        """

    /// A time zone in which it is so long before noon (or, if it is negative, after noon) now.
    private static func zone(untilNoon time: Duration) -> [String: String] {
        let day = 86_400
        let now = Int(Date().timeIntervalSince1970) % day
        let ahead = day / 2 - Int(time.components.seconds) - now
        let (hours, minutes, seconds) = (abs(ahead) / 3600, abs(ahead) / 60 % 60, abs(ahead) % 60)
        // tzset(3): a zone that is ahead of UTC has a negative number.
        return ["TZ": "TST\(ahead > 0 ? "-" : "+")\(hours):\(minutes):\(seconds)"]
    }

    private func restart(_ rig: Rig, isKilled: Bool = false, untilNoon time: Duration) async throws {
        if isKilled { await rig.daemon.kill() } else { await rig.daemon.stop() }
        try await rig.daemon.start(with: Self.zone(untilNoon: time))
    }

    /// Publishes events that the schedule holds back. One of them is claimed later.
    private func publishMuted(_ rig: Rig) async throws {
        var ids: [EventID] = []
        for from in ["Mum", "Mum", "Jun"] {
            ids.append(try await rig.client.publish("/chat/1", fields: ["from": .string(from)]))
        }
        for _ in 1...2 { ids.append(try await rig.client.publish("/post/27")) }
        for id in ids { #expect(await rig.listener.resolution(of: id)?.outcome == "muted") }
        _ = try await rig.client.claim(ids[4])
    }

    private func digest(_ rig: Rig) async throws -> NotificationServer.Banner {
        try #require(
            await rig.server.banners.next(within: .seconds(30)) { $0.title.hasSuffix("while it was quiet") })
    }

    @Test func itComesWhenTheScheduleEndsAndItsButtonOpensTheInbox() async throws {
        try await withRig(configuration: Self.configuration) { rig in
            try await restart(rig, untilNoon: .seconds(5) * Timeouts.factor)
            try await publishMuted(rig)
            let banner = try await digest(rig)
            #expect(banner.title == "4 events while it was quiet")
            #expect(banner.body == "Mum (2), Jun, post 27")
            #expect(banner.actions == ["inbox", "Open inbox"])
            let listed = try await rig.client.history("/notifyd")
            let digest = try #require(listed.first)
            #expect(listed.count == 1 && digest.event.topic == "/notifyd/digest")
            #expect(await rig.listener.resolution(of: digest.event.id)?.outcome == "shown")
            rig.server.invoke("inbox", on: banner.id)
            #expect(
                await rig.daemon.errors.next(within: .seconds(10)) { $0.contains("it runs notifyctl inbox") } != nil)
            // The next start does not report it again.
            try await restart(rig, isKilled: true, untilNoon: .seconds(-60))
            #expect(try await rig.outcome(ofEventAt: "/after") == "shown")
            #expect(try await rig.client.history("/notifyd").count == 1)
        }
    }

    @Test(arguments: [true, false])
    func itComesAtTheNextStartIfTheDaemonWasNotRunning(isKilled: Bool) async throws {
        try await withRig(configuration: Self.configuration) { rig in
            try await restart(rig, untilNoon: .seconds(3600))
            try await publishMuted(rig)
            try await restart(rig, isKilled: isKilled, untilNoon: .seconds(3600))
            #expect(try await rig.client.history("/notifyd").isEmpty)
            try await restart(rig, isKilled: isKilled, untilNoon: .seconds(-3600))
            #expect(try await digest(rig).body == "Mum (2), Jun, post 27")
        }
    }
}
