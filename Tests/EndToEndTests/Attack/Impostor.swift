import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A connection that says what others should say, and notes whatever it is then asked.
struct Impostor {
    let connection: Connection
    /// Calls that came to it as if it were somebody else.
    let calls = Mailbox<Message>()

    init(on bus: PrivateBus) async throws {
        connection = try await Connection.open(bus.address)
        for interface in [NotificationServer.name, StandInLogind.manager, "org.freedesktop.DBus.Properties"] {
            connection.export(interface) { [calls] call in calls.put(call.message) }
        }
    }

    /// Sends a signal to one connection.
    func says(
        _ member: String, of interface: String, at path: String, to destination: String, _ arguments: [Value]
    ) {
        connection.send(.signal(member, of: interface, at: path, to: destination, arguments))
    }

    func changesOwner(_ name: String, _ old: String, _ new: String, before listener: String) async throws {
        says(
            "NameOwnerChanged", of: Bus.interface, at: Bus.path, to: listener,
            [.string(name), .string(old), .string(new)])
        try await isHeard(by: listener)
    }

    func claimsToOwn(_ name: String, insteadOf owner: String, before listener: String) async throws {
        try await changesOwner(name, owner, connection.uniqueName, before: listener)
    }

    /// Returns when what was said before has been heard: the same connection calls behind it. An error is an answer.
    func isHeard(by listener: String = Router.name) async throws {
        let ping = Message.call("Ping", of: "org.freedesktop.DBus.Peer", at: "/", on: listener, autoStart: false)
        do throws(NotifyError) {
            _ = try await connection.call(ping, timeout: .seconds(20))
        } catch {
            guard error.code == .refused else { throw error }
        }
    }
}

/// logind as far as the daemon asks it: one session at a seat, neither locked nor idle.
final class StandInLogind: Sendable {
    static let name = "org.freedesktop.login1"
    static let path = "/org/freedesktop/login1"
    static let manager = "org.freedesktop.login1.Manager"

    /// Who asked for the sessions, each time.
    let questions = Mailbox<String>()
    private let connection: Connection
    var uniqueName: String { connection.uniqueName }

    init(on bus: PrivateBus) async throws {
        connection = try await Connection.open(bus.address)
        let questions = questions
        connection.export(Self.manager) { call in
            questions.put(call.message.sender ?? "")
            call.fail("org.freedesktop.DBus.Error.Failed", "This stand-in knows no sessions.")
        }
        try await connection.requestName(Self.name)
    }

    func announceSession() async throws {
        connection.send(
            .signal(
                "SessionNew", of: Self.manager, at: Self.path,
                ["c2", .objectPath("/org/freedesktop/login1/session/c2")]))
    }

    func close() { connection.close() }
}

/// A rig with somebody on it who means harm.
struct ImpostorRig {
    let rig: Rig
    /// The daemon's unique name.
    let daemonName: String

    var bus: PrivateBus { rig.bus }
    var daemon: DaemonProcess { rig.daemon }
    var server: NotificationServer { rig.server }
    var client: NotifyClient { rig.client }
    var listener: Listener { rig.listener }

    func until(_ fact: String, _ isTrue: () async throws -> Bool) async throws {
        try await waitUntil(fact, within: .seconds(20), daemon, isTrue)
    }
}

func withImpostor(
    configuration: String = "[banner]\nmax_per_second = 0\n", systemBus: PrivateBus? = nil,
    _ body: (ImpostorRig, Impostor) async throws -> Void
) async throws {
    try await withRig(configuration: configuration, systemBus: systemBus) { rig in
        let impostor = try await Impostor(on: rig.bus)
        let name = try #require(await impostor.connection.owner(of: Router.name))
        try await body(ImpostorRig(rig: rig, daemonName: name), impostor)
        impostor.connection.close()
    }
}

extension Trait where Self == Fixture {
    static var impostor: Self { Fixture { try await withImpostor($0) } }
}
