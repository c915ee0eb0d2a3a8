import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What the daemon says of its interface is what the contract says, to the letter; the order of attributes does not
/// count.
@Suite(.timeLimit(.minutes(1))) struct InterfaceTests {
    @Test func theDaemonOffersTheContractAndNothingElse() async throws {
        let contract = try Project.text("systemd/org.notifyd.Router1.xml")
        try await withRig { rig in
            let connection = try await Connection.open(rig.bus.address)
            defer { connection.close() }
            let answer = try await connection.call(
                .call("Introspect", of: "org.freedesktop.DBus.Introspectable", at: Router.path, on: Router.name))
            let offered = try #require(answer.arguments.first?.string)
            let own = try interfaceMembers(of: Router.interface, in: offered)
            #expect(try own == interfaceMembers(of: Router.interface, in: contract) && !own.isEmpty)
        }
    }
}
