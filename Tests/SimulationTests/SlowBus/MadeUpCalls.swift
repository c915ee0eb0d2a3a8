import Systemd

/// Calls that came from no bus. The daemon only hands them back with its answer.
struct MadeUpCalls {
    private let bus = try! BusConnection(toNobody: ())

    func make() -> RetainedMessage {
        RetainedMessage(bus.methodCall(to: "org.notifyd", path: "/", interface: "org.notifyd.Router1", member: "Call"))
    }
}
