import Routing
import Systemd

/// `org.notifyd.Router1` on the bus. Each call is read, scheduled, authorized and passed to the daemon.
final class RouterInterface {
    let daemon: Daemon
    let host: SystemHost
    let bus: BusConnection
    let codec: BusCodec
    private let interface = BusInterface(BusCodec.interface)
    /// Intercepts calls that set properties, while the policy needs their callers.
    var setInterceptor: BusSlot?
    /// Queued calls, and the cleanup after a caller's last call.
    let queue = FairQueue<Work>()
    var throttle = Throttle()
    /// Calls handled as they were read since queued ones were last served.
    var handledImmediately = 0
    /// Bytes of long replies made for the current call.
    var repliedBytes = 0
    /// The rest of the current call, for the caller's next round.
    var continuation: ChunkedReply?
    /// What callers were sent that they may not read.
    var unread = UnreadReplies()
    /// The replies that are being made in chunks.
    let places = ChunkedReply.Places()
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
        queue.programOf = { [programs = host.programs] in programs.owner(of: $0) }
    }

    func export() throws(SystemdError) {
        for entry in Method.table {
            interface.method(
                entry.method.name, in: Self.arguments(entry.input), out: Self.arguments(entry.output),
                handler { interface, message throws(Refusal) in
                    let request = try interface.codec.request(entry.method, message)
                    try interface.schedule(
                        IncomingCall(
                            kind: entry.kind, access: entry.access, request: request,
                            message: RetainedMessage(retaining: message)))
                })
        }
        for property in Property.allCases {
            interface.property(
                property.rawValue, property.type, property.change, get: { [daemon] in daemon.append(property, to: $0) },
                set: property != .paused
                    ? nil
                    : handler { interface, value throws(Refusal) in
                        let isPaused = try interface.codec.read(value) { value in try value.readBoolean() }
                        try interface.authorize(.control, .prefix(.all), value.sender)
                        interface.daemon.handle(.quieted(nil, for: isPaused ? .zero : nil))
                        // sd-bus replies at once, so the change is committed first.
                        interface.daemon.endTurn()
                    })
        }
        for (name, arguments) in Signal.table { interface.signal(name, Self.arguments(arguments)) }
        try interface.export(on: bus, path: BusCodec.path)
        scheduleBuiltInCalls()
    }

    /// - Parameter text: names and types, such as `id:t title:s`.
    private static func arguments(_ text: String) -> [BusInterface.Argument] {
        text.split(separator: " ").map { argument in
            let parts = argument.split(separator: ":")
            return (String(parts[0]), String(parts[1]))
        }
    }

    /// A refusal becomes a D-Bus error here, where sd-bus replies, or in `BusCodec.error`, where the daemon does.
    private func handler(
        _ body: @escaping (RouterInterface, borrowing BusMessage) throws(Refusal) -> Void
    ) -> BusInterface.Method {
        { [unowned self] message throws(BusFailure) in
            do throws(Refusal) {
                try body(self, message)
            } catch {
                throw BusFailure(error)
            }
        }
    }
}

extension Daemon {
    /// Appends the value of a property.
    fileprivate func append(_ property: Property, to message: borrowing BusMessage) {
        switch property {
        case .quiet:
            message.appendContainer("a", "(sxs)") { list in
                for (topic, until, cause) in quiet {
                    list.appendContainer("r", "sxs") { entry in
                        entry.append(topic)
                        entry.append(until, as: "x")
                        entry.append(cause)
                    }
                }
            }
        case .paused: message.append(router.pausesBanners)
        case .degraded: message.append(storage.degradation)
        case .version: message.append(notifydVersion)
        case .device: message.append(device)
        case .defaultWindow: message.append(configuration.defaultWindow.millisecondsRoundedUp, as: "u")
        case .pending: message.append(UInt32(clamping: router.undecidedCount), as: "u")
        case .statistics:
            message.appendContainer("a", "{st}") { entries in
                for (name, value) in statistics {
                    entries.appendContainer("e", "st") { entry in
                        entry.append(name)
                        entry.append(value, as: "t")
                    }
                }
            }
        }
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
