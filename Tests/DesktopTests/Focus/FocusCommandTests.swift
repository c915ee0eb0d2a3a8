import NotifyClient
import NotifyRehearsal
import Testing

/// `notifyctl focus`, with real windows.
@Suite(.serialized, .timeLimit(.minutes(5))) struct FocusCommandTests {
    @Test func notifyctlShowsAndLearns() async throws {
        try await withWindows { rig, windows, _ in
            let post = windows.open("Post 27 – Example", app: "Firefox")
            windows.focus(post)
            try await rig.expect("/post/27 focused")
            let shown = try await rig.notifyctl("focus")
            #expect(shown.output.contains { $0.contains("Firefox (test): Post 27 – Example") })
            #expect(shown.output.contains { $0.contains("1: /post/27") })
            // Either window is as good, whenever notifyctl begins to wait.
            let issues = [5, 6].map { windows.open("Issue \($0): slow", app: "Tracker") }
            async let learned = rig.notifyctl("focus", "--learn", "/issue/{id}", "--json=short")
            var turn = 0
            try await rig.until("there is a new rule") {
                turn += 1
                windows.focus(issues[turn % 2])
                return try await rig.state()["rules"]?.integer(as: Int.self) == 3
            }
            #expect(try await learned.code == 0)
            windows.focus(issues[0])
            try await rig.expect("/issue/5 focused")
            let text = try rig.configuration()
            #expect(text.hasPrefix(FocusRig.rules) && text.contains(#"title = "^Issue (?<id>[0-9]+):""#))
            let doctor = try await rig.notifyctl("doctor")
            #expect(doctor.output.contains { $0.contains("windows are followed (x11), 3 rules") })
        }
    }

    private func learn(_ topic: String, _ rig: FocusRig, _ hasEnded: Locked<Bool>) async throws -> CommandResult {
        defer { hasEnded.withLock { $0 = true } }
        return try await rig.notifyctl("focus", "--learn", topic, "--timeout=30s")
    }

    @Test func whatWouldMakeNoTopicIsNotLearned() async throws {
        try await withWindows { rig, windows, _ in
            for (title, reason) in [
                ("Issue " + String(repeating: "7", count: 400), "would make no topic of its title"),
                ("Issue 7 \u{FFFE}", "a character that no message can carry"),
            ] {
                let issues = (1...2).map { _ in windows.open(title, app: "Tracker") }
                let hasEnded = Locked(false)
                async let learned = learn("/issue/{id}", rig, hasEnded)
                var turn = 0
                while !hasEnded.withLock({ $0 }) {
                    turn += 1
                    windows.focus(issues[turn % 2])
                    try await Task.sleep(for: .milliseconds(50))
                }
                let result = try await learned
                #expect(result.code == 65 && result.errors.last?.contains(reason) == true, "\(result)")
            }
            #expect(try rig.configuration() == FocusRig.rules)
        }
    }

    @Test func itSaysThatNothingRuns() async throws {
        try await FocusRig.with([:]) { rig in
            let shown = try await rig.notifyctl("focus")
            #expect(shown.code == 69)
            #expect(
                shown.errors == [
                    "notifyctl: notifyd-focus does not run. Start it: systemctl --user enable --now notifyd-focus"
                ])
        }
    }

    @Test func withoutADesktopItSaysSo() async throws {
        try await FocusRig.with([:]) { rig in
            try rig.launch()
            try await rig.until("it waits") { try await rig.state()["detail"]?.string?.contains("no desktop") == true }
            let doctor = try await rig.notifyctl("doctor")
            #expect(doctor.output.contains { $0.contains("no windows are followed: there is no desktop here") })
        }
    }
}
