import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

@testable import NotifyBridge

/// What these tests need.
private struct Stage {
    let status: BridgeStatus
    let object: BridgeObject
    let store: BridgeStore
    let caller: Connection
    let signals = Mailbox<Message>()

    func ask(
        _ member: String, of interface: String = "org.freedesktop.DBus.Properties",
        at path: String = BridgeStatus.path,
        _ arguments: [Value]
    ) async throws(NotifyError) -> [Value] {
        try await caller.call(
            .call(member, of: interface, at: path, on: "org.notifyd.Bridge.test", arguments)
        ).arguments
    }

    func property(_ name: String) async throws(NotifyError) -> Value? {
        try await ask("Get", [.string(BridgeStatus.interface), .string(name)]).first
    }
}

private func withBridge(_ body: (Stage) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    try await withPrivateBus { bus in
        let link = try await DaemonLink.open(bus.address)
        let status = BridgeStatus { 1000 }
        status.attach(
            link.connection.loop, send: { [connection = link.connection] in connection.send($0) }, onState: { _ in }
        )
        let object = BridgeObject(link.connection, status)
        object.export()
        let store = try BridgeStore(folder: folder.path, onLetters: { status.setDeadLetters($0) })
        object.export(BridgeMethods(store: store, status: status, name: "test").interface)
        try await link.connection.requestName("org.notifyd.Bridge.test")
        let signals = Mailbox<Message>()
        let caller = try await Connection.open(
            bus.address, onSignal: { if $0.sender != Bus.name { signals.put($0) } })
        try await caller.addMatch(MatchRule(sender: "org.notifyd.Bridge.test", member: "PropertiesChanged"))
        let stage = Stage(status: status, object: object, store: store, caller: caller)
        let relay = Task {
            while let signal = await signals.next(within: .seconds(60)) { stage.signals.put(signal) }
        }
        try await body(stage)
        relay.cancel()
        caller.close()
    }
}

extension Trait where Self == Fixture {
    fileprivate static var bridge: Self { Fixture(withBridge) }
}

/// The object of a bridge on the bus.
@Suite(.timeLimit(.minutes(1)))
struct BridgeObjectTests {
    private let stage: Stage! = Fixture.current()

    @Test(.bridge) func itsPropertiesCanBeRead() async throws {
        stage.status.set(.waiting, "the broker is away")
        stage.status.setBacklog(7)
        stage.status.setRoundTrip(.microseconds(1234))
        stage.status.setPeers([.init(device: "d", name: "desk", isOnline: true, seen: 5, behind: 6)])
        let all = try await stage.ask("GetAll", [.string(BridgeStatus.interface)]).first?.entries
        #expect(all?["State"] == "waiting")
        #expect(all?["Detail"] == "the broker is away")
        #expect(all?["Since"] == .int64(1000))
        #expect(all?["Backlog"] == .uint64(7))
        #expect(all?["RoundTrip"] == .uint64(1234))
        #expect(all?["DeadLetters"] == .uint64(0))
        let peer = all?["Peers"]?.elements?.first?.entries
        #expect(peer == ["device": "d", "name": "desk", "online": true, "seen": .int64(5), "behind": .uint64(6)])
        #expect(try await stage.property("State")?.string == "waiting")
    }

