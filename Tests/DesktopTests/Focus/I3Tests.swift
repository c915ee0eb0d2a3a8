import NotifyClient
import NotifyRehearsal
import Testing

/// Real windows on a real i3, over its socket.
@Suite(.serialized, .timeLimit(.minutes(5))) struct I3Tests {
    private static let rules =
        FocusRig.rules + "\n[[screen]]\napp = \"xterm\"\ntopic = \"/shell/lab/{window}\"\n"

    @Test func itsSocketTellsWhatIsFocusedAndVisible() async throws {
        let server = try await XServer()
        let folder = try TemporaryFolder()
        try await finally {
            await server.stop()
            folder.remove()
        } after: {
            try await follow(server, folder)
        }
    }

    private func follow(_ server: XServer, _ folder: TemporaryFolder) async throws {
        let socket = folder.path + "/i3.sock"
        let configuration = try folder.write(
            "# i3 config file (v4)\nfont pango:monospace 8\nipc-socket \(socket)\n", to: "config")
        try server.startManager("i3", ["-c", configuration])
        try await FocusRig.with(["DISPLAY": server.display, "I3SOCK": socket], rules: Self.rules) { rig in
            func i3(_ words: String...) async throws -> Bool {
                try await ChildProcess.run(
                    "i3-msg", ["-s", socket] + words, environment: rig.environment, within: .seconds(30)
                ).exit == .code(0)
            }
            func command(_ text: String) async throws { #expect(try await i3(text)) }
            // Without the socket it would follow the X server.
            try await rig.until("i3 answers") { try await i3("-t", "get_version") }
            try await rig.start()
            #expect(try await rig.state()["source"]?.string == "i3")
            let windows = try X11Client(display: server.display)
            _ = windows.open("Lounge", app: "Element")
            try await rig.expect("/chat focused")
            let post = windows.open("Post 27 – Example", app: "Firefox")
            try await rig.expect("/chat visible", "/post/27 focused")
            windows.rename(post, "Post 28 – Example")
            try await rig.expect("/chat visible", "/post/28 focused")
            // In tabs, one hides the other.
            try await command("layout tabbed")
            try await command("[class=Element] focus")
            try await rig.expect("/chat focused")
            windows.focus(post)
            try await rig.expect("/post/28 focused")
            try await command("workspace 2")
            try await rig.expect()
            let terminal = windows.open("joe@lab", app: "XTerm")
            try await rig.expect("/shell/lab/\(terminal) focused")
            try await command("workspace 1")
            try await rig.expect("/post/28 focused")
        }
    }
}
