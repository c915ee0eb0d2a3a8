import Routing
import Systemd

/// `org.notifyd.Router1` on the bus: calls become inputs of the router, and its replies become theirs.
///
/// The table at the end is the interface; `org.notifyd.Router1.xml` says the same in XML, and a test holds them together.
final class RouterInterface {
    static let name = "org.notifyd.Router1"
    static let path = "/org/notifyd/Router1"

    unowned let daemon: Daemon<SystemHost>
    let bus: BusConnection
    private let interface = BusInterface(RouterInterface.name)
    /// Takes calls that set properties, while a policy wants to know who makes them.
    var interception: BusSlot?
    /// Calls that wait to be handled, and what comes after them.
    var queue = FairQueue<() -> Void>()
    var floodGate = FloodGate()
    /// Calls that were handled as they were read, since the lines were last seen to.
    var handledOnTheSpot = 0
    /// The bytes of long answers that were given while the present call was handled.
    var answeredBytes = 0
    /// What is left to do of the present call, in the caller's next turn.
    var rest: (() -> Void)?
    /// How many answers are being made in portions.
    var longAnswers = 0
    /// Takes calls that sd-bus answers by itself.
    var otherCalls: BusSlot?

    init(daemon: Daemon<SystemHost>, bus: BusConnection) {
        self.daemon = daemon
        self.bus = bus
    }

    /// Has the router handle a call.
    func perform(_ input: Input, for call: borrowing BusMessage) throws(BusFailure) {
        do throws(Refusal) {
            try daemon.answer(input, to: HeldMessage(retaining: call))
        } catch {
            throw BusFailure(error)
        }
    }

    func reply(_ reply: Reply, to call: HeldMessage) -> HeldMessage {
        let message = bus.methodReturn(to: call.message)
        switch reply {
        case .accepted(let id): message.append(id.rawValue, as: "t")
        case .verdict(let verdict): message.append(verdict.rawValue)
        case .count(let count): message.append(UInt32(clamping: count), as: "u")
        case .screen(let id): message.append(id.rawValue, as: "t")
        case .done: break
        case .refused: preconditionFailure("a refusal is thrown, and goes back as an error")
        }
        return HeldMessage(message)
    }

    // MARK: The table

    func export() throws(SystemdError) {
        exportMethods()
        exportProperties()
        exportSignals()
        try interface.export(on: bus, path: Self.path)
        queueOtherCalls()
    }

    private func exportMethods() {
        let event = [("id", "t")]
        method("Send", in: [("topic", "s"), ("title", "s"), ("body", "s")], out: event, RouterInterface.send)
        method(
            "Publish", in: [("topic", "s"), ("title", "s"), ("body", "s"), ("fields", "a{sv}"), ("options", "a{sv}")],
            out: event, RouterInterface.publish)
        method("Claim", in: event, out: [("verdict", "s")], RouterInterface.claim)
        method(
            "ClaimProvisionally", in: [("id", "t"), ("milliseconds", "u")], out: [("verdict", "s")],
            RouterInterface.claimProvisionally)
        method("Complete", in: event, RouterInterface.complete)
        method("Release", in: event, RouterInterface.release)
        method("Pass", in: event, RouterInterface.pass)
        method(
            "ClaimTopic", in: [("topic", "s"), ("grace_milliseconds", "u")], out: [("count", "u")],
            RouterInterface.claimTopic)
        method(
            "OpenScreen", in: [("topic", "s"), ("options", "a{sv}")], out: [("screen", "t")], RouterInterface.openScreen
        )
        method("UpdateScreen", in: [("screen", "t"), ("options", "a{sv}")], RouterInterface.updateScreen)
        method("CloseScreen", in: [("screen", "t")], RouterInterface.closeScreen)
        method("ListScreens", out: [("screens", "a(tssss)")], RouterInterface.listScreens)
        let list = [("events", "a(tsssxsa{sv})")]
        method("Snapshot", in: [("topic", "s")], out: [("cursor", "t")] + list, RouterInterface.snapshot)
        method("History", in: [("topic", "s"), ("after", "t"), ("limit", "u")], out: list, RouterInterface.history)
        method("Unread", in: [("topic", "s")], out: [("count", "u")], RouterInterface.unread)
        method(
            "MarkRead", in: [("topic", "s"), ("up_to", "t")], out: [("count", "u")], RouterInterface.markRead)
        method("Explain", in: event, out: [("decision", "a{sv}")], RouterInterface.explain)
        method("Mute", in: [("topic", "s"), ("seconds", "u")], RouterInterface.mute)
        method("Pause", in: [("seconds", "u")], RouterInterface.pause)
    }