    @Test(.bridge) func itSaysWhatIsWrongAndWhatToDo() async throws {
        func rows() async throws -> [[String?]] {
            let rows = try await stage.ask("Diagnose", of: BridgeStatus.interface, []).first?.elements ?? []
            return rows.map { ($0.elements ?? []).map(\.string) }
        }
        stage.status.set(.connected, "broker.example", advice: "Nothing.")
        #expect(try await rows().isEmpty)
        stage.status.set(.failed, "the password is wrong", advice: "Correct it.")
        #expect(try await rows() == [["bridge test", "failed (the password is wrong)", "Correct it."]])
        stage.status.set(.failed, "nobody knows")
        #expect(try await rows().first?.last??.contains("journalctl --user -u notifyd-test") == true)
        stage.status.set(.waiting, "it is away")
        #expect(try await rows().first?.last??.contains("systemctl --user restart notifyd-test") == true)
        // A problem that the detail names is told once, with its own advice.
        stage.status.set(.connected, "server: no reading of a")
        stage.status.setProblem("a", .init("server: no reading of a", "Allow it."))
        stage.status.setProblem("b", .init("server: no writing of b", "Allow that."))
        stage.status.setDeadLetters(2)
        let told = try await rows()
        #expect(told.map { $0[1] }.first == "connected (server: no reading of a)")
        #expect(told.prefix(2).map { $0[2] } == ["Allow it.", "Allow that."])
        #expect(told.last?[1]?.hasPrefix("2 dead letters") == true)
        #expect(told.last?[2]?.contains("notifyctl bridges test --dead-letters") == true)
    }

    @Test(.bridge) func whatIsWrongWithAPartOfItIsToldUntilItIsNot() async throws {
        func problems() async throws -> [[String]] {
            let value = try await stage.property("Problems")
            return (value?.elements ?? []).map { ($0.elements ?? []).compactMap(\.string) }
        }
        stage.status.setProblem("b", .init("the second", "mend it"))
        stage.status.setProblem("a", .init("the first", "mend it too"))
        var found = try await problems()
        #expect(found == [["the first", "mend it too"], ["the second", "mend it"]])
        stage.status.setDisk(StoreError(.unavailable, "the disk is full"), "/folder")
        stage.status.setProblem("b", nil)
        found = try await problems()
        #expect(found.map { $0[0] } == ["the first", "its state cannot be written to /folder: the disk is full"])
        // Those of a bridge with other settings are forgotten, and not that of the disk.
        stage.status.clearProblems()
        found = try await problems()
        #expect(found.count == 1)
        stage.status.setDisk(nil, "/folder")
        found = try await problems()
        #expect(found.isEmpty)
    }

