import NotifyClient
import NotifyRehearsal

/// A service manager on the bus of a device, which runs its notifyd and its notifyd-mqtt.
final class StandInManager: Sendable {
    private static let name = "org.freedesktop.systemd1"
    private static let root = "/org/freedesktop/systemd1"

    private struct State {
        var calls: [String] = []
        var running: Set<String> = ["notifyd.service", "notifyd-mqtt.service"]
    }

    private let connection: Connection
    private let state = Locked(State())

    /// What was asked for.
    var calls: [String] { state.withLock { $0.calls } }

    init(_ device: LinkedDevice) async throws {
        connection = try await Connection.open(device.bus.address)
        connection.export("\(Self.name).Manager") { [state] call in
            let member = call.message.member ?? ""
            let unit = call.message.arguments.first?.string ?? ""
            guard member != "LoadUnit" else {
                let number = unit == "notifyd.service" ? 1 : 2
                return call.reply([.objectPath("\(Self.root)/unit/\(number)")])
            }
            state.withLock { $0.calls.append("\(member) \(unit)") }
            call.reply([.objectPath("\(Self.root)/job/1")])
            guard member != "ResetFailedUnit" else { return }
            Task {
                switch (member, unit) {
                case ("StopUnit", "notifyd.service"): await device.daemon.stop()
                case ("StopUnit", _): await device.bridge.stop()
                case (_, "notifyd.service"): try? await device.daemon.start()
                default: try? await device.bridge.start()
                }
                state.withLock { state in
                    if member == "StopUnit" { state.running.remove(unit) } else { state.running.insert(unit) }
                }
            }
        }
        connection.export("org.freedesktop.DBus.Properties") { [state] call in
            let unit = call.message.path?.hasSuffix("/1") == true ? "notifyd.service" : "notifyd-mqtt.service"
            let isRunning = state.withLock { $0.running.contains(unit) }
            call.reply([.variants(["ActiveState": .string(isRunning ? "active" : "inactive")])])
        }
        try await connection.requestName(Self.name)
    }

    func close() async { connection.close() }
}