    private func method(
        _ name: String, in input: [BusInterface.Argument] = [], out output: [BusInterface.Argument] = [],
        _ reading: @escaping (RouterInterface) -> (borrowing BusMessage) throws(BusFailure) -> Order
    ) {
        interface.method(name, in: input, out: output) { [unowned self] call throws(BusFailure) in
            try admit(try reading(self)(call), call)
        }
    }

    private func exportProperties() {
        interface.property("Quiet", "a(sxs)", .announced) { [unowned daemon] message in
            message.appendContainer("a", "(sxs)") { list in
                for (topic, until, cause) in daemon.quiet {
                    list.appendContainer("r", "sxs") { entry in
                        entry.append(topic)
                        entry.append(until, as: "x")
                        entry.append(cause)
                    }
                }
            }
        }
        interface.property("Paused", "b") { [unowned daemon] message in
            message.append(daemon.router.pausesBanners)
        } set: { [unowned self] value throws(BusFailure) in
            try setPaused(value)
        }
        interface.property("Degraded", "s", .announced) { [unowned daemon] in $0.append(daemon.storage.degradation) }
        interface.property("Version", "s", .constant) { $0.append(notifydVersion) }
        interface.property("DefaultWindowMilliseconds", "u", .announced) { [unowned daemon] in
            $0.append(daemon.configuration.defaultWindow.millisecondsRoundedUp, as: "u")
        }
        interface.property("Pending", "u", .unannounced) { [unowned daemon] in
            $0.append(UInt32(clamping: daemon.router.pending), as: "u")
        }
        interface.property("Statistics", "a{st}", .unannounced) { [unowned daemon] message in
            message.appendContainer("a", "{st}") { entries in
                for (name, value) in daemon.statistics {
                    entries.appendContainer("e", "st") { entry in
                        entry.append(name)
                        entry.append(value, as: "t")
                    }
                }
            }
        }
    }

    private func exportSignals() {
        interface.signal(
            "Event",
            [("topic", "s"), ("id", "t"), ("title", "s"), ("body", "s"), ("fields", "a{sv}"), ("info", "a{sv}")])
        interface.signal("Resolved", [("topic", "s"), ("id", "t"), ("outcome", "s"), ("details", "a{sv}")])
        interface.signal("Removed", [("topic", "s"), ("id", "t")])
        interface.signal("ActionInvoked", [("topic", "s"), ("id", "t"), ("action", "s")])
    }
}

extension BusFailure {
    /// The error names of the interface stand here and nowhere else.
    init(_ refusal: Refusal) {
        switch refusal {
        case .invalidTopic(let text): self.init(own: "InvalidTopic", text)
        case .invalidEvent(let text): self.init(own: "InvalidEvent", text)
        case .unknownEvent(let text): self.init(own: "UnknownEvent", text)
        case .unknownScreen(let text): self.init(own: "UnknownScreen", text)
        case .notClaimant(let text): self.init(own: "NotClaimant", text)
        case .storageUnavailable(let text): self.init(own: "StorageUnavailable", text)
        case .tooLarge(let text): self.init(own: "TooLarge", text)
        case .limitExceeded(let text): self.init(own: "LimitExceeded", text)
        case .accessDenied(let text): self.init(own: "AccessDenied", text)
        case .invalidArguments(let text): self.init(name: "org.freedesktop.DBus.Error.InvalidArgs", text: text)
        }
    }

    private init(own name: String, _ text: String) {
        self.init(name: "\(RouterInterface.name).Error.\(name)", text: text)
    }
}
