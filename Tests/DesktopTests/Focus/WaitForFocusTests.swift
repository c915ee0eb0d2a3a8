import NotifyClient
import NotifyRehearsal
import Testing

/// Callers that wait for the next window share a few places.
@Suite(.serialized, .timeLimit(.minutes(5))) struct WaitForFocusTests {
    private static let name = "org.notifyd.Focus1"

    /// Has a connection wait so many times at once.
    ///
    /// - Returns: why one of the calls was refused.
    private func wait(_ connection: Connection, times: Int) async -> String? {
        let refusals = Mailbox<String>()
        for _ in 0..<times {
            Task {
                do throws(NotifyError) {
                    _ = try await connection.call(
                        .call(
                            "WaitForFocus", of: Self.name, at: "/org/notifyd/Focus1", on: Self.name, autoStart: false,
                            [.uint32(60_000)]),
                        timeout: .seconds(70))
                } catch {
                    refusals.put("\(error.name ?? ""): \(error.message)")
                }
            }
        }
        return await refusals.next(within: .seconds(30))
    }

    @Test func whoLeavesTheBusGivesItsPlacesBack() async throws {
        try await FocusRig.with([:]) { rig in
            try rig.launch()
            try await rig.until("it answers") { try await !rig.state().isEmpty }
            var connections: [Connection] = []
            defer { for connection in connections { connection.close() } }
            for _ in 0..<4 {
                let connection = try await Connection.open(rig.bus.address)
                connections.append(connection)
                let refusal = await wait(connection, times: 5)
                #expect(refusal?.hasPrefix("\(Self.name).Error.TooManyWaiting: ") == true)
                #expect(refusal?.contains("at most 4 times") == true)
            }
            let late = try await Connection.open(rig.bus.address)
            defer { late.close() }
            #expect(await wait(late, times: 1)?.contains("16 callers wait already") == true)
            connections.removeFirst().close()
            // Its four places are free once the bus has told that it is gone.
            try await rig.until("there are places again") {
                await wait(late, times: 5)?.contains("at most 4 times") == true
            }
        }
    }
}
