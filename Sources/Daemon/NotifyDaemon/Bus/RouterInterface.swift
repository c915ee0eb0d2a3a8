import Journal
package import Routing
package import Systemd

/// `org.notifyd.Router1` on the bus. Each call is read, scheduled, authorized and passed to the daemon.
final class RouterInterface {
    static let name = "org.notifyd.Router1"
    static let path = "/org/notifyd/Router1"

    let daemon: Daemon
    let host: SystemHost
    let bus: BusConnection
    private let interface = BusInterface(name)
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

    init(daemon: Daemon, host: SystemHost) {
        (self.daemon, self.host, bus) = (daemon, host, host.bus)
        queue.programOf = { [programs = host.programs] in programs.owner(of: $0) }
    }

    func export() throws(SystemdError) {
        for entry in Method.table {
            interface.method(
                entry.method.name, in: Self.arguments(entry.input), out: Self.arguments(entry.output),
                handler { interface, message throws(Refusal) in
                    let request = try interface.request(entry.method, message)
                    try interface.schedule(
                        IncomingCall(
                            kind: entry.kind, access: entry.access, request: request,
                            message: RetainedMessage(retaining: message)))
                })
        }
        for (property, type, change) in Property.table {
            interface.property(
                property.rawValue, type, change, get: { [daemon] in daemon.append(property, to: $0) },
                set: property != .paused
                    ? nil
                    : handler { interface, value throws(Refusal) in
                        let isPaused = try interface.read(value) { value in try value.readBoolean() }
                        try interface.authorize(.control, .prefix(.all), value.sender)
                        interface.daemon.handle(.quieted(nil, for: isPaused ? .zero : nil))
                        // sd-bus replies at once, so the change is committed first.
                        interface.daemon.endTurn()
                    })
        }
        for (name, arguments) in Signal.table { interface.signal(name, Self.arguments(arguments)) }
        try interface.export(on: bus, path: Self.path)
        scheduleBuiltInCalls()
    }

    /// - Parameter text: names and types, such as `id:t title:s`.
    private static func arguments(_ text: String) -> [BusInterface.Argument] {
        text.split(separator: " ").map { argument in
            let parts = argument.split(separator: ":")
            return (String(parts[0]), String(parts[1]))
        }
    }

    /// A refusal becomes a D-Bus error here, where sd-bus replies, or in `SystemHost.send`, where the daemon does.
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

/// A call whose arguments have been read.
indirect enum Request {
    /// For the router.
    case route(Call)
    case claimNamed(Origin, NamedClaimOptions)
    case press(EventID, action: String)
    case forget(TopicPrefix, upTo: EventID)
    /// For a reply that may be long.
    case read(any Reading)
    case history(TopicPrefix, after: EventID, limit: Int)
    case awaitChanges(after: UInt64, limit: Int)
    case render(EventID)
    case explain(EventID)
    case diagnose

    /// About how long the call is.
    var bytes: Int { if case .route(.published(let publication)) = self { publication.memoryCost } else { 0 } }
}

/// A call that is handled now, or queued.
struct IncomingCall {
    let kind: Method.Kind
    let access: Access
    let request: Request
    let message: RetainedMessage
}

/// Reads, schedules, authorizes and handles calls.
extension RouterInterface {
    /// Reads the arguments of a call.
    func request(_ method: Method, _ call: borrowing BusMessage) throws(Refusal) -> Request {
        try read(call) { call in
            switch method {
            case .send: .route(.published(try Publication(reading: call, by: .send, limits: daemon.limits)))
            case .publish: .route(.published(try Publication(reading: call, by: .publish, limits: daemon.limits)))
            case .withdraw: .route(.withdrawn(try call.readEvent(), by: call.sender))
            case .claim: .route(.claimed(try call.readEvent(), by: call.sender))
            case .claimNamed:
                .claimNamed(
                    try Origin(named: try call.readText("source"), try call.readText("event_id")),
                    try NamedClaimOptions(try options(call)))
            case .claimProvisionally:
                .route(
                    .claimedProvisionally(try call.readEvent(), within: try call.readMilliseconds(), by: call.sender))
            case .complete: .route(.answered(try call.readEvent(), .completed, by: call.sender))
            case .release: .route(.answered(try call.readEvent(), .released, by: call.sender))
            case .pass: .route(.answered(try call.readEvent(), .passed, by: call.sender))
            case .press: .press(try call.readEvent(), action: try call.readText("action"))
            case .claimTopic:
                .route(.topicClaimed(try call.readPrefix(), .grace(try call.readMilliseconds()), by: call.sender))
            case .markRead:
                .route(.topicClaimed(try call.readPrefix(), .read(upTo: try call.readEvent()), by: call.sender))
            case .openScreen:
                .route(.screenOpened(try call.readPrefix(), try ScreenOptions(try options(call)), by: call.sender))
            case .updateScreen:
                .route(.screenChanged(try call.readScreen(), try ScreenOptions(try options(call)), by: call.sender))
            case .closeScreen: .route(.screenChanged(try call.readScreen(), nil, by: call.sender))
            case .listScreens: .read(ScreenList())
            case .snapshot: .read(Snapshot(of: try call.readPrefix()))
            case .history: .history(try call.readPrefix(), after: try call.readEvent(), limit: try call.readLimit())
            case .changes: .read(ChangeList(after: try call.readNumber("t"), limit: try call.readLimit()))
            case .awaitChanges: .awaitChanges(after: try call.readNumber("t"), limit: try call.readLimit())
            case .inbox:
                .read(Inbox(of: try call.readPrefix(), before: try call.readEvent(), limit: try call.readLimit()))
            case .render: .render(try call.readEvent())
            case .unread: .read(UnreadCount(of: try call.readPrefix()))
            case .explain: .explain(try call.readEvent())
            case .diagnose: .diagnose
            case .mute: .route(.quieted(try call.readPrefix(), for: try call.readSeconds()))
            case .pause: .route(.quieted(nil, for: try call.readSeconds()))
            case .snooze: .route(.snoozed(try call.readEvent(), for: try call.readSeconds(), by: call.sender))
            case .forget: .forget(try call.readPrefix(), upTo: try call.readEvent())
            }
        }
    }

