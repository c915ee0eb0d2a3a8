import Glibc
import NotifyRehearsal
import NotifyTestSupport
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(1)))
struct RehearsalTests {
    private let bus: PrivateBus! = Fixture.current()

    @Test(.privateBus) func theStandInServerAnswersIdsAndTellsOnlyTheCallerOfClosing() async throws {
        let server = try await NotificationServer.start(on: bus, capabilities: ["body"])
        let signals = Mailbox<Message>()
        let caller = try await Connection.open(bus.address, onSignal: { signals.put($0) })
        #expect(try await caller.call(server.call("GetCapabilities")).arguments == [.strings(["body"])])

        let first = try await caller.call(notify(server, "one"))
        #expect(first.arguments == [.uint32(1)])
        #expect(try await caller.call(notify(server, "two", replacing: 1)).arguments == [.uint32(1)])
        #expect(try await caller.call(notify(server, "three")).arguments == [.uint32(2)])
        #expect(server.banners.all.map(\.title) == ["one", "two", "three"])
        #expect(server.showing.map(\.title) == ["two", "three"])
        let banner = try #require(await server.banners.next(within: .seconds(5), where: { $0.title == "three" }))
        #expect(banner.actions == ["accept", "Join"])
        #expect(banner.hints == ["urgency": .byte(2)])
        #expect(banner.timeout == -1)
        #expect(banner.sender == caller.uniqueName)

        _ = try await caller.call(server.call("CloseNotification", [.uint32(1)]))
        server.invoke("accept", on: 2)
        server.dismiss(2)
        for expected in [
            ("NotificationClosed", [Value.uint32(1), .uint32(3)]), ("ActionInvoked", [.uint32(2), "accept"]),
            ("NotificationClosed", [.uint32(2), .uint32(2)]),
        ] {
            let signal = await signals.next(within: .seconds(5)) { $0.interface == NotificationServer.name }
            #expect(signal?.member == expected.0)
            #expect(signal?.arguments == expected.1)
            #expect(signal?.destination == caller.uniqueName)
        }
        #expect(server.closes.all.map(\.id) == [1])
        #expect(server.showing.isEmpty)
        caller.close()
    }

    @Test(.privateBus) func theStandInServerCanFailInThreeWays() async throws {
        let server = try await NotificationServer.start(on: bus, mode: .erroring(name: "a.b.Failed"))
        let caller = try await Connection.open(bus.address)
        #expect(await refusal { try await caller.call(notify(server, "")) }?.name == "a.b.Failed")
        server.setMode(.hanging)
        let hung = await #expect(throws: NotifyError.self) {
            try await caller.call(notify(server, ""), timeout: .milliseconds(20))
        }
        #expect(hung?.code == .timedOut)
        server.setMode(.vanishing)
        #expect(await refusal { try await caller.call(notify(server, "")) }?.code == .notReachable)
        #expect(server.banners.all.map(\.id) == [0, 0, 0])
        caller.close()
    }

    @Test func aMailboxKeepsWhatNobodyWaitedFor() async {
        let box = Mailbox<Int>()
        for number in 1...3 { box.put(number) }
        #expect(await box.next(within: .zero, where: { $0 == 2 }) == 2)
        #expect(await box.next(within: .zero) == 1)
        #expect(await box.next(within: .zero) == 3)
        #expect(await box.next(within: .milliseconds(1)) == nil)
        async let later = box.next(within: .seconds(30), where: { $0 > 4 })
        box.put(4)
        box.put(5)
        #expect(await later == 5)
        let cancelled = Task { await box.next(within: .seconds(30), where: { $0 > 5 }) }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        #expect(box.all == [1, 2, 3, 4, 5])
    }

    @Test func aChildIsHeardAndItsEndIsKnown() async throws {
        let child = try ChildProcess(
            "sh", ["-c", "echo out; echo $A >&2; read x; exit 7"], environment: ["A": "영희"], capturing: [0, 1, 2])
        #expect(await child.lines(of: 1).next(within: .seconds(5)) == "out")
        #expect(await child.lines(of: 2).next(within: .seconds(5)) == "영희")
        #expect(child.exit == nil)
        child.signal(SIGKILL)
        #expect(await child.waitForExit() == .signal(SIGKILL))
        #expect(await child.waitForExit() == .signal(SIGKILL))
        child.signal(SIGTERM)
        let other = try ChildProcess("sh", ["-c", "exit 7"], environment: [:])
        #expect(await other.waitForExit() == .code(7))
        #expect(throws: ProcessError.self) { try ChildProcess("/nowhere/program", [], environment: [:]) }
    }

    @Test func aFolderIsRemovedWithAllThatIsInIt() throws {
        let folder = try TemporaryFolder()
        try folder.write("x", to: "a/b")
        #expect(access(folder.path + "/a/b", R_OK) == 0)
        folder.remove()
        #expect(access(folder.path, R_OK) != 0)
    }

    private func notify(_ server: NotificationServer, _ title: String, replacing: UInt32 = 0) -> Message {
        server.call(
            "Notify",
            [
                "test", .uint32(replacing), "", .string(title), "", .strings(["accept", "Join"]),
                .variants(["urgency": .byte(2)]), .int32(-1),
            ])
    }
}

extension NotificationServer {
    fileprivate func call(_ member: String, _ arguments: [Value] = []) -> Message {
        .call(
            member, of: NotificationServer.name, at: "/org/freedesktop/Notifications", on: NotificationServer.name,
            arguments)
    }
}
