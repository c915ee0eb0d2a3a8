import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Pauses and mutes: kept over the end of the daemon, listed, and named by what they did.
@Suite(.timeLimit(.minutes(2)))
struct QuietTests {
    private let rig: Rig! = Fixture.current()

    @Test(.rig, arguments: [true, false])
    func aPauseAndMutesSurviveTheEndOfTheDaemon(isKilled: Bool) async throws {
        try await rig.client.mute("/post", for: .seconds(600))
        try await rig.client.mute("/chat", for: .seconds(600))
        try await rig.client.pause(for: .seconds(3600))
        try await rig.client.mute("/chat", for: .zero)
        let before = try await rig.client.quiet()
        #expect(before.map(\.topic) == ["/", "/post"])
        try await rig.daemon.restart(inOrder: !isKilled)
        let after = try await rig.client.quiet()
        #expect(after.map(\.topic) == ["/", "/post"])
        #expect(after.map(\.cause) == [.paused, .muted])
        for (left, right) in zip(before, after) { #expect(abs(left.until! - right.until!) < 100_000) }
        #expect(try await rig.client.paused())
        try await rig.client.setPaused(false)
        // sd-bus acknowledges this by itself, and it is on disk all the same.
        try await rig.daemon.restart()
        #expect(try await !rig.client.paused())
        #expect(try await rig.outcome(ofEventAt: "/post/1") == "muted")
        #expect(try await rig.outcome(ofEventAt: "/run/r1/cancelled") == "shown")
    }

    @Test(.rig) func everybodyIsToldWhenATimedPauseBeginsAndEnds() async throws {
        let changes = Mailbox<[String: Value]>()
        let observer = try await Connection.open(
            rig.bus.address,
            onSignal: { signal in
                guard signal.member == "PropertiesChanged" else { return }
                changes.put(signal.arguments.dropFirst().first?.entries ?? [:])
            })
        defer { observer.close() }
        _ = try await observer.call(
            .call(
                "AddMatch", of: Bus.interface, at: Bus.path, on: Bus.name,
                ["member='PropertiesChanged',path='/org/notifyd/Router1'"]))
        try await rig.client.pause(for: .seconds(1))
        let begin = try #require(await changes.next(within: .seconds(5)))
        #expect(begin["Paused"]?.boolean == true)
        #expect(begin["Quiet"]?.elements?.count == 1)
        let end = try #require(await changes.next(within: .seconds(10)))
        #expect(end["Paused"]?.boolean == false)
        #expect(end["Quiet"]?.elements?.count == 0)
        try await rig.client.mute("/post", for: .seconds(60))
        let mute = try #require(await changes.next(within: .seconds(5)))
        #expect(mute["Paused"] == nil)
        #expect(mute["Quiet"]?.elements?.count == 1)
    }

    // MARK: Schedules

    /// A schedule that began an hour ago and lasts another hour, in the local time of this machine.
    private static func schedule(_ more: String = "") -> String {
        func text(_ moment: Date) -> String {
            let parts = Calendar.current.dateComponents(in: .current, from: moment)
            return String(format: "%02d:%02d", parts.hour!, parts.minute!)
        }
        let (from, to) = (text(Date() - 3600), text(Date() + 3600))
        return "[[quiet]]\nfrom = \"\(from)\"\nto = \"\(to)\"\n\(more)\n"
    }

    @Test func aScheduleMutesAndStaysLiftedOverARestart() async throws {
        let alarm = "[[route]]\ntopic = \"/alarm\"\nbreak_through = true\n"
        try await withRig(configuration: Self.schedule("topics = [\"/post\", \"/alarm\"]") + alarm) { rig in
            let quiet = try await rig.client.quiet()
            #expect(quiet.map(\.topic) == ["/alarm", "/post"])
            #expect(quiet.allSatisfy { $0.cause == .schedule && $0.until! % 60_000_000 == 0 })
            let id = try await rig.client.publish("/post/1")
            #expect(await rig.listener.resolution(of: id)?.outcome == "muted")
            #expect(
                try await rig.client.explain(id).reason.hasPrefix(
                    "A schedule held back banners at or below /post until "))
            let loud = try await rig.client.publish("/alarm")
            #expect(await rig.listener.resolution(of: loud)?.outcome == "shown")
            #expect(try await rig.client.explain(loud).reason.hasSuffix("Its route breaks through."))
            let listed = try await rig.run("quiet").output
            #expect(listed.count == 2 && listed.allSatisfy { $0.hasSuffix("schedule") })
            let still = try await rig.run("resume", "/post/1").output
            #expect(
                still.count == 1 && still[0].hasPrefix("/post/1 is still quiet: /post is quiet by a schedule until "))
            #expect(still.first?.hasSuffix("; “notifyctl resume /post” ends that.") == true)
            #expect(try await rig.run("resume", "/post").output == [])
            for isKilled in [true, false] {
                #expect(try await rig.client.quiet().map(\.topic) == ["/alarm"])
                #expect(try await rig.outcome(ofEventAt: "/post/2") == "shown")
                try await rig.daemon.restart(inOrder: !isKilled)
            }
        }
    }

    @Test func aReloadChangesSchedulesAtOnce() async throws {
        try await withRig(configuration: Self.schedule()) { rig in
            #expect(try await rig.client.quiet().map(\.topic) == ["/"])
            try await rig.daemon.reload(Self.schedule("topics = [\"/chat\"]"))
            #expect(try await rig.client.quiet().map(\.topic) == ["/chat"])
            try await rig.daemon.reload("")
            #expect(try await rig.client.quiet().isEmpty)
            #expect(try await rig.outcome(ofEventAt: "/chat") == "shown")
        }
    }

    @Test(.rig) func theCommandLineListsWhatIsQuietAndSaysWhatStillIs() async throws {
        #expect(try await rig.run("quiet").output == ["Banners are on; no topic is muted."])
        let unmuted = try await rig.run("mute", "/x", "0", "--json=short").output
        #expect(unmuted == [#"{"topic":"/x","milliseconds":0}"#])
        #expect(try await rig.run("resume", "--json=short").output == [#"{"paused":false}"#])
        #expect(try await rig.run("mute", "/", "10m").exit == .code(0))
        #expect(try await rig.run("mute", "/post", "10m").exit == .code(0))
        #expect(
            try await rig.run("pause", "1h", "--json=short").output == [#"{"paused":true,"milliseconds":3600000}"#])
        let lines = try await rig.run("quiet").output.map { $0.split(separator: " ").map(String.init) }
        #expect(lines.map { $0.first } == ["/", "/", "/post"])
        #expect(lines.map { $0.last } == ["paused", "muted", "muted"])
        #expect(lines.allSatisfy { $0[1] == "until" })
        #expect(try await rig.run("quiet", "--json=short").output.count == 3)
        let status = try await rig.run("status").output.joined(separator: "\n")
        #expect(status.contains("paused until "))
        #expect(status.contains("/post until "))
        let top = try await rig.run("top", "-n", "1").output.joined(separator: "\n")
        #expect(top.contains("banners paused until ") && top.contains("/post until "))
        let doctor = try await rig.run("doctor").output.joined(separator: "\n")
        #expect(doctor.contains("none: paused until ") && doctor.contains("muted: /"))

        let resumed = try await rig.run("resume")
        #expect(resumed.exit == .code(0))
        #expect(resumed.output.count == 2)
        #expect(resumed.output.allSatisfy { $0.hasPrefix("Still quiet: /") && $0.contains(" is muted until ") })
        let still = try await rig.run("mute", "/chat", "0").output
        #expect(still.count == 1 && still[0].hasPrefix("/chat is still quiet: / is muted until "))
        let below = try await rig.run("mute", "/", "0").output
        #expect(below.count == 1 && below[0].hasPrefix("Below it /post is muted until "))
        #expect(try await rig.outcome(ofEventAt: "/post/1") == "muted")
        #expect(try await rig.run("mute", "/post", "0").output == [])
        #expect(try await rig.outcome(ofEventAt: "/post/2") == "shown")
    }
}

