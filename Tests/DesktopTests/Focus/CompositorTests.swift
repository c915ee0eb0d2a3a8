import NotifyClient
import NotifyRehearsal
import Testing

/// Compositors that report their windows over the bus. The real KWin and GNOME Shell cannot run everywhere; these are
/// stand-ins.
@Suite(.serialized, .timeLimit(.minutes(5))) struct CompositorTests {
    private static let gnome = ["WAYLAND_DISPLAY": "wayland-9", "XDG_CURRENT_DESKTOP": "ubuntu:GNOME"]
    private static let kde = ["WAYLAND_DISPLAY": "wayland-9", "XDG_CURRENT_DESKTOP": "KDE"]

    /// Calls `org.notifyd.FocusSource1`.
    private func tell(
        _ connection: Connection, _ member: String, _ arguments: [Value] = []
    ) async throws(NotifyError) {
        _ = try await connection.call(
            .call(
                member, of: "org.notifyd.FocusSource1", at: "/org/notifyd/Focus1", on: "org.notifyd.Focus1",
                autoStart: false, arguments))
    }

    private func window(_ id: String, _ app: String, _ title: String, focused: Bool, visible: Bool = true) -> [Value] {
        [.string(id), .string(app), "", .string(title), .boolean(focused), .boolean(visible)]
    }

    @Test func anExtensionOfGNOMEShellTellsOfItsWindows() async throws {
        try await FocusRig.with(Self.gnome) { rig in
            let shell = try await Connection.open(rig.bus.address)
            defer { shell.close() }
            try await shell.requestName("org.gnome.Shell")
            try rig.launch()
            try await rig.until("it says what to do") {
                try await rig.state()["detail"]?.string?.contains("gnome-extensions enable") == true
            }
            try await tell(shell, "Begin")
            try await tell(shell, "Window", window("1", "firefox", "Post 27 – Example", focused: true))
            try await tell(shell, "Window", window("2", "element", "Lounge", focused: false))
            try await rig.expect("/chat visible", "/post/27 focused")
            try await tell(shell, "Window", window("2", "element", "Lounge", focused: true))
            try await rig.expect("/chat focused")
            try await tell(shell, "Gone", ["2"])
            try await rig.expect()
            try await tell(shell, "Window", window("1", "firefox", "Post 28 – Example", focused: true))
            try await rig.expect("/post/28 focused")
            try await tell(shell, "End")
            try await rig.expect()
        }
    }

    @Test func nobodyElseIsBelieved() async throws {
        try await FocusRig.with(Self.gnome) { rig in
            let shell = try await Connection.open(rig.bus.address)
            let stranger = try await Connection.open(rig.bus.address)
            defer { for connection in [shell, stranger] { connection.close() } }
            try await shell.requestName("org.gnome.Shell")
            try rig.launch()
            try await rig.until("it listens") { try await rig.state()["source"]?.string == "gnome" }
            for (member, arguments) in [("Begin", []), ("Window", window("1", "element", "Lounge", focused: true))] {
                let error = await #expect(throws: NotifyError.self) { try await tell(stranger, member, arguments) }
                #expect(error?.name == "org.freedesktop.DBus.Error.AccessDenied")
            }
            try await tell(shell, "Begin")
            try await tell(shell, "Window", window("1", "element", "Lounge", focused: true))
            try await rig.expect("/chat focused")
            // Nor the compositor that was there before.
            try await shell.releaseName("org.gnome.Shell")
            try await rig.expect()
            let error = await #expect(throws: NotifyError.self) { try await tell(shell, "Begin") }
            #expect(error?.name == "org.freedesktop.DBus.Error.AccessDenied")
        }
    }

    /// Any program may take a name that is free.
    @Test func anOwnerOfTheNameIsNotBelievedInTheSessionOfAnotherDesktop() async throws {
        try await FocusRig.with(Self.kde) { rig in
            let stranger = try await Connection.open(rig.bus.address)
            defer { stranger.close() }
            try await stranger.requestName("org.gnome.Shell")
            try rig.launch()
            try await rig.until("it waits for the compositor") {
                try await rig.state()["detail"]?.string?.contains("wayland-9 cannot be reached") == true
            }
            let error = await #expect(throws: NotifyError.self) { try await tell(stranger, "Begin") }
            #expect(error?.name == "org.freedesktop.DBus.Error.AccessDenied")
            #expect(try await rig.state()["source"]?.string == "")
        }
    }

    @Test func kwinLoadsAScript() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await FocusRig.with(Self.kde.merging(["XDG_RUNTIME_DIR": folder.path]) { $1 }) { rig in
            let calls = Mailbox<String>()
            let kwin = try await Connection.open(rig.bus.address)
            defer { kwin.close() }
            kwin.export("org.kde.kwin.Scripting") { call in
                let arguments = call.message.arguments.compactMap(\.string).joined(separator: " ")
                calls.put("\(call.message.member ?? "") \(arguments)")
                call.reply([])
            }
            try await kwin.requestName("org.kde.KWin")
            try rig.launch()
            for expected in [
                "unloadScript notifyd-focus", "loadScript \(folder.path)/notifyd-focus.js notifyd-focus", "start ",
            ] {
                #expect(await calls.next(within: .seconds(30)) == expected)
            }
            try await tell(kwin, "Begin")
            try await tell(kwin, "Window", window("{1}", "firefox", "Post 27 – Example", focused: true))
            try await rig.expect("/post/27 focused")
            #expect(await rig.stop() == .code(0))
            #expect(await calls.next(within: .seconds(30)) == "unloadScript notifyd-focus")
        }
    }
}