    private func options(_ call: borrowing BusMessage) throws -> [Field] {
        var reader = DictionaryReader("option", limits: daemon.limits)
        return try reader.read(call)
    }

    /// - Throws: a refusal for every error of the body.
    func read<Result>(
        _ message: borrowing BusMessage, _ body: (borrowing BusMessage) throws -> Result
    ) throws(Refusal) -> Result {
        do {
            return try body(message)
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as TopicError {
            throw .invalidTopic(error.description)
        } catch let error as SystemdError where error.isNoncharacter {
            throw .invalidArguments(Refusal.noncharacter(in: "a text"))
        } catch let error as SystemdError where error.isTooLong {
            throw .tooLarge(
                "a text has more than \(BusMessage.longestText) bytes; "
                    + "a message may have \(daemon.limits.messageBytes) in all")
        } catch {
            throw .invalidArguments("the message cannot be read: \(error)")
        }
    }

    /// Handles a call now or queues it.
    func schedule(_ call: IncomingCall) throws(Refusal) {
        let caller = call.message.message.sender
        // What a connection has counts for its program, and its screens claim in that name, so the bus is asked for it
        // at the first call.
        _ = host.programs.lookUp(caller)
        if !queue.hasPublishBacklog(caller) { throttle.recordCall(by: caller, at: host.instant) }
        if handledImmediately < Self.immediateLimit, canReply, !queue.mustQueue(caller), !unread.mustWait(caller),
            host.callers.isIdentified(caller), !mustAwaitProgram(caller)
        {
            handledImmediately += 1
            let begin = beginCall()
            defer { endCall(of: caller, begun: begin) }
            return try handle(call)
        }
        try enqueue(.call(call), of: caller, bytes: call.request.bytes, kind: call.kind)
    }

    func handle(_ call: IncomingCall) throws(Refusal) {
        let message = call.message
        let caller = message.message.sender
        try authorize(call, of: caller)
        switch call.request {
        case .route(let made):
            try daemon.answer(made, to: message)
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
            // Only what is committed can be read.
            daemon.endTurn()
            let events = try daemon.storage.read { try $0.history(topic, after: after, limit: limit) }
            let reply = bus.methodReturn(to: message.message)
            reply.appendContainer("a", eventType) { list in
                for event in events { list.append(daemon.storage.current(event)) }
            }
            send(reply, bytes: events.reduce(0) { $0 + $1.memoryCost })
        case .render(let id):
            daemon.endTurn()
            let stored = try daemon.storage.read { try $0.event(id) }
            guard let stored else { throw .noEvent(id) }
            let text = BannerText(ofAlone: daemon.event(stored))
            let reply = bus.methodReturn(to: message.message)
            reply.append(text.title)
            reply.append(text.body)
            send(reply, bytes: text.title.utf8.count + text.body.utf8.count)
        case .explain(let id): try explain(id, to: message.message)
        case .diagnose:
            var problems = host.actions.problems
            if let problem = daemon.storage.problem {
                problems.insert(("journal", problem.state, problem.advice), at: 0)
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
        let stored = try daemon.storage.read { try $0.state(of: id) }
        guard let stored else { throw .noEvent(id) }
        let state = daemon.storage.current(stored)
        let event = state.event
        let reply = bus.methodReturn(to: call)
        let route = daemon.configuration.routes.route(named: event.route, for: event.topic)
        Explanation(
            event: event, claims: state.claims, state: daemon.state(of: event), snoozeEnd: daemon.snoozeEnd(of: id),
            waitsForScreens: route.wait == .screens
        ).append(to: reply)
        send(reply, bytes: event.memoryCost + state.claims.count * 96)
    }

    /// Sends a reply that may be long.
    private func send(_ reply: consuming BusMessage, bytes: Int) {
        repliedBytes += bytes
        daemon.sendAfterCommit(.encoded(RetainedMessage(reply, bytes: bytes)))
    }
}

/// Checks calls against the policy.
extension RouterInterface {
    /// - Throws: `.accessDenied`, which names the rule.
    func authorize(_ permission: Permission, _ scope: AccessRequest.Scope, _ name: String) throws(Refusal) {
        guard !daemon.policy.rules.isEmpty else { return }
        let request = AccessRequest(permission: permission, scope: scope)
        let caller = host.callers.caller(name)
        guard let rule = daemon.denyingRule(for: request, to: caller, name) else { return }
        throw rule.refusal(of: request, to: host.callers.requiredIdentity > .none ? caller : nil)
    }

    func authorize(_ call: IncomingCall, of caller: String) throws(Refusal) {
        guard !daemon.policy.rules.isEmpty, call.access != .everybody,
            let scope = try scope(of: call.request, by: caller, call.access)
        else { return }
        for permission in call.access.permissions { try authorize(permission, scope, caller) }
    }

    /// What a call is about; `nil` where it needs no permission. An event that is neither in memory nor in the journal
    /// cannot be changed.
    private func scope(
        of request: Request, by caller: String, _ access: Access
    ) throws(Refusal) -> AccessRequest.Scope? {
        switch request {
        case .route(.published(let publication)): .topic(publication.topic)
        case .route(.claimed(let id, _, _)), .route(.withdrawn(let id, _)), .route(.claimedProvisionally(let id, _, _)),
            .route(.answered(let id, _, _)), .press(let id, _), .route(.snoozed(let id, _, _)):
            try topic(of: id, by: caller, access)
        case .claimNamed(let origin, _):
            if let id = try daemon.knownEvent(named: origin) { try topic(of: id, by: caller, access) } else { nil }
        case .route(.topicClaimed(let topic, _, _)), .route(.screenOpened(let topic, _, _)), .forget(let topic, _):
            .prefix(topic)
        case .route(.quieted(let topic, _)): .prefix(topic ?? .all)
        case .route(.screenChanged(let id, _, _)): daemon.router.screen(id).map { .prefix($0.topic) }
        case .route(.claimedNamed), .route(.claimedCold), .route(.digestsCounted), .read,
            .history, .awaitChanges, .render, .explain, .diagnose:
            nil
        }
    }

    private func topic(of id: EventID, by caller: String, _ access: Access) throws(Refusal) -> AccessRequest.Scope? {
        if access == .holder, daemon.remembers(id) { return nil }
        guard let event = try daemon.origin(of: id) else { return nil }
        // An earlier run may have been on another bus, which gave the same unique names to other programs.
        if access == .publisher, id >= daemon.router.firstID, event.publisher == caller { return nil }
        return .topic(event.topic)
    }
}

/// Arguments of calls.
extension BusMessage {
    fileprivate func readPrefix() throws -> TopicPrefix { try TopicPrefix(try readText("topic")) }
    fileprivate func readEvent() throws -> EventID { EventID(try readNumber("t")) }
    fileprivate func readScreen() throws -> ScreenID { ScreenID(try readNumber("t")) }
    fileprivate func readLimit() throws -> Int { Int(try readNumber("u", as: UInt32.self)) }
    fileprivate func readMilliseconds() throws -> Duration { .milliseconds(Int64(try readLimit())) }
    fileprivate func readSeconds() throws -> Duration { .seconds(Int64(try readLimit())) }
}

extension Publication {
    /// Reads the arguments of `Send` and `Publish`.
    ///
    /// - Throws: `Refusal`, `TopicError`, or `SystemdError` where the message has other arguments.
    package init(reading call: borrowing BusMessage, by method: Method, limits: Limits) throws {
        let topic = try call.readText("topic")
        let title = try call.readText("title")
        let body = try call.readText("body")
        self.init(
            topic: try Topic(topic), title: title, body: body, sender: call.sender, method: method,
            received: Clock.realtime(), size: topic.utf8.count + title.utf8.count + body.utf8.count)
        guard method == .publish else { return }
        var fields = DictionaryReader("field", limits: limits)
        self.fields = try fields.read(call)
        var options = DictionaryReader("option", limits: limits)
        self.options = try PublishOptions(try options.read(call))
        size += fields.size + options.size
    }
}

extension BusFailure {
    /// The only list of the interface's error names.
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
        case .commandNotStarted(let text): self.init(name: "org.freedesktop.DBus.Error.Failed", text: text)
        }
    }

    private init(own name: String, _ text: String) {
        self.init(name: "\(RouterInterface.name).Error.\(name)", text: text)
    }
}
