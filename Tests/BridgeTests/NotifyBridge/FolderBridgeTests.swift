import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What these tests need.
private struct Stage {
    let bus: PrivateBus
    let daemon: DaemonProcess
    let bridge: BridgeProcess
    let client: NotifyClient

    /// The published files, each with the outcome of its event.
    func events() async throws -> [(name: String, id: EventID, outcome: Outcome.Kind?)] {
        try await client.history("/files").map { ($0.event.title, $0.event.id, $0.outcome) }
    }

    /// The id of the event of a file, as soon as there is one.
    func event(of name: String) async throws -> EventID {
        try await eventually("\(name) is published") { try await events().first { $0.name == name }?.id }
    }
}

private func withBridge(_ body: (Stage) async throws -> Void) async throws {
    try await withPrivateBus { bus in
        let daemon = try await DaemonProcess.start(BuiltPrograms.notifyd, on: bus)
        let bridge = try BridgeProcess.forFiles(on: bus)
        let client = try await NotifyClient(address: bus.address)
        try await body(Stage(bus: bus, daemon: daemon, bridge: bridge, client: client))
        await bridge.stop()
        await client.close()
        await daemon.stop()
    }
}

extension BridgeProcess {
    /// The bridge of the tutorial, with a folder in which files are dropped.
    static func forFiles(on bus: PrivateBus, configuration: String? = nil) throws -> BridgeProcess {
        let bridge = try BridgeProcess(BuiltPrograms.folderBridge, name: "folder", on: bus)
        let dropped = try bridge.folder.folder("dropped")
        try bridge.configure(configuration ?? "folder = \"\(dropped)\"\n")
        return bridge
    }

    func drop(_ name: String, _ text: String = "") throws {
        let file = try folder.write(text, to: "dropped/.\(name).new")
        guard rename(file, folder.path + "/dropped/" + name) == 0 else {
            throw RehearsalError("\(name) cannot be dropped")
        }
    }

    func isThere(_ name: String) -> Bool { access(folder.path + "/dropped/" + name, F_OK) == 0 }

    /// What it says is wrong.
    func problems() async throws -> [String] {
        (try await property("Problems")?.elements ?? []).compactMap { $0.elements?.first?.string }
    }
}

extension Trait where Self == Fixture {
    fileprivate static var bridge: Self { Fixture(withBridge) }
}

