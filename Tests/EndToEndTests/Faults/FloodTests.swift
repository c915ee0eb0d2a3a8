import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// One caller asks for more than anybody could handle; the others are served all the same.
@Suite(.timeLimit(.minutes(2)))
struct FloodTests {
    private let rig: FaultRig! = Fixture.current()

    /// Both share one connection between bus and daemon, on which all that the first has asked for comes first.
    @Test(.faultRig) func whoAsksForLittleIsNotBehindAllThatAnotherHasAskedFor() async throws {
        let flood = try await Connection.open(rig.bus.address)
        defer { flood.close() }
        let count = 2_400
        rig.daemon.signal(SIGSTOP)
        let ids = Self.push(count, on: flood)
        // The bus has them all when it answers this.
        _ = try await flood.call(.call("GetId", of: Bus.interface, at: Bus.path, on: Bus.name))
        let quiet = Locked<UInt64?>(nil)
        rig.connection.call(Self.send("/quiet")) { result in quiet.withLock { $0 = Self.id(result) } }
        _ = try await rig.connection.call(.call("GetId", of: Bus.interface, at: Bus.path, on: Bus.name))
        rig.daemon.signal(SIGCONT)
        try await rig.until("all is answered", within: .seconds(30)) {
            quiet.withLock { $0 != nil } && ids.withLock { $0.count } == count
        }
        let answers = ids.withLock { $0 }
        #expect(answers == answers.sorted(), "what one asks for keeps its order")
        #expect(answers.first != 0)
        // Ids are given in the order in which pushes are handled.
        let id = try #require(quiet.withLock { $0 })
        #expect(id > 0)
        // How many come before depends on how fast the bus hands them on. In the order of their arrival it would be
        // all.
        #expect(answers.count { $0 < id } < count * 9 / 10)
    }

    /// A connection that has left is gone after what it asked for, not before.
    @Test(.faultRig) func whoLeavesInTheMiddleOfAFloodLeavesNothingBehind() async throws {
        let flood = try await Connection.open(rig.bus.address)
        rig.daemon.signal(SIGSTOP)
        for _ in 0..<500 { flood.send(Self.send("/flood")) }
        for number in 0..<100 {
            flood.send(.toRouter("OpenScreen", [.string("/screen/\(number)"), .variants([:])]))
        }
        _ = try await flood.call(.call("GetId", of: Bus.interface, at: Bus.path, on: Bus.name))
        flood.close()
        rig.daemon.signal(SIGCONT)
        try await rig.until("everything is handled") { try await rig.statistic("published") == 500 }
        try await rig.until("its screens are closed") { try await rig.statistic("open-screens") == 0 }
    }

    @Test(.faultRig) func anOrderToStopIsNotBehindAFlood() async throws {
        let flood = try await Connection.open(rig.bus.address)
        defer { flood.close() }
        let answered = Locked(0)
        let isOver = Locked(false)
        @Sendable func push() {
            flood.call(Self.send("/flood")) { _ in
                answered.withLock { $0 += 1 }
                if !isOver.withLock({ $0 }) { push() }
            }
        }
        for _ in 0..<1_000 { push() }
        try await rig.until("the flood has begun") { answered.withLock { $0 } > 1_000 }
        #expect(await rig.daemon.stop() == .code(0))
        isOver.withLock { $0 = true }
    }

    /// While others call, a crowd of pushes rests again and again; all of it is handled all the same, in its order.
    @Test(.faultRig) func aFloodIsAnsweredToItsEndWhileAnotherCalls() async throws {
        let flood = try await Connection.open(rig.bus.address)
        defer { flood.close() }
        let count = 1_200
        let ids = Self.push(count, on: flood)
        while ids.withLock({ $0.count }) < count { _ = try await rig.send("/quiet") }
        let answers = ids.withLock { $0 }
        #expect(answers == answers.sorted())
        #expect(answers.first != 0)
        // A claim behind a crowd of pushes ends their rest.
        for _ in 0..<count { flood.send(Self.send("/flood")) }
        _ = try await rig.send("/quiet")
        let verdict = try await flood.call(.toRouter("Claim", [.uint64(answers[0])]))
        #expect(verdict.arguments.count == 1)
    }

    /// Has somebody push so often at once.
    ///
    /// - Returns: the ids that have come back, in the order of the answers.
    private static func push(_ count: Int, on flood: Connection) -> Locked<[UInt64]> {
        let ids = Locked<[UInt64]>([])
        for _ in 0..<count {
            flood.call(send("/flood")) { result in ids.withLock { $0.append(id(result)) } }
        }
        return ids
    }

    /// The id that a push got; 0 where it was refused.
    private static func id(_ result: Result<Message, NotifyError>) -> UInt64 {
        (try? result.get())?.arguments.first?.integer() ?? 0
    }

    private static func send(_ topic: String) -> Message {
        .toRouter("Send", [.string(topic), "", ""])
    }

    /// Somebody has thousands of calls on the way at any time; somebody else sends one after the other.
    ///
    /// What the daemon owes the one who is quiet is not to refuse it what is the other's fault.
    @Test(.faultRig(faultDefaults + "[[route]]\ntopic = \"/flood/{n}\"\nwindow = \"60s\"\n"))
    func whoSendsAtEaseIsServedThroughAFlood() async throws {
        let alone = try await latencies(of: rig, count: 40)
        let flood = try await Connection.open(rig.bus.address)
        defer { flood.close() }
        let refused = Locked(0)
        let answered = Locked(0)
        let isOver = Locked(false)
        let flooding = Task {
            await withTaskGroup(of: Void.self) { group in
                for slot in 0..<64 {
                    group.addTask {
                        while !isOver.withLock({ $0 }) {
                            do {
                                _ = try await flood.call(.toRouter("Send", [.string("/flood/\(slot)"), "", ""]))
                                answered.withLock { $0 += 1 }
                            } catch { refused.withLock { $0 += 1 } }
                        }
                    }
                }
            }
        }
        try await rig.until("the flood is over its limit", within: .seconds(60)) { refused.withLock { $0 } > 100 }
        let during = try await latencies(of: rig, count: 80)
        isOver.withLock { $0 = true }
        await flooding.value
        #expect(answered.withLock { $0 } == 10_000)
        print("p50, p99 alone \(alone), in a flood of \(refused.withLock { $0 }) refusals \(during)")
    }

    /// Sends by another program than the flood, because limits are those of a program; its start is in the times.
    private func latencies(of rig: FaultRig, count: Int) async throws -> [Duration] {
        var latencies: [Duration] = []
        for _ in 0..<count {
            let begin = ContinuousClock.now
            let sender = try ChildProcess(
                BuiltPrograms.notifyctl, ["send", "/quiet", "news"],
                environment: ["DBUS_SESSION_BUS_ADDRESS": rig.bus.address, "PATH": "/usr/bin:/bin"])
            #expect(await sender.waitForExit() == .code(0))
            latencies.append(.now - begin)
        }
        latencies.sort()
        return [latencies[count / 2], latencies[count * 99 / 100]]
    }
}
