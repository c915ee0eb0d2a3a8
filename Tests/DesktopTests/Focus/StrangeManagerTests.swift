import NotifyClient
import NotifyRehearsal
import Testing

/// Window managers of X11 that set their properties in another order than most, and some of them never.
@Suite(.serialized, .timeLimit(.minutes(5))) struct StrangeManagerTests {
    @Test func whatItSaysLateCountsAndWhatIsGoneDoesNot() async throws {
        let server = try await XServer()
        try await finally {
            await server.stop()
        } after: {
            try await play(on: server)
        }
    }

    private func play(on server: XServer) async throws {
        try await FocusRig.with(["DISPLAY": server.display]) { rig in
            let manager = try X11Client(display: server.display)
            let check = manager.openUnmanaged("", app: "Manager")
            manager.set("_NET_SUPPORTING_WM_CHECK", [check])
            try rig.launch()
            try await rig.until("it says that there is none") {
                try await rig.state()["detail"]?.string?.contains("no window manager") == true
            }
            manager.set("_NET_SUPPORTING_WM_CHECK", [check], on: check)
            try await rig.until("it follows") { try await rig.state()["following"]?.boolean == true }
            let gone = manager.openUnmanaged("Post 27 – Example", app: "Firefox")
            manager.set("_NET_CLIENT_LIST", [gone])
            manager.set("_NET_ACTIVE_WINDOW", [gone])
            try await rig.expect("/post/27 focused")
            // Its window manager goes on naming it.
            manager.close(gone)
            try await rig.expect()
            let other = manager.openUnmanaged("Post 28 – Example", app: "Firefox")
            manager.set("_NET_CLIENT_LIST", [gone, other])
            manager.set("_NET_ACTIVE_WINDOW", [other])
            try await rig.expect("/post/28 focused")
            manager.set("_NET_ACTIVE_WINDOW", [gone])
            try await rig.expect()
            manager.close(other)
            try await rig.until("it knows no window") { try await rig.state()["windows"]?.integer() == 0 }
            // More than are asked about at once.
            let many = (1...300).map { manager.openUnmanaged("Post \($0) – Example", app: "Firefox") }
            manager.set("_NET_CLIENT_LIST", many)
            manager.set("_NET_ACTIVE_WINDOW", [many[299]])
            try await rig.expect("/post/300 focused")
            try await rig.until("it knows all windows") { try await rig.state()["windows"]?.integer() == 300 }
        }
    }
}
