import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Real windows on a real sway, over its socket and by its Wayland protocol.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SwayTests {
    private let sway: SwayServer! = Fixture.current()

    @Test(.sway) func itsSocketTellsWhatIsFocusedAndVisible() async throws {
        try await FocusRig.with(sway.environment) { rig in
            try await rig.start()
            #expect(try await rig.state()["source"]?.string == "sway")
            let (chat, post) = try await openTwoWindows(on: sway, rig)
            // In tabs, one hides the other.
            try await sway.command("layout", "tabbed")
            try await sway.command("[app_id=element]", "focus")
            try await rig.expect("/chat focused")
            try await sway.command("[app_id=firefox]", "focus")
            try await rig.expect("/post/28 focused")
            try await sway.command("[app_id=element]", "focus")
            try await rig.expect("/chat focused")
            try await sway.command("[app_id=firefox]", "move", "scratchpad")
            try await sway.command("workspace", "2")
            try await rig.expect()
            try await sway.command("workspace", "1")
            try await rig.expect("/chat focused")
            await chat.close()
            try await rig.expect()
            await post.close()
        }
    }

    @Test(.sway) func theProtocolOfWaylandTellsWhatIsFocused() async throws {
        try await FocusRig.with(sway.waylandEnvironment) { rig in
            try await rig.start()
            #expect(try await rig.state()["source"]?.string == "wayland")
            let (chat, post) = try await openTwoWindows(on: sway, rig)
            // Whoever takes the name of a compositor does not take the place of a source that is followed.
            let stranger = try await Connection.open(rig.bus.address)
            defer { stranger.close() }
            for name in ["org.kde.KWin", "org.gnome.Shell"] { try await stranger.requestName(name) }
            await chat.close()
            try await rig.expect("/post/28 focused")
            #expect(try await rig.state()["source"]?.string == "wayland")
            await sway.stop()
            try await rig.expect()
            await post.close()
        }
    }

    /// A chat, and beside it a post, which has the focus and gets another title.
    private func openTwoWindows(
        on sway: SwayServer, _ rig: FocusRig
    ) async throws -> (chat: TerminalWindow, post: TerminalWindow) {
        let chat = try await sway.open("Lounge", app: "element")
        try await rig.expect("/chat focused")
        let post = try await sway.open("Post 27 – Example", app: "firefox")
        try await rig.expect("/chat visible", "/post/27 focused")
        try post.rename("Post 28 – Example")
        try await rig.expect("/chat visible", "/post/28 focused")
        return (chat, post)
    }

    @Test func aLayoutThatAKeyHasMadeCountsAtOnce() async throws {
        func tree(_ layout: String) -> String {
            func leaf(_ id: Int, _ app: String, _ title: String, focused: Bool) -> String {
                #"{"id":\#(id),"type":"con","name":"\#(title)","app_id":"\#(app)","focused":\#(focused),"nodes":[]}"#
            }
            let windows = [
                leaf(10, "element", "Lounge", focused: false), leaf(11, "firefox", "Post 27 – Example", focused: true),
            ]
            return """
                {"id":1,"type":"root","nodes":[{"id":2,"type":"output","name":"1","focus":[3],"nodes":[
                  {"id":3,"type":"workspace","name":"1","layout":"\(layout)","focus":[11],"nodes":[
                    \(windows.joined(separator: ","))]}]}]}
                """
        }
        let sway = try StandInSway(tree: tree("splith"))
        try await FocusRig.with(["SWAYSOCK": sway.path]) { rig in
            try await rig.start()
            try await rig.expect("/chat visible", "/post/27 focused")
            #expect(sway.subscription.contains("\"binding\""))
            sway.change(tree("tabbed"))
            sway.send(StandInSway.binding, #"{"change":"run","binding":{"command":"layout tabbed"}}"#)
            try await rig.expect("/post/27 focused")
        }
        sway.stop()
    }

    @Test(.sway) func itWaitsForASwayThatIsGone() async throws {
        try await FocusRig.with(sway.environment) { rig in
            try await rig.start()
            let post = try await sway.open("Post 27 – Example", app: "firefox")
            try await rig.expect("/post/27 focused")
            await sway.stop()
            try await rig.expect()
            try await rig.until("it says so") {
                try await rig.state()["detail"]?.string?.contains("sway.sock") == true
            }
            await post.close()
        }
    }
}
