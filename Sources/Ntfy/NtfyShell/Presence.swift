import Glibc
import NotifyClient

/// Whether nobody is at this machine: all sessions of the user at a seat are locked or idle; org.freedesktop.login1(5).
/// It is asked when it matters. Without a system bus, logind or such a session somebody counts as being there, as for
/// notifyd itself.
struct Presence: Sendable {
    private static let name = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"
    private static let timeout: Duration = .seconds(5)

    var isAway: Bool {
        get async {
            let address =
                getenv("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) }
                ?? "unix:path=/run/dbus/system_bus_socket"
            guard let connection = try? await Connection.open(address) else { return false }
            defer { connection.close() }
            let sessions = await seatedSessions(connection)
            for session in sessions where await !isUnwatched(session, connection) { return false }
            return !sessions.isEmpty
        }
    }

    /// The object paths of the user's sessions at a seat; others, such as those of ssh, have no display.
    private func seatedSessions(_ connection: Connection) async -> [String] {
        let call = Message.call(
            "ListSessions", of: "\(Self.name).Manager", at: Self.path, on: Self.name, autoStart: false)
        let reply = try? await connection.call(call, timeout: Self.timeout)
        return (reply?.arguments.first?.elements ?? []).compactMap { row in
            guard let members = row.elements, members.count == 5, members[1].integer() == getuid(),
                members[3].string?.isEmpty == false
            else { return nil }
            return members[4].string
        }
    }

    private func isUnwatched(_ session: String, _ connection: Connection) async -> Bool {
        let call = Message.call(
            "GetAll", of: "org.freedesktop.DBus.Properties", at: session, on: Self.name, autoStart: false,
            [.string("\(Self.name).Session")])
        guard let properties = try? await connection.call(call, timeout: Self.timeout).arguments.first?.entries else {
            return false
        }
        return properties["LockedHint"]?.boolean == true || properties["IdleHint"]?.boolean == true
    }
}
