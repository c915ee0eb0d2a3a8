import Testing

@testable import notifyd_focus

/// What is said to tmux, and what it says; Tests/EndToEndTests/Rigs/shells.sh has a real one.
@Suite struct TmuxTests {
    @Test func panesInFocusedClientsAreLookedAt() {
        let text = """
            notifyd-focus-1-a
            attached,focused,UTF-8 0 %3
            attached,UTF-8 0 %4
            attached,focused 1 %5
            attached,focused 0 x
            focused 0 %6

            """
        #expect(TmuxReport(text)?.owner == "notifyd-focus-1-a")
        #expect(TmuxReport(text)?.panes == [3])
        #expect(TmuxReport("notifyd-focus-1-a\n")?.panes == [])
        #expect(TmuxReport("") == nil)
    }

    @Test func theServerIsInAVariable() {
        #expect(TmuxServer(variable: "/tmp/tmux-0/default,4711,2")?.process == 4711)
        #expect(TmuxServer(variable: "/tmp/a,b/default,4711,2")?.socket == "/tmp/a,b/default")
        for text in ["", "x", "/tmp/x,1", "/tmp/x,a,0", ",,"] { #expect(TmuxServer(variable: text) == nil) }
    }

    @Test func whatIsBroughtIntoTmuxIsTakenOut() throws {
        let server = try #require(TmuxServer(variable: "/tmp/x,1,0"))
        let (here, gone) = ("notifyd-focus-2-b", server.leaving("notifyd-focus-2-b"))
        let hooks = server.taking(here, from: nil).filter { $0.hasSuffix("[1818]") }
        #expect(!hooks.isEmpty && hooks.allSatisfy { gone.last?.contains("set-hook -gu \($0) ;") == true })
        #expect(gone.last?.contains("set-option -gu @notifyd-focus") == true)
        // Whoever has taken over keeps them.
        #expect(gone.contains("#{==:#{@notifyd-focus},notifyd-focus-2-b}"))
    }

    @Test func onlyAChannelOfOursIsWoken() throws {
        let server = try #require(TmuxServer(variable: "/tmp/x,1,0"))
        #expect(server.taking("notifyd-focus-2-b", from: "notifyd-focus-1-a").contains("notifyd-focus-1-a"))
        for old in ["notifyd-focus-1;kill-server", "x", ""] {
            #expect(!server.taking("notifyd-focus-2-b", from: old).contains(old))
        }
    }
}
