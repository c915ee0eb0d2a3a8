import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Real windows on an X server, with a real window manager.
@Suite(.serialized, .timeLimit(.minutes(5))) struct X11Tests {
    @Test func theFocusedWindowHoldsItsScreen() async throws {
        try await withWindows { rig, windows, _ in
            let post = windows.open("Post 27 – Example", app: "Firefox")
            windows.focus(post)
            try await rig.expect("/post/27 focused")
            windows.rename(post, "Post 28 – Example")
            try await rig.expect("/post/28 focused")
            let other = windows.open("Editor", app: "Gedit")
            windows.focus(other)
            try await rig.expect()
            windows.focus(post)
            try await rig.expect("/post/28 focused")
            windows.close(post)
            try await rig.expect()
        }
    }

    @Test func aVisibleWindowHoldsItsScreenUntilItCannotBeSeen() async throws {
        try await withWindows { rig, windows, _ in
            let chat = windows.open("Lounge", app: "Element", instance: "element-desktop")
            windows.focus(chat)
            try await rig.expect("/chat focused")
            let post = windows.open("Post 27 – Example", app: "Firefox")
            windows.focus(post)
            try await rig.expect("/chat visible", "/post/27 focused")
            windows.minimise(chat)
            try await rig.expect("/post/27 focused")
            windows.focus(chat)
            try await rig.expect("/chat focused")
            windows.move(chat, toDesktop: 1)
            try await rig.until("the chat is gone") { try await !rig.screens().contains { $0.hasPrefix("/chat") } }
            windows.showDesktop(1)
            try await rig.until("the chat is back") { try await rig.screens().contains { $0.hasPrefix("/chat") } }
        }
    }

    @Test func aShellFindsItsWindowByItsNumber() async throws {
        try await withWindows { rig, windows, _ in
            try rig.configure("[[screen]]\napp = \"xterm\"\ntopic = \"/shell/lab/{window}\"\n")
            rig.signal(SIGHUP)
            let window = windows.open("joe@lab", app: "XTerm")
            windows.focus(window)
            try await rig.expect("/shell/lab/\(window) focused")
        }
    }

    @Test func anEventThatWaitsIsClaimedWhenItsWindowIsFocused() async throws {
        try await withWindows { rig, windows, _ in
            let post = windows.open("Post 27 – Example", app: "Firefox")
            let other = windows.open("Editor", app: "Gedit")
            windows.focus(other)
            try await rig.expect()
            let id = try await rig.client.publish("/post/27", options: PublishOptions(window: .seconds(60)))
            windows.focus(post)
            try await rig.until("the event is claimed") {
                try await rig.client.explain(id).claims.map(\.form) == ["OpenScreen"]
            }
        }
    }

    @Test func screensAreOpenedAgainAfterARestartOfNotifyd() async throws {
        try await withWindows { rig, windows, _ in
            windows.focus(windows.open("Post 27 – Example", app: "Firefox"))
            try await rig.expect("/post/27 focused")
            try await rig.daemon.restart()
            try await rig.expect("/post/27 focused")
        }
    }

    @Test func theScreensEndWithTheProgram() async throws {
        try await withWindows { rig, windows, _ in
            windows.focus(windows.open("Post 27 – Example", app: "Firefox"))
            try await rig.expect("/post/27 focused")
            rig.signal(SIGKILL)
            _ = await rig.waitForExit()
            try await rig.expect()
        }
    }

    @Test func itWaitsForAnXServerThatIsGone() async throws {
        try await withXServer { first in
            let display = first.display
            try await FocusRig.with(["DISPLAY": display]) { rig in
                try await rig.start()
                let windows = try X11Client(display: display)
                windows.focus(windows.open("Post 27 – Example", app: "Firefox"))
                try await rig.expect("/post/27 focused")
                await first.stop()
                try await rig.expect()
                try await rig.until("it says so") { try await rig.state()["following"]?.boolean == false }
                let second = try await XServer(display: display)
                try second.startManager()
                try await rig.until("it follows again") { try await rig.state()["following"]?.boolean == true }
                let new = try X11Client(display: display)
                new.focus(new.open("Post 28 – Example", app: "Firefox"))
                try await rig.expect("/post/28 focused")
                await second.stop()
            }
        }
    }

    @Test func withoutAWindowManagerItSaysSo() async throws {
        try await withWindows { rig, _, server in
            await server.stopManager()
            try await rig.until("it says so") {
                try await rig.state()["detail"]?.string?.contains("no window manager") == true
            }
            try server.startManager()
            try await rig.until("it follows again") { try await rig.state()["following"]?.boolean == true }
        }
    }

    @Test func anOldTitleIsLatinOrNothing() async throws {
        try await withWindows { rig, windows, _ in
            let post = windows.open("Post 27 – Example", app: "Firefox")
            windows.focus(post)
            try await rig.expect("/post/27 focused")
            windows.renameOldStyle(post, "STRING", Array("Post 28 caf".utf8) + [0xE9])
            try await rig.until("it is read") { try await rig.state()["title"]?.string == "Post 28 café" }
            try await rig.expect("/post/28 focused")
            windows.renameOldStyle(post, "COMPOUND_TEXT", Array("Post 29 ".utf8) + [0x1B, 0x25, 0x2F, 0x31])
            try await rig.until("it is not text") { try await rig.state()["title"]?.string == "" }
            try await rig.expect()
        }
    }

    @Test func aWindowManagerThatIsThereIsNotSaidToBeMissing() async throws {
        try await withWindows { rig, _, _ in
            await rig.stop()
            try await rig.start()
            await rig.stop()
            #expect(rig.log.contains("Windows are followed") && !rig.log.contains("No windows are followed"))
        }
    }

    @Test func newRulesCountAtOnceAndBadOnesDoNot() async throws {
        try await withWindows { rig, windows, _ in
            windows.focus(windows.open("Post 27 – Example", app: "Firefox"))
            try await rig.expect("/post/27 focused")
            try rig.configure("[[screen]]\napp = \"firefox\"\ntopic = \"/web\"\n")
            rig.signal(SIGHUP)
            try await rig.expect("/web focused")
            try rig.configure("[[screen]]\napp = \"firefox\"\n")
            let error = await #expect(throws: NotifyError.self) { _ = try await rig.call("Reload") }
            #expect(error?.message.contains("'topic' is missing here") == true)
            try await rig.expect("/web focused")
        }
    }

    @Test func noTitleIsLogged() async throws {
        try await withWindows { rig, windows, _ in
            windows.focus(windows.open("Post 27 – secret", app: "Firefox"))
            try await rig.expect("/post/27 focused")
            #expect(await rig.stop() == .code(0))
            #expect(rig.log.contains("Windows are followed"))
            #expect(!rig.log.contains("secret") && !rig.log.contains("/post"))
        }
    }
}
