import Routing
import Systemd

/// `org.notifyd.Router1` on the bus. Each call is authorized, scheduled and passed to the daemon as an input.
///
/// The table at the end is the interface. A test compares it with `org.notifyd.Router1.xml`.
final class RouterInterface {
    unowned let daemon: Daemon
    unowned let host: SystemHost
    let bus: BusConnection
    let codec: BusCodec
    private let interface = BusInterface(BusCodec.interface)
    /// Intercepts calls that set properties, while the policy needs their callers.
    var setInterceptor: BusSlot?
    /// Queued calls, and the cleanup after a caller's last call.
    let queue = FairQueue<() -> Void>()
    var throttle = Throttle()
    /// Calls handled as they were read since queued ones were last served.
    var handledImmediately = 0
    /// Bytes of long replies made for the current call.
    var repliedBytes = 0
    /// The rest of the current call, for the caller's next round.
    var continuation: (() -> Void)?
    /// What callers were sent that they may not read.
    var unread = UnreadReplies()
    /// How many replies are being made in chunks.
    var chunkedReplies = 0
    /// Calls that are answered when something changes.
    var awaiting = AwaitingCalls()
    /// Whether calls that wait for changes were queued when no other call was.
    var areAwaitingNext = false
    /// Filters the calls that sd-bus handles itself.
    var builtInCalls: BusSlot?

    init(daemon: Daemon, host: SystemHost, codec: BusCodec) {
        self.daemon = daemon
        self.host = host
        self.codec = codec
        bus = codec.bus
        queue.programOf = { [unowned host] in host.programs.owner(of: $0) }
    }

    // MARK: The table

    func export() throws(SystemdError) {
        exportMethods()
        exportProperties()
        exportSignals()
        try interface.export(on: bus, path: BusCodec.path)
        scheduleBuiltInCalls()
    }

    private func exportMethods() {
        let event = [("id", "t")]
        method("Send", in: [("topic", "s"), ("title", "s"), ("body", "s")], out: event, RouterInterface.send)
        method(
            "Publish", in: [("topic", "s"), ("title", "s"), ("body", "s"), ("fields", "a{sv}"), ("options", "a{sv}")],
            out: event, RouterInterface.publish)
        method("Withdraw", in: event, RouterInterface.withdraw)
        method("Claim", in: event, out: [("verdict", "s")], RouterInterface.claim)
        method(
            "ClaimNamed", in: [("source", "s"), ("event_id", "s"), ("options", "a{sv}")], out: [("verdict", "s")],
            RouterInterface.claimNamed)
        method(
            "ClaimProvisionally", in: [("id", "t"), ("milliseconds", "u")], out: [("verdict", "s")],
            RouterInterface.claimProvisionally)
        method("Complete", in: event, RouterInterface.complete)
        method("Release", in: event, RouterInterface.release)
        method("Pass", in: event, RouterInterface.pass)
        method("Press", in: event + [("action", "s")], RouterInterface.press)
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
        method(
            "Changes", in: [("after", "t"), ("limit", "u")], out: [("oldest", "t"), ("changes", "a(tssta{sv})")],
            RouterInterface.changes)
        method(
            "AwaitChanges", in: [("after", "t"), ("limit", "u")], out: [("oldest", "t"), ("changes", "a(tssta{sv})")],
            RouterInterface.awaitChanges)
        method("Inbox", in: [("topic", "s"), ("before", "t"), ("limit", "u")], out: list, RouterInterface.inbox)
        method("Render", in: event, out: [("title", "s"), ("body", "s")], RouterInterface.render)
        method("Unread", in: [("topic", "s")], out: [("count", "u")], RouterInterface.unread)
        method(
            "MarkRead", in: [("topic", "s"), ("up_to", "t")], out: [("count", "u")], RouterInterface.markRead)
        method("Forget", in: [("topic", "s"), ("up_to", "t")], out: [("count", "u")], RouterInterface.forget)
        method("Explain", in: event, out: [("decision", "a{sv}")], RouterInterface.explain)
        method("Diagnose", out: [("problems", "a(sss)")], RouterInterface.diagnose)
        method("Mute", in: [("topic", "s"), ("seconds", "u")], RouterInterface.mute)
        method("Pause", in: [("seconds", "u")], RouterInterface.pause)
        method("Snooze", in: event + [("seconds", "u")], RouterInterface.snooze)
    }

    private func method(
        _ name: String, in input: [BusInterface.Argument] = [], out output: [BusInterface.Argument] = [],
        _ prepare: @escaping (RouterInterface) -> (borrowing BusMessage) throws(Refusal) -> PreparedCall
    ) {
        interface.method(
            name, in: input, out: output,
            Self.handler { [unowned self] call throws(Refusal) in try schedule(try prepare(self)(call), call) })
    }

    /// A refusal becomes a D-Bus error here, where sd-bus replies, or in `BusCodec.error`, where the daemon does.
    private static func handler(_ body: @escaping PreparedCall.Body) -> BusInterface.Method {
        { call throws(BusFailure) in
            do throws(Refusal) {
                try body(call)
            } catch {
                throw BusFailure(error)
            }
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
        interface.property(
            "Paused", "b", get: { [unowned daemon] in $0.append(daemon.router.pausesBanners) },
            set: Self.handler { [unowned self] value throws(Refusal) in try setPaused(value) })
        interface.property("Degraded", "s", .announced) { [unowned daemon] in $0.append(daemon.storage.degradation) }
        interface.property("Version", "s", .constant) { $0.append(notifydVersion) }
        interface.property("Device", "s", .announced) { [unowned daemon] in $0.append(daemon.device) }
        interface.property("DefaultWindowMilliseconds", "u", .announced) { [unowned daemon] in
            $0.append(daemon.configuration.defaultWindow.millisecondsRoundedUp, as: "u")
        }
        interface.property("Pending", "u", .unannounced) { [unowned daemon] in
            $0.append(UInt32(clamping: daemon.router.undecidedCount), as: "u")
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
        interface.signal("ScreensChanged", [("topic", "s"), ("attended", "b")])
        interface.signal("ActionInvoked", [("topic", "s"), ("id", "t"), ("action", "s")])
    }
}

/// Reports every connection that leaves the bus.
///
/// One match rule covers all connections. The bus keeps the order: the signal follows the connection's last message.
/// The rule is installed before the daemon can be called, because a caller may leave before its call is read.
final class PeerMonitor {
    /// Called on the loop, with the unique name.
    var onLeave: (String) -> Void = { _ in }
    private var slot: BusSlot?

    init(_ bus: BusConnection) throws(SystemdError) {
        slot = try bus.matchOwnerChanges("arg2=''") { [unowned self] name, _ in
            if name.hasPrefix(":") { onLeave(name) }
        }
    }
}
