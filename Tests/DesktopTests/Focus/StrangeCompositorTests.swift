import Glibc
import NotifyClient
import NotifyRehearsal
import Testing

/// Compositors that do what none should.
@Suite(.serialized, .timeLimit(.minutes(5))) struct StrangeCompositorTests {
    private static let post = WaylandServer.Act.window(app: "firefox", title: "Post 27 – Example")

    @Test func afterItHasFinishedNoScreenStays() async throws {
        let server = try WaylandServer([Self.post, .window(app: "firefox", title: "Post 28 – Example")])
        try await FocusRig.with(server.environment) { rig in
            try await rig.start()
            try await rig.expect("/post/27 focused")
            server.finish()
            // It is asked again after a pause.
            try await rig.expect("/post/28 focused")
            #expect(rig.log.contains("tells no more of its windows"))
        }
    }

    @Test func whatItSaysOfAMistakeIsOneLineOfTheLog() async throws {
        let server = try WaylandServer([.error("no\n<1>forged \u{1B}[31m"), Self.post])
        try await FocusRig.with(server.environment) { rig in
            try await rig.start()
            try await rig.expect("/post/27 focused")
            let lines = rig.log.split(separator: "\n")
            #expect(lines.contains { $0.contains("libwayland complains") && $0.contains("no <1>forged  [31m") })
            #expect(!lines.contains { $0.hasPrefix("<1>") })
        }
    }

    /// One that never answers at all, and one that stops in the middle of its first answer.
    @Test func silenceIsGivenUp() async throws {
        let folder = try TemporaryFolder()
        let listener = try listeningSocket(at: folder.path + "/sway.sock")
        defer { close(listener) }
        onOwnThread {
            let client = accept(listener, nil, nil)
            // The header announces more than there is.
            let half = Array("i3-ipc".utf8) + [100, 0, 0, 0, 2, 0, 0, 0] + Array("{".utf8)
            send(client, half, half.count, CInt(MSG_NOSIGNAL))
        }
        let server = try WaylandServer([.silence, .silence])
        async let sway: Void = expectSilence(of: "sway", ["SWAYSOCK": folder.path + "/sway.sock"])
        async let wayland: Void = expectSilence(of: "the Wayland compositor", server.environment)
        _ = try await (sway, wayland)
    }

    private func expectSilence(of name: String, _ desktop: [String: String]) async throws {
        try await FocusRig.with(desktop) { rig in
            try rig.launch()
            try await rig.until("it connects") {
                try await rig.state()["detail"]?.string?.hasPrefix("connecting to \(name)") == true
            }
            try await rig.until("it gives up") {
                let detail = try await rig.state()["detail"]?.string ?? ""
                return detail.hasPrefix(name) && detail.hasSuffix("does not answer")
            }
            // The log comes through a pipe.
            try await rig.until("the log tells it") { rig.log.contains("does not answer") }
        }
    }
}