/// The bridge of the tutorial, on a private bus with a real notifyd.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct FolderBridgeTests {
    private let stage: Stage! = Fixture.current()

    @Test(.bridge) func aFileIsAnEventAndAClaimRemovesIt() async throws {
        try stage.bridge.drop("a", "the text of a")
        try await stage.bridge.start()
        try stage.bridge.drop("b")
        let id = try await stage.event(of: "a")
        _ = try await stage.event(of: "b")
        #expect(try await stage.client.history("/files").first { $0.event.id == id }?.event.body == "the text of a")
        try await stage.client.claim(id)
        try await eventually("a is removed") { stage.bridge.isThere("a") ? nil : true }
        #expect(stage.bridge.isThere("b"))
        #expect(try await stage.bridge.property("State")?.string == "connected")
    }

    @Test(.bridge) func aSecondFileOfTheSameNameIsAnotherEvent() async throws {
        try await stage.bridge.start()
        for count in 1...2 {
            try stage.bridge.drop("a")
            let id = try await eventually("a is published") {
                let events = try await stage.events()
                return events.count == count ? events.last?.id : nil
            }
            try await stage.client.claim(id)
            try await eventually("a is removed") { stage.bridge.isThere("a") ? nil : true }
        }
    }

    @Test(.bridge) func whatHappensWhileItIsAwayIsDoneAtItsNextStart() async throws {
        try await stage.bridge.start()
        try stage.bridge.drop("a")
        let id = try await stage.event(of: "a")
        await stage.bridge.stop()
        try await stage.client.claim(id)
        try stage.bridge.drop("b")
        #expect(stage.bridge.isThere("a"))
        try await stage.bridge.start()
        _ = try await stage.event(of: "b")
        try await eventually("a is removed") { stage.bridge.isThere("a") ? nil : true }
        #expect(try await stage.events().map(\.name) == ["a", "b"])
    }

    @Test(.bridge) func aStopDoesNotWaitForANotifydThatHangs() async throws {
        try await stage.bridge.start()
        stage.daemon.signal(SIGSTOP)
        try stage.bridge.drop("a")
        #expect(await stage.bridge.stop() == .code(0))
        stage.daemon.signal(SIGCONT)
        #expect(!stage.bridge.log.contains("does not end in time"))
        try await stage.bridge.start()
        _ = try await stage.event(of: "a")
        #expect(try await stage.events().count == 1)
    }

    @Test(.bridge) func aFileThatIsRefusedForEverBecomesADeadLetter() async throws {
        try await stage.bridge.start()
        try stage.bridge.drop("large", String(repeating: "a", count: 9000))
        try await eventually("it is given up") { stage.bridge.isThere("large") ? nil : true }
        let connection = try await Connection.open(stage.bus.address)
        let letters = try await connection.call(
            .call(
                "ListDeadLetters", of: "org.notifyd.Bridge1", at: "/org/notifyd/Bridge1",
                on: "org.notifyd.Bridge.folder")
        ).arguments.first?.elements
        #expect(letters?.count == 1)
        #expect(letters?.first?.elements?[3] == "large")
    }

    #if FAILPOINTS
        @Test(.bridge, arguments: ["before-call", "after-answer", "before-write", "after-write"], 1...5)
        func killedAtAnyStepItLosesAndDoublesNothing(_ step: String, _ hit: Int) async throws {
            try stage.bridge.drop("a")
            try stage.bridge.drop("b")
            let child = try stage.bridge.launch([], with: ["NOTIFYD_FAILPOINT": "\(step):\(hit)"])
            // Claims while it runs, so that the later steps are reached too.
            let claims = Task {
                let id = try await stage.event(of: "a")
                try await stage.client.claim(id)
            }
            if await child.waitForExit(within: .seconds(3)) == nil { await stage.bridge.kill() }
            claims.cancel()
            try await stage.bridge.start()
            try await stage.client.claim(try await stage.event(of: "a"))
            _ = try await stage.event(of: "b")
            try await eventually("a is removed") { stage.bridge.isThere("a") ? nil : true }
            #expect(stage.bridge.isThere("b"))
            #expect(try await stage.events().map(\.name).sorted() == ["a", "b"])
        }
    #endif

    /// Kills it at random moments while files come and are claimed: nothing is lost, and nothing is doubled.
    @Test(.bridge) func killedAtAnyMomentItLosesAndDoublesNothing() async throws {
        var random = SplitMix64(seed: 7)
        var names: [String] = []
        var claimed: Set<String> = []
        for round in 0..<12 {
            _ = try stage.bridge.launch()
            for part in 0..<2 {
                names.append("\(round)-\(part)")
                try stage.bridge.drop(names.last!)
            }
            // Not a wait for something: the moment of the kill is what varies.
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...400, using: &random)))
            for event in try await stage.events() where Bool.random(using: &random) {
                if claimed.insert(event.name).inserted { try await stage.client.claim(event.id) }
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...100, using: &random)))
            await stage.bridge.kill()
            if round % 4 == 3 {
                try await stage.daemon.restart()
            }
        }
        try await stage.bridge.start()
        for name in names { _ = try await stage.event(of: name) }
        for name in claimed {
            try await eventually("\(name) is removed") { stage.bridge.isThere(name) ? nil : true }
        }
        let published = try await stage.events().map(\.name)
        #expect(published.sorted() == names.sorted())
        #expect(names.allSatisfy { stage.bridge.isThere($0) != claimed.contains($0) })
    }
}
