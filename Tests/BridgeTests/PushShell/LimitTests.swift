import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import NotifyText
import Testing

/// What others can do to the memory and the disk of the bridge.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct LimitTests {
    private let stage: PushStage! = Fixture.current()

    /// A line of proc_pid_status(5), in KiB.
    private func memory(_ line: String, _ stage: PushStage) async throws -> Int {
        let process = try #require(try await stage.connection.process(of: PushStage.bridge))
        return try ProcessStatistics(identifier: pid_t(process)).kibibytes(line)
    }

    private func message(_ bytes: Int, to name: String) -> Message {
        .call(
            "Message", of: "org.unifiedpush.Connector2", at: "/org/unifiedpush/Connector", on: name,
            [.variants(["token": "a", "message": .bytes(Array(repeating: 7, count: bytes))])])
    }

    /// A message that is within the limit of the connection but not a push takes a few times its length for a moment,
    /// however many come at once: much less than the unit may have.
    @Test(.pushStage) func longMessagesDoNotAddUp() async throws {
        let post = try await stage.create("post", "/post")
        let idle = try await memory("VmHWM", stage)
        let stranger = try await Connection.open(stage.bus.address)
        defer { stranger.close() }
        let length = 8_000_000
        try await withThrowingTaskGroup { group in
            for _ in 0..<3 {
                group.addTask {
                    await #expect(throws: NotifyError.self) {
                        _ = try await stranger.call(message(length, to: PushStage.connector))
                    }
                }
            }
            try await group.waitForAll()
        }
        let peak = try await memory("VmHWM", stage)
        #expect((peak - idle) << 10 < 3 * length, "\(idle) KiB before, \(peak) KiB at most")
        try await stage.send("real", to: post)
        try await stage.waitFor(["real"])
    }

    /// Anybody on the bus can send 128 MiB. None of that is read: the connection ends, and the bridge begins again, as
    /// with every end of the bus.
    @Test(.pushStage, arguments: [PushStage.connector, PushStage.bridge])
    func ofAHugeMessageNothingIsRead(_ name: String) async throws {
        let post = try await stage.create("post", "/post")
        await stage.kill(PushStage.bridge)
        try stage.measureBridge()
        try await stage.start()
        try await stage.waitFor("connected")
        let idle = try await memory("VmHWM", stage)
        let stranger = try await Connection.open(stage.bus.address)
        defer { stranger.close() }
        let error = await #expect(throws: NotifyError.self) {
            _ = try await stranger.call(message(20 << 20, to: name))
        }
        #expect(error?.name == "org.freedesktop.DBus.Error.NoReply", "\(error as Any)")
        let peak = try await eventually("it has ended; it said: \(stage.log)") { stage.peakMemory }
        #expect(peak - idle < 4 << 10, "\(idle) KiB before, \(peak) KiB at most")
        #expect(stage.log.contains("a message of more than 8 MiB"), "\(stage.log)")
        // The next push starts it.
        try await stage.send("real", to: post)
        try await eventually("it is taken") {
            try await stage.ask("Reconnect")
            return try await stage.titles() == ["real"] ? true : nil
        }
    }

    /// Thousands of messages that can never be taken, at once, take some megabytes, and give them back.
    @Test(.pushStage) func aFloodOfRubbishTakesLittle() async throws {
        let post = try await stage.create("post", "/post")
        let peak = try await memory("VmHWM", stage)
        let idle = try await memory("RssAnon", stage)
        let count = 6000
        let answer = try await stage.connection.call(
            .call(
                "Flood", of: "org.notifyd.Test.Distributor", at: "/org/unifiedpush/Distributor",
                on: PushStage.distributor, [.uint32(UInt32(count)), .uint32(4000)]), timeout: .seconds(120))
        let confirmed = try #require(answer.arguments.first?.string.flatMap { Int($0) })
        // What is refused is delivered again later.
        #expect(1024...count ~= confirmed)
        #expect(try await memory("VmHWM", stage) - peak < 20 << 10, "\(peak) KiB before")
        try await eventually("the memory is given back; \(idle) KiB before") {
            try await memory("RssAnon", stage) - idle < 5 << 10 ? true : nil
        }
        try await stage.send("real", to: post)
        try await stage.waitFor(["real"])
    }

    /// What is wrong with an unknown method is neither its caller nor its arguments.
    @Test(.pushStage) func anUnknownMethodIsToldWithThoseThatAreThere() async throws {
        try await stage.start()
        for arguments in [[], [Value.variants(["token": "a"])]] {
            let error = await #expect(throws: NotifyError.self) {
                _ = try await stage.connection.call(
                    .call(
                        "Nope", of: "org.unifiedpush.Connector2", at: "/org/unifiedpush/Connector",
                        on: PushStage.connector, arguments))
            }
            #expect(error?.name == "org.freedesktop.DBus.Error.UnknownMethod", "\(error as Any)")
            #expect(
                error?.message == "There is no method Nope in org.unifiedpush.Connector2; its methods are Message, "
                    + "NewEndpoint and Unregistered.")
        }
    }

    @Test(.pushStage) func longArgumentsAreRefused() async throws {
        try await stage.start()
        let options: [String: Value] = ["vapid": "own", "more": .bytes(Array(repeating: 7, count: 70_000))]
        let error = await #expect(throws: NotifyError.self) {
            _ = try await stage.connection.call(
                .call(
                    "Create", of: "org.notifyd.Push1", at: "/org/notifyd/Bridge1", on: PushStage.bridge,
                    ["post", "/post", .variants(options)]))
        }
        #expect(error?.name == "org.freedesktop.DBus.Error.LimitsExceeded", "\(error as Any)")
    }

    /// On a full disk, what can never be taken is confirmed when its dead letter is kept, and holds nothing else up.
    @Test(.pushStage) func onAFullDiskRubbishIsNotConfirmed() async throws {
        let post = try await stage.create("post", "/post")
        try await stage.limitFiles("0:unlimited")
        let bytes = Value.bytes([7])
        try await stage.ask("Push", [.string(post.endpoint), bytes, .boolean(true)])
        try await eventually("it is told") {
            await stage.problems().contains { $0.contains("the disk does not take dead letters yet") } ? true : nil
        }
        try await stage.send("real", to: post)
        try await stage.waitFor(["real"])
        var state = try await stage.distributorState()
        #expect(state["pending"]?.integer() == 1 && state["acknowledged"]?.integer() == 1)
        #expect(await stage.property("DeadLetters")?.integer() == 0)
        try await stage.limitFiles("unlimited")
        try await stage.waitForAcknowledgements(2)
        try await eventually("it is counted") { await stage.property("DeadLetters")?.integer() == 1 ? true : nil }
        try await eventually("nothing is wrong") { await stage.problems().isEmpty ? true : nil }
        // Not confirmed when the bridge dies, it comes again, and is one dead letter.
        try await stage.limitFiles("0:unlimited")
        try await stage.ask("Push", [.string(post.endpoint), bytes, .boolean(true)])
        try await eventually("it waits") { await stage.problems().isEmpty ? nil : true }
        await stage.kill(PushStage.bridge)
        try await stage.start()
        try await stage.waitForAcknowledgements(3, reconnecting: true)
        state = try await stage.distributorState()
        #expect(state["pending"]?.integer() == 0)
        try await eventually("it is counted") { await stage.property("DeadLetters")?.integer() == 2 ? true : nil }
    }
}
