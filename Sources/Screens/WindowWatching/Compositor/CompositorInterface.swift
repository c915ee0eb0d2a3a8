import Systemd

/// The interface `org.notifyd.FocusSource1`, with which programs inside of compositors tell of windows: a script in
/// KWin, an extension of GNOME Shell. Only a compositor that is followed is believed.
final class CompositorInterface {
    private static let path = "/org/notifyd/Focus1"
    private static let name = "org.notifyd.FocusSource1"

    /// What a compositor tells.
    enum Statement {
        /// All windows follow.
        case begin
        case window(id: String, app: String, instance: String, title: String, isFocused: Bool, isVisible: Bool)
        case gone(id: String)
        /// It tells no more.
        case end
    }

    private let bus: BusConnection
    private let interface = BusInterface(CompositorInterface.name)
    /// The unique name of the compositor that is believed, and what is done with its statements.
    var listener: (owner: String, take: (Statement) -> Void)?

    init(bus: BusConnection) throws(SystemdError) {
        self.bus = bus
        interface.signal("Wanted", [])
        method("Begin", []) { _ throws(SystemdError) in .begin }
        method("End", []) { _ throws(SystemdError) in .end }
        method("Gone", [("id", "s")]) { call throws(SystemdError) in .gone(id: try call.readString()) }
        method(
            "Window",
            [("id", "s"), ("app", "s"), ("instance", "s"), ("title", "s"), ("focused", "b"), ("visible", "b")]
        ) { call throws(SystemdError) in
            .window(
                id: try call.readString(), app: try call.readString(), instance: try call.readString(),
                title: try call.readString(), isFocused: try call.readBoolean(), isVisible: try call.readBoolean())
        }
        try interface.export(on: bus, path: Self.path)
    }

    private func method(
        _ name: String, _ arguments: [BusInterface.Argument],
        _ read: @escaping (borrowing BusMessage) throws(SystemdError) -> Statement
    ) {
        interface.method(name, in: arguments) { [unowned self] call throws(BusFailure) in
            guard let listener, call.sender == listener.owner else {
                throw BusFailure(
                    name: "org.freedesktop.DBus.Error.AccessDenied",
                    text: "only the compositor whose windows are followed may tell of them")
            }
            let statement: Statement
            do throws(SystemdError) { statement = try read(call) } catch {
                throw BusFailure(name: "org.freedesktop.DBus.Error.InvalidArgs", text: "\(error)")
            }
            listener.take(statement)
            // A lost connection ends the program.
            try? bus.send(bus.methodReturn(to: call))
        }
    }

    /// Asks whoever can for all windows.
    func askForAll() {
        try? bus.send(bus.signal(path: Self.path, interface: Self.name, member: "Wanted"))
    }
}
