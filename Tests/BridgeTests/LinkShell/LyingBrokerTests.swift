import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Brokers that send what libmosquitto 2.0.11 cannot survive: a property that MQTT 5 does not have fails an assertion.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct LyingBrokerTests {
    /// Whoever knows the client id can take the connection over, which proves no second machine.
    @Test func isNotBelievedThatTwoMachinesShareADevice() async throws {
        let connections = Locked(0)
        let broker = try StandInBroker { type, _, packet in
            switch type {
            case 0x10:
                connections.withLock { $0 += 1 }
                return [0x20, 3, 0, 0, 0]
            case 0x82: return [0x90, 9, packet[0], packet[1], 0, 1, 1, 1, 1, 1, 1, 0xE0, 2, 0x8E, 0]
            default: return []
            }
        }
        try await withLink(1, isStarted: false) { rig in
            try rig.one.bridge.configure(LinkRig.configuration(at: "unix:\(broker.path)", "desk"))
            try rig.one.bridge.launch()
            try await rig.one.until("it has been taken over five times", within: .seconds(60)) {
                connections.withLock { $0 } > 5
            }
            #expect(try await rig.one.bridge.property("State")?.string != "failed")
        }
    }

    /// The lie stands in the answer to CONNECT, in the answer to SUBSCRIBE, in a message, or in DISCONNECT.
    @Test(
        arguments: [
            [0x20, 5, 0, 0, 2, 0, 0], [0x90, 12, 0, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1], [0x30, 6, 0, 1, 0x74, 2, 0, 0],
            [0xE0, 4, 0x8B, 2, 0, 0],
        ] as [[UInt8]])
    func isAskedWithMQTT311AfterItHasEndedTheProcess(lie: [UInt8]) async throws {
        let broker = try StandInBroker { type, level, packet in
            switch type {
            case 0x10 where level == 5: lie[0] == 0x20 ? lie : [0x20, 3, 0, 0, 0]
            case 0x10: [0x20, 2, 0, 0]
            case 0x82 where level == 5:
                lie[0] == 0x90 ? lie : [0x90, 9, packet[0], packet[1], 0, 1, 1, 1, 1, 1, 1] + lie
            case 0x82: [0x90, 8, packet[0], packet[1], 1, 1, 1, 1, 1, 1]
            default: []
            }
        }
        try await withLink(1, isStarted: false) { rig in
            try rig.one.bridge.configure(LinkRig.configuration(at: "unix:\(broker.path)", "desk"))
            try rig.one.bridge.launch()
            // A later libmosquitto ends the connection alone.
            if let exit = await rig.one.bridge.waitForExit(within: .seconds(30)) {
                #expect(exit == .signal(SIGABRT))
                try rig.one.bridge.launch()
            }
            try await rig.one.until("it is connected") {
                try await rig.one.bridge.property("Detail")?.string?.contains("MQTT 3.1.1") == true
            }
            #expect(try await rig.one.bridge.property("State")?.string == "connected")
        }
    }
}
