import Journal
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
        { [self] message throws(BusFailure) in
            do throws(Refusal) {
                try body(self, message)
            } catch {
                throw BusFailure(error)
            }
        }
    }
}

/// Handles calls that have been scheduled.
extension RouterInterface {
    func handle(_ call: IncomingCall) throws(Refusal) {
        let message = call.message
        let caller = message.message.sender
        try authorize(call, of: caller)
        switch call.request {
        case .route(let made):
            try daemon.answer(made, to: message)
            // The screen claims events later, and its program is known by then.
            if case .screenOpened = made { _ = host.programs.lookUp(caller) }
        case .claimNamed(let origin, let options):
            let identity = daemon.policy.rules.isEmpty ? [] : host.callers.caller(caller).fields
            let id = try daemon.knownEvent(named: origin)
            let claim = daemon.namedClaim(of: origin, options, by: caller, identity: identity)
            try daemon.answer(.claimedNamed(claim, event: id), to: message)
        case .press(let id, let action): try daemon.press(action, of: id, by: caller, for: message)
        case .forget(let topic, let last): try daemon.forget(topic, upTo: last, by: caller, for: message)
        case .read(let reading): try write(ChunkedReply(reading, to: message))
        case .awaitChanges(let after, let limit):
            try answerOrWait(AwaitingCall(call: message, after: after, limit: limit), of: caller)
        case .history(let topic, let after, let limit):
            daemon.endTurn()
            let events = try daemon.storage.read { journal throws(JournalError) in
                try journal.history(topic, after: after, limit: limit)
            }
            let reply = bus.methodReturn(to: message.message)
            reply.appendContainer("a", eventType) { list in
                for event in events { list.append(daemon.storage.current(event)) }
            }
            send(reply, bytes: events.reduce(0) { $0 + $1.memoryCost })
        case .render(let id):
            daemon.endTurn()
            let stored = try daemon.storage.read { journal throws(JournalError) in try journal.event(id) }
            guard let stored else { throw .noEvent(id) }
            let text = BannerText(ofAlone: daemon.event(stored))
            let reply = bus.methodReturn(to: message.message)
            reply.append(text.title)
            reply.append(text.body)
            send(reply, bytes: text.title.utf8.count + text.body.utf8.count)
        case .explain(let id): try explain(id, to: message.message)
        case .diagnose:
            let storage = daemon.storage
            var problems = host.actions.problems
            if !storage.degradation.isEmpty {
                problems.insert(
                    ("journal", "nothing is accepted, because \(storage.degradation)", storage.remedy), at: 0)
            }
            let reply = bus.methodReturn(to: message.message)
            reply.appendContainer("a", "(sss)") { list in
                for problem in problems {
                    list.appendContainer("r", "sss") { entry in
                        entry.append(problem.what)
                        entry.append(problem.state)
                        entry.append(problem.advice)
                    }
                }
            }
            send(reply, bytes: problems.reduce(0) { $0 + $1.state.utf8.count + $1.advice.utf8.count })
        }
    }

    private func explain(_ id: EventID, to call: borrowing BusMessage) throws(Refusal) {
        daemon.endTurn()
        let found = try daemon.storage.read { journal throws(JournalError) in
            (event: try journal.event(id), claims: try journal.claims(on: id))
        }
        guard let stored = found.event else { throw .noEvent(id) }
        let (event, claims) = daemon.storage.current(stored, found.claims)
        let reply = bus.methodReturn(to: call)
        let route = daemon.configuration.routes.route(named: event.route, for: event.topic)
        Explanation(
            event: event, claims: claims, state: daemon.state(of: event), snoozeEnd: daemon.snoozeEnd(of: id),
            waitsForScreens: route.wait == .screens
        ).append(to: reply)
        send(reply, bytes: event.memoryCost + claims.count * 96)
    }

    /// Sends a reply that may be long.
    private func send(_ reply: consuming BusMessage, bytes: Int) {
        repliedBytes += bytes
        daemon.sendAfterCommit(.encoded(RetainedMessage(reply, bytes: bytes)))
    }

    // MARK: Replies in chunks

    /// How long one chunk takes.
    private static let chunkLength: Duration = .milliseconds(1)

    /// Writes the next chunk of a reply, or begins it, once fewer such replies are being made.
    func write(_ chunked: ChunkedReply) throws(Refusal) {
        guard chunked.takePlace(of: places) else {
            continuation = chunked
            return
        }
        let reply = chunked.reply ?? RetainedMessage(bus.methodReturn(to: chunked.call.message))
        if chunked.reply == nil { try chunked.reading.begin(reply.message, in: daemon) }
        chunked.reply = reply
        let end = host.instant + Self.chunkLength
        guard try chunked.reading.write(reply.message, until: end, in: daemon) else {
            continuation = chunked
            return
        }
        repliedBytes += chunked.reading.bytes
        daemon.sendAfterCommit(.encoded(RetainedMessage(reply, bytes: chunked.reading.bytes)))
    }

    // MARK: Waiting for changes

    /// Answers with the changes that there are, or with the next ones.
    func answerOrWait(_ call: AwaitingCall, of caller: String) throws(Refusal) {
        daemon.endTurn()
        let list = try ChangeList.beginning(after: call.after, limit: call.limit, in: daemon.storage)
        if let list { return try write(ChunkedReply(list, to: call.call)) }
        try awaiting.add(call, of: caller, owner: host.owner(of:))
    }

    /// There are new changes on disk: the calls that wait for them are queued as if they came now.
    func changesCommitted() {
        guard !awaiting.isEmpty else { return }
        areAwaitingNext = queue.isEmpty
        for (caller, call) in awaiting.takeAll() { queue.enqueue(.awaiting(call), of: caller, kind: .reading) }
        bus.resume()
    }

    /// Answers the calls that wait for changes in the turn of the loop that commits them, if no other call is queued
    /// before them.
    func answerAwaiting() {
        guard areAwaitingNext else { return }
        areAwaitingNext = false
        if !handleBatch() { bus.pause() }
        daemon.endTurn()
    }
}

/// A reply that is made in chunks.
final class ChunkedReply {
    /// The replies that are being made. Each is in memory until it is sent. A caller has at most one: its rest is first
    /// in the caller's queue.
    final class Places {
        fileprivate static let limit = 2
        fileprivate var taken = 0
    }

    let call: RetainedMessage
    let reading: any Reading
    /// As far as it is written; `nil` before it has begun.
    fileprivate var reply: RetainedMessage?
    private var places: Places?

    init(_ reading: any Reading, to call: RetainedMessage) {
        self.reading = reading
        self.call = call
    }

    /// It is neither complete nor dropped until then.
    deinit { places?.taken -= 1 }

    /// - Returns: whether it has a place; not while too many others are being made.
    fileprivate func takePlace(of places: Places) -> Bool {
        guard self.places == nil else { return true }
        guard places.taken < Places.limit else { return false }
        places.taken += 1
        self.places = places
        return true
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
        case .device: message.append(router.device)
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
        slot = try bus.matchOwnerChanges("arg2=''") { [self] name, _ in
            if name.hasPrefix(":") { onLeave(name) }
        }
    }
}
