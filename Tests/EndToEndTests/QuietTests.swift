import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Pauses and mutes: kept over the end of the daemon, listed, and named by what they did.
@Suite(.timeLimit(.minutes(2)))
struct QuietTests {
    @Test(arguments: [true, false])
    func aPauseAndMutesSurviveTheEndOfTheDaemon(isKilled: Bool) async throws {
        try await withRig { rig in
            try await rig.client.mute("/post", for: .seconds(600))
            try await rig.client.mute("/chat", for: .seconds(600))
            try await rig.client.pause(for: .seconds(3600))
            try await rig.client.mute("/chat", for: .zero)
            let before = try await rig.client.quiet()
            #expect(before.map(\.topic) == ["/", "/post"])
            try await rig.restart(isKilled)
            let after = try await rig.client.quiet()
            #expect(after.map(\.topic) == ["/", "/post"])
            #expect(after.map(\.cause) == [.paused, .muted])
            for (left, right) in zip(before, after) { #expect(abs(left.until! - right.until!) < 100_000) }
            #expect(try await rig.client.paused())
            try await rig.client.setPaused(false)
            // sd-bus acknowledges this by itself, and it is on disk all the same.
            try await rig.restart(true)
            #expect(try await !rig.client.paused())
            #expect(try await rig.outcome(ofEventAt: "/post/1") == "muted")
            #expect(try await rig.outcome(ofEventAt: "/run/r1/cancelled") == "shown")
        }
    }

    @Test func everybodyIsToldWhenATimedPauseBeginsAndEnds() async throws {
        try await withRig { rig in
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
                try await rig.restart(isKilled)
            }
        }
    }

    @Test func aReloadChangesSchedulesAtOnce() async throws {
        try await withRig(configuration: Self.schedule()) { rig in
            #expect(try await rig.client.quiet().map(\.topic) == ["/"])
            try await rig.reconfigure(Self.schedule("topics = [\"/chat\"]"))
            #expect(try await rig.client.quiet().map(\.topic) == ["/chat"])
            try await rig.reconfigure("")
            #expect(try await rig.client.quiet().isEmpty)
            #expect(try await rig.outcome(ofEventAt: "/chat") == "shown")
        }
    }

    @Test func theCommandLineListsWhatIsQuietAndSaysWhatStillIs() async throws {
        try await withRig { rig in
            #expect(try await rig.run("quiet").output == ["Banners are on; no topic is muted."])
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
}

extension Rig {
    /// Ends the daemon, in order or as a crash would, and starts it again.
    func restart(_ isKilled: Bool) async throws {
        if isKilled { await daemon.kill() } else { await daemon.stop() }
        try await daemon.start()
    }
}