    @Test(.bridge) func whatIsNotThereIsRefused() async throws {
        func name(_ body: () async throws(NotifyError) -> [Value]) async -> String? {
            do throws(NotifyError) {
                _ = try await body()
                return nil
            } catch {
                return error.name?.split(separator: ".").last.map(String.init)
            }
        }
        let interface = Value.string(BridgeStatus.interface)
        #expect(
            await name { () async throws(NotifyError) in try await stage.ask("Get", [interface, "None"]) }
                == "UnknownProperty")
        #expect(
            await name { () async throws(NotifyError) in
                try await stage.ask("Set", [interface, "State", .variant("connected")])
            } == "PropertyReadOnly")
        #expect(
            await name { () async throws(NotifyError) in try await stage.ask("GetAll", at: "/other", [interface]) }
                == "UnknownObject")
        #expect(
            await name { () async throws(NotifyError) in
                try await stage.ask("Forget", of: BridgeStatus.interface, [.uint64(1)])
            } == "InvalidArgs")
        #expect(
            await name { () async throws(NotifyError) in
                try await stage.ask("Forget", of: BridgeStatus.interface, ["no topic"])
            } == "InvalidArgs")
        #expect(
            await name { () async throws(NotifyError) in try await stage.ask("None", of: BridgeStatus.interface, [])
            }
                == "UnknownMethod")
    }

    @Test(.bridge) func aNewStateIsAnnouncedAtOnceAndNumbersOnceASecond() async throws {
        stage.status.set(.connected)
        let first = await stage.signals.next(within: .seconds(5))?.arguments.dropFirst().first?.entries
        #expect(first?["State"] == "connected" && first?["Backlog"] == nil)
        for number in 1...100 { stage.status.setBacklog(UInt64(number)) }
        let second = await stage.signals.next(within: .seconds(5))?.arguments.dropFirst().first?.entries
        #expect(second == ["Backlog": .uint64(100)])
        stage.status.set(.failed, "two machines share one device")
        let third = await stage.signals.next(within: .seconds(5))?.arguments.dropFirst().first?.entries
        #expect(third == ["State": "failed", "Since": .int64(1000), "Detail": "two machines share one device"])
        #expect(stage.signals.all.count == 3)
    }

    @Test(.bridge) func itIsIntrospectedAsItsContractSays() async throws {
        let text = try await stage.ask("Introspect", of: "org.freedesktop.DBus.Introspectable", []).first?.string
        let own = try interfaceMembers(of: BridgeStatus.interface, in: try #require(text))
        let contract = try Project.text("systemd/org.notifyd.Bridge1.xml")
        #expect(try own == interfaceMembers(of: BridgeStatus.interface, in: contract) && own.count == 11)
        let root = try await stage.ask("Introspect", of: "org.freedesktop.DBus.Introspectable", at: "/", []).first?
            .string
        #expect(root?.contains("<node name=\"org\"/>") == true)
    }

    @Test(.bridge) func deadLettersAreListedAndForgotten() async throws {
        try await stage.store.keep(DeadLetter(topic: "/a/b", origin: "desk", reason: "too large", content: [1, 2]))
        try await stage.store.keep(DeadLetter(origin: "desk", reason: "no topic"))
        let letters = try await stage.ask("ListDeadLetters", of: BridgeStatus.interface, []).first?.elements
        #expect(letters?.count == 2)
        #expect(letters?[0].elements?[2...] == ["/a/b", "desk", "too large", .uint64(2)])
        #expect(letters?[1].elements?[2] == "")
        await stage.store.wait()
        #expect(try await stage.property("DeadLetters")?.integer() == 2)
        #expect(try await stage.ask("Forget", of: BridgeStatus.interface, ["/a"]) == [.uint64(1)])
        #expect(try await stage.ask("Forget", of: BridgeStatus.interface, ["/"]) == [.uint64(1)])
        await stage.store.wait()
        #expect(try await stage.property("DeadLetters")?.integer() == 0)
    }

    @Test(.bridge) func aBridgeHasMethodsOfItsOwn() async throws {
        stage.object.export(
            BridgeInterface(
                "org.notifyd.Test1",
                [
                    BridgeMethod("Double", in: [("number", "u")], out: [("number", "u")]) { arguments in
                        [.uint32(2 * (arguments[0].integer() ?? 0))]
                    },
                    BridgeMethod("Fail") { _ in
                        throw BridgeMethodError("org.notifyd.Test1.Error.No", "It is not connected.")
                    },
                ]))
        #expect(try await stage.ask("Double", of: "org.notifyd.Test1", [.uint32(21)]) == [.uint32(42)])
        let error = await #expect(throws: NotifyError.self) {
            try await stage.ask("Fail", of: "org.notifyd.Test1", [])
        }
        #expect(error?.name == "org.notifyd.Test1.Error.No" && error?.message == "It is not connected.")
        let text = try await stage.ask("Introspect", of: "org.freedesktop.DBus.Introspectable", []).first?.string
        #expect(text?.contains("<method name=\"Double\">") == true)
    }

    @Test(.bridge) func callsBeyondALimitAreRefused() async throws {
        let (gate, opening) = AsyncStream.makeStream(of: Never.self)
        stage.object.export(
            BridgeInterface(
                "org.notifyd.Test1",
                [
                    BridgeMethod("Wait") { _ in
                        for await _ in gate {}
                        return []
                    }
                ]))
        let answers = Mailbox<String?>()
        for _ in 0..<70 {
            stage.caller.call(
                .call("Wait", of: "org.notifyd.Test1", at: BridgeStatus.path, on: "org.notifyd.Bridge.test")
            ) { answer in
                if case .failure(let error) = answer { answers.put(error.name) } else { answers.put(nil) }
            }
        }
        for _ in 0..<6 {
            #expect(await answers.next(within: .seconds(5)) == "org.freedesktop.DBus.Error.LimitsExceeded")
        }
        opening.finish()
        for _ in 0..<64 { #expect(await answers.next(within: .seconds(5)) == .some(nil)) }
    }
}
