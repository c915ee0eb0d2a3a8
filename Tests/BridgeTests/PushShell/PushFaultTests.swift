import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import NotifyText
import Testing

/// Nothing is lost and nothing doubled, whoever dies.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct PushFaultTests {
    private let stage: PushStage! = Fixture.current()

    /// Distributors deliver once: while notifyd is away, the bridge keeps what it has confirmed.
    @Test(.pushStage) func whatComesWhileNotifydIsAwayIsKept() async throws {
        let post = try await stage.create("post", "/post")
        await stage.daemon.kill()
        for title in ["one", "two", "three"] { try await stage.send(title, to: post) }
        try await stage.waitForAcknowledgements(3)
        #expect(await stage.property("Backlog")?.integer() == 3)
        // It is on disk.
        await stage.kill(PushStage.bridge)
        try await stage.start()
        try await stage.daemon.start()
        try await eventually("they are published") { try await stage.titles().count == 3 ? true : nil }
        #expect(try await stage.titles() == ["one", "two", "three"])
        try await eventually("nothing waits") { await stage.property("Backlog")?.integer() == 0 ? true : nil }
    }

    #if FAILPOINTS
        /// Killed at each step, it is started again by the delivery that comes again.
        @Test(.pushStage) func theBridgeMayDieAtEveryStep() async throws {
            let post = try await stage.create("post", "/post")
            var titles: [String] = []
            var deaths = 0
            for step in ["before-call", "after-answer", "before-write", "after-write"] {
                for hit in 1...2 {
                    await stage.kill(PushStage.bridge)
                    try stage.armBridge("\(step):\(hit)")
                    let refusals = try await stage.distributorState()["refusals"]?.elements?.count
                    // A bad one, so that something is written.
                    let bytes = Value.bytes([7])
                    try await stage.ask("Push", [.string(post.endpoint), bytes, .boolean(true)])
                    for part in 0..<2 {
                        titles.append("\(step) \(hit) \(part)")
                        try await stage.send(titles.last!, to: post)
                    }
                    try await eventually("everything is delivered or refused") {
                        let state = try await stage.distributorState()
                        let isRefused = state["refusals"]?.elements?.count != refusals
                        if isRefused { deaths += 1 }
                        return state["pending"]?.integer() == 0 || isRefused ? true : nil
                    }
                    await stage.kill(PushStage.bridge)
                    try stage.armBridge("")
                    // A start that a delivery has begun before may yet be killed.
                    try await eventually("it is started") { (try? await stage.start()) == nil ? nil : true }
                    try await stage.waitForAcknowledgements(titles.count / 2 * 3, reconnecting: true)
                }
            }
            #expect(try await stage.titles().sorted() == titles.sorted())
            #expect(deaths >= 6, "only so many of the steps are reached while something is delivered")
        }

        @Test(.pushStage, arguments: ["before-commit:2", "after-commit:2", "after-reply:2"])
        func notifydMayDieAtEveryStep(_ step: String) async throws {
            let post = try await stage.create("post", "/post")
            await stage.daemon.kill()
            try await stage.daemon.start(with: ["NOTIFYD_FAILPOINT": step])
            let titles = (0..<4).map { "\($0)" }
            for title in titles { try await stage.send(title, to: post) }
            _ = await stage.daemon.waitForExit(within: .seconds(5))
            try await stage.daemon.restart()
            try await stage.waitForAcknowledgements(4)
            try await stage.waitFor(titles)
        }
    #endif
}
