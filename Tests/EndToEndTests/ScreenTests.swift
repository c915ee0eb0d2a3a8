import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A screen claims what belongs to it as long as it is open, and not a moment longer, however it ends.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ScreenTests {
    private let rig: Rig! = Fixture.current()

    @Test(.rig) func aTopicOnScreenIsAnnounced() async throws {
        let signals = try await rig.client.attention(at: "/post")
        var attention = signals.makeAsyncIterator()
        let screen = try await rig.client.openScreen("/post/27")
        #expect(try await attention.next() == Attention(topic: "/post/27", isAttended: true))
        let other = try await rig.client.openScreen("/post/27", mode: .ask)
        await screen.close()
        await other.close()
        #expect(try await attention.next() == Attention(topic: "/post/27", isAttended: false))
    }

    // MARK: Its end

    @Test(.rig) func aClosedScreenClaimsNothing() async throws {
        let screen = try await rig.client.openScreen("/post/27")
        let listed = try await rig.client.screens()
        #expect(await screen.id == listed.first?.id)
        await screen.close()
        await screen.close()
        #expect(await screen.id == nil)
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "shown")
        #expect(await refusal { try await screen.update(state: .visible) }?.code == .closed)
    }

    @Test(.rig) func aScreenThatNobodyHoldsAnyMoreIsClosed() async throws {
        var screen: Screen? = try await rig.client.openScreen("/post/27")
        #expect(try await rig.client.screens().count == 1)
        #expect(screen != nil)
        screen = nil
        try await rig.until("no screen is open") { try await rig.client.screens().isEmpty }
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "shown")
    }

    @Test(.rig) func aScreenEndsWithItsBody() async throws {
        let count = try await rig.client.withScreen("/post/27") { _ in try await rig.client.screens().count }
        #expect(count == 1)
        #expect(try await rig.client.screens().isEmpty)
        await #expect(throws: CancellationError.self) {
            try await rig.client.withScreen("/post/27") { _ in throw CancellationError() }
        }
        #expect(try await rig.client.screens().isEmpty)
    }

    @Test(.rig) func cancellingItsTaskClosesAScreenEvenWhileTheBodyGoesOn() async throws {
        let (isOpen, mayEnd) = (Mailbox<Void>(), Mailbox<Void>())
        let task = Task {
            try await rig.client.withScreen("/post/27") { _ in
                isOpen.put(())
                await Task { _ = await mayEnd.next(within: .seconds(10)) }.value
            }
        }
        #expect(await isOpen.next(within: .seconds(5)) != nil)
        task.cancel()
        try await rig.until("no screen is open") { try await rig.client.screens().isEmpty }
        mayEnd.put(())
        try await task.value
    }

    @Test(.rig) func openingThatIsCancelledLeavesNoScreen() async throws {
        for _ in 1...20 {
            let task = Task { try await rig.client.openScreen("/post/27") }
            task.cancel()
            _ = try? await task.value
        }
        try await rig.until("no screen is open") { try await rig.client.screens().isEmpty }
    }

    @Test(.rig) func aScreenEndsWithItsConnection() async throws {
        let other = try await NotifyClient(address: rig.bus.address)
        let screen = try await other.openScreen("/post/27")
        let owner = try #require(try await rig.client.screens().first?.owner)
        try await rig.departure(of: owner) { await other.close() }
        #expect(try await rig.client.screens().isEmpty)
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "shown")
        #expect(await screen.id == nil)
    }

    @Test(.rig) func aStoppedProcessKeepsItsScreen() async throws {
        let (process, _) = try await screenProcess(rig)
        process.signal(SIGSTOP)
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "claimed")
        process.signal(SIGCONT)
        #expect(await process.end() == .code(0))
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "shown")
    }

    @Test(.rig) func aLeaseEndsTheScreenOfAStoppedProcessUntilItGoesOn() async throws {
        let (process, _) = try await screenProcess(rig, "--lease", "1s")
        process.signal(SIGSTOP)
        try await rig.until("no screen is open") { try await rig.client.screens().isEmpty }
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "shown")
        process.signal(SIGCONT)
        // It comes back, and clears what was shown meanwhile.
        #expect(await rig.server.closes.next(within: .seconds(5)) != nil)
        #expect(await process.end() == .code(0))
    }

    @Test(.rig) func aLeaseIsRenewedLongBeforeItEnds() async throws {
        let (renewals, monitor) = try await rig.calls(of: "UpdateScreen")
        let screen = try await rig.client.openScreen("/post/27", lease: .seconds(1))
        let id = await screen.id
        for _ in 1...5 { #expect(await renewals.next(within: .seconds(5)) != nil) }
        #expect(try await rig.client.screens().map(\.id) == [id])
        monitor.close()
    }

    // MARK: What may be done with it

    @Test(.rig) func aRefusedScreenSaysWhy() async throws {
        #expect(await refusal { try await rig.client.openScreen("post") }?.code == .invalidArgument)
        let mode = Screen.Mode(rawValue: "guess")
        #expect(await refusal { try await rig.client.openScreen("/post", mode: mode) }?.code == .refused)
        let screen = try await rig.client.openScreen("/post")
        await #expect(throws: NotifyError.self) { try await screen.update(mode: mode) }
        #expect(try await rig.client.screens().map(\.mode) == [.auto])
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "claimed")
    }

    // MARK: Asking

    @Test func anAskingScreenClaimsOrPasses() async throws {
        let configuration = "[[route]]\ntopic = \"/chat/{room}\"\nwait = \"screens\"\nwindow = \"20s\"\n"
        try await withRig(configuration: configuration) { rig in
            let screen = try await rig.client.openScreen("/chat", mode: .ask)
            var questions = screen.questions.makeAsyncIterator()
            let first = try await rig.client.send("/chat/a", title: "one")
            #expect(try await questions.next()?.id == first)
            #expect(try await rig.client.claim(first) == .suppressed)
            let second = try await rig.client.send("/chat/a", title: "two")
            #expect(try await questions.next()?.id == second)
            // The window is far longer than this test may take: it ends with the last answer.
            try await rig.client.pass(second)
            #expect(await rig.listener.resolution(of: second)?.outcome == "shown")
            await screen.close()
            #expect(try await questions.next() == nil)
        }
    }

    // MARK: Restarts

    @Test(.rig) func aScreenIsOpenedAgainForTheNextDaemon() async throws {
        let screen = try await rig.client.openScreen("/post/27", state: .visible)
        await rig.daemon.kill()
        try await rig.until("the screen is closed") { await screen.id == nil }
        try await screen.update(state: .focused)
        try await rig.daemon.start()
        try await rig.until("the screen is open again") { await screen.id != nil }
        #expect(try await rig.client.screens().map(\.state) == [.focused])
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "claimed")
    }

    @Test(.rig) func aScreenIsOpenedAgainOnTheNextBus() async throws {
        let screen = try await rig.client.openScreen("/post/27")
        await rig.bus.kill()
        _ = await rig.daemon.waitForExit()
        try await rig.bus.start()
        try await rig.daemon.start()
        try await rig.until("the screen is open again") { await screen.id != nil }
        let other = try await NotifyClient(address: rig.bus.address)
        var outcomes = try await other.outcomes(at: "/").makeAsyncIterator()
        try await other.send("/post/27")
        #expect(try await outcomes.next()?.kind == .claimed)
        await other.close()
    }

    /// A process that holds a screen on /post/27, and its unique name.
    private func screenProcess(_ rig: Rig, _ options: String...) async throws -> (ChildProcess, String) {
        let process = try rig.start(arguments: ["screen", "/post/27"] + options)
        let line = await process.lines(of: 1).next(within: .seconds(10))
        #expect(line == "The screen on /post/27 is open.")
        return (process, try #require(try await rig.client.screens().first?.owner))
    }
}