/// The digest that follows a schedule.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct DigestTests {
    private let rig: Rig! = Fixture.current()

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

    @Test(.rig(configuration: configuration)) func itComesWhenTheScheduleEndsAndItsButtonOpensTheInbox() async throws {
        try await rig.daemon.restart(inOrder: true, with: Self.zone(untilNoon: .seconds(5) * Timeouts.factor))
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
        try await rig.daemon.restart(inOrder: false, with: Self.zone(untilNoon: .seconds(-60)))
        #expect(try await rig.outcome(ofEventAt: "/after") == "shown")
        #expect(try await rig.client.history("/notifyd").count == 1)
    }

    @Test(.rig(configuration: configuration), arguments: [true, false])
    func itComesAtTheNextStartIfTheDaemonWasNotRunning(isKilled: Bool) async throws {
        try await rig.daemon.restart(inOrder: true, with: Self.zone(untilNoon: .seconds(3600)))
        try await publishMuted(rig)
        try await rig.daemon.restart(inOrder: !isKilled, with: Self.zone(untilNoon: .seconds(3600)))
        #expect(try await rig.client.history("/notifyd").isEmpty)
        try await rig.daemon.restart(inOrder: !isKilled, with: Self.zone(untilNoon: .seconds(-3600)))
        #expect(try await digest(rig).body == "Mum (2), Jun, post 27")
    }
}
