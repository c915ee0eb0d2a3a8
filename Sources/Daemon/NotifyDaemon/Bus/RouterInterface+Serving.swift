import Routing
import Systemd

/// Schedules calls.
///
/// Most calls are handled at once. A call is queued if many calls have come together, if the bus is behind with our
/// replies, if its caller does not read them, or if the policy needs a caller that is not identified yet. The calls
/// that sd-bus handles itself, such as introspection, are queued too.
extension RouterInterface: BusPumpDelegate {
    /// What is queued for a caller.
    enum Work {
        case call(IncomingCall)
        /// A call that sd-bus handles itself.
        case builtIn(RetainedMessage)
        /// The rest of a reply.
        case rest(ChunkedReply)
        /// A call that has waited for changes.
        case awaiting(AwaitingCall)
        /// The caller has left the bus.
        case leave(String)
    }

    /// Calls handled as they are read, before queued ones are served.
    static let immediateLimit = 16
    /// Queued calls handled before the next read.
    private static let batchSize = 32
    /// How long queued calls are handled before other sources of the loop are served.
    private static let timeSlice: Duration = .milliseconds(2)
    /// Calls handled before windows end, and for how long: banners are late by a few milliseconds at most.
    private static let beforeWindowsEnd = 512
    private static let timeBeforeWindowsEnd: Duration = .milliseconds(10)
    /// How long a due timer waits for messages that are still to be read.
    private static let grace: Duration = .milliseconds(2)

    /// Unsent bytes above which calls stay queued: the connection has one queue for all replies, so fairness has to be
    /// ensured before it.
    private static let queueLimit = 128 << 10
    /// The same while queued signals are sent, so that they do not block all calls.
    private static let queueLimitWhileCatchingUp = 2 * SignalQueue.queueLimit
    /// About how long the replies are that sd-bus makes itself.
    private static let builtInReplySize = 8 << 10
    /// A reply of so many bytes is sent at once.
    private static let flushThreshold = 64 << 10
    /// Unsent bytes above which nothing is read: sd-bus replies to some calls as it reads them.
    private static let readingLimit = 4 << 20

    func enqueue(_ work: Work, of caller: String, bytes: Int = 0, kind: Method.Kind) throws(Refusal) {
        guard queue.hasRoom(for: caller, kind: kind) else {
            throw .limitExceeded(
                "calls that wait to be handled: \(FairQueue<Void>.lengthLimit) of one program, "
                    + "\(FairQueue<Void>.readingsLimit) that read, or \(FairQueue<Void>.bytesLimit >> 20) MiB, wait "
                    + "already; wait for their answers")
        }
        queue.enqueue(work, of: caller, bytes: bytes, kind: kind)
    }

    /// Does what was queued, outside of its sd-bus handler, so that an error has to be sent here.
    private func run(_ work: Work) {
        switch work {
        case .call(let call): attempt(call.message) { () throws(Refusal) in try handle(call) }
        case .rest(let reply): attempt(reply.call) { () throws(Refusal) in try write(reply) }
        case .awaiting(let waiting):
            attempt(waiting.call) { () throws(Refusal) in try answerOrWait(waiting, of: waiting.call.message.sender) }
        case .builtIn(let call):
            repliedBytes += Self.builtInReplySize
            bus.redeliver(call.message)
            noteReply(of: Self.builtInReplySize, to: call.message.sender)
        case .leave(let name):
            host.callers.disconnected(name)
            daemon.handle(.peer(name, .left))
            host.programs.disconnected(name)
        }
    }

    func attempt(_ call: RetainedMessage, _ body: () throws(Refusal) -> Void) {
        do throws(Refusal) {
            try body()
        } catch {
            daemon.sendAfterCommit(.error(error, to: call))
        }
    }

    /// Schedules the calls that sd-bus handles itself too: introspection, properties, unknown methods.
    func scheduleBuiltInCalls() {
        builtInCalls = bus.filter { [self] message in
            guard message.isCall(), !message.isCall(on: Self.name), !bus.isRedelivered(message) else {
                return false
            }
            let isSetting = message.isCall(of: "Set", on: "org.freedesktop.DBus.Properties")
            // The interceptor schedules it.
            if isSetting, setInterceptor != nil { return false }
            let caller = message.sender
            if handledImmediately < Self.immediateLimit, canReply, !queue.mustQueue(caller), !unread.mustWait(caller) {
                handledImmediately += 1
                noteReply(of: Self.builtInReplySize, to: caller)
                return false
            }
            let call = RetainedMessage(retaining: message)
            attempt(call) { () throws(Refusal) in
                try enqueue(.builtIn(call), of: caller, kind: isSetting ? .other : .reading)
            }
            return true
        }
    }

    // MARK: What calls cost

    func beginCall() -> Int64 {
        repliedBytes = 0
        return Clock.monotonic()
    }

    /// The cost of a call is the time it took, plus about the time that the bus needs for its reply.
    func endCall(of caller: String, begun: Int64) {
        let cost = Int(Clock.monotonic() - begun) + repliedBytes >> 8
        queue.charge(caller, cost)
        // Timers and other callers come before the next call that is handled immediately.
        if cost > FairQueue<Void>.quantum { handledImmediately = Self.immediateLimit }
        guard let continuation else { return }
        self.continuation = nil
        queue.requeue(.rest(continuation), of: caller)
    }

    // MARK: Who reads

    /// A long reply has left. What asks whether it is read must leave after it.
    func noteReply(of bytes: Int, to caller: String) {
        if unread.sent(bytes, to: caller) { ping(caller) }
    }

    /// Pings a caller, to learn whether it has read its replies. Any answer will do, also an error, and also that it
    /// has left.
    private func ping(_ caller: String) {
        let question = bus.methodCall(to: caller, path: "/", interface: "org.freedesktop.DBus.Peer", member: "Ping")
        bus.call(question, timeout: nil) { [self] _ in answeredPing(caller) }
    }

    private func answeredPing(_ caller: String) {
        if unread.answeredPing(caller) { ping(caller) }
        guard !unread.mustWait(caller) else { return }
        queue.unblock(caller)
        bus.resume()
    }

    /// Whether the bus keeps up with our replies.
    var canReply: Bool {
        bus.queuedBytes < (daemon.isCatchingUp ? Self.queueLimitWhileCatchingUp : Self.queueLimit)
    }

    /// A connection has left the bus. Its queued calls are handled first.
    func callerLeft(_ name: String) {
        awaiting.remove(of: name)
        unread.remove(name)
        queue.unblock(name)
        if queue.hasCalls(of: name) { queue.enqueueLast(.leave(name), of: name) } else { run(.leave(name)) }
    }

    // MARK: The reader

    var canRead: Bool { !queue.isFull && bus.queuedBytes < Self.readingLimit }

    func handleBatch() -> Bool {
        handledImmediately = 0
        // The bus may have room again.
        if daemon.hasQueuedSignals { host.endTurnWhenIdle() }
        let end = host.instant + Self.timeSlice
        for _ in 0..<Self.batchSize {
            guard canReply, handleNext() else { break }
            // A long reply is sent before another one is made.
            if repliedBytes >= Self.flushThreshold { daemon.finishTurn() }
            guard host.instant < end else { break }
        }
        serveOverdueWork()
        // While the bus is behind, the socket reports when it is writable.
        return queue.isReady && canReply
    }

    /// Messages have priority over timers and over the end of a turn. Under constant load both are served here.
    private func serveOverdueWork() {
        daemon.endTurnIfTooLong()
        if host.isTimerOverdue(by: Self.grace) {
            endWindows()
            // Decisions are sent now, not after the next call.
            daemon.finishTurn()
        }
    }

    /// Handles the claims that have been read, then ends windows and lifetimes that are due.
    func endWindows() {
        handleClaims()
        host.forgetDueTimers()
        daemon.handle(.timerFired)
        daemon.server.checkSilence()
    }

    /// A claim that was read before its window ends is in time, even if the bus is behind with replies. Only claims
    /// can be late, so only claims and the changes before them are handled.
    private func handleClaims() {
        let end = host.instant + Self.timeBeforeWindowsEnd
        for _ in 0..<Self.beforeWindowsEnd {
            guard host.instant < end, let (caller, call) = queue.dequeueForClaim() else { break }
            let begin = beginCall()
            run(call)
            endCall(of: caller, begun: begin)
        }
    }

    /// - Returns: whether there was a call to handle.
    private func handleNext() -> Bool {
        guard let caller = queue.nextCaller() else { return false }
        lazy var now = host.instant
        if !host.callers.isIdentified(caller) {
            queue.blockNext()
            host.callers.whenIdentified(caller) { [queue] in queue.unblock(caller) }
        } else if unread.mustWait(caller) || mustAwaitProgram(caller) {
            queue.blockNext()
        } else if queue.hasPublishBacklog(caller), !throttle.allows(caller, at: now) {
            queue.throttleNext()
            host.armThrottleTimer(at: now + Throttle.interval)
        } else {
            let begin = beginCall()
            run(queue.dequeue())
            endCall(of: caller, begun: begin)
        }
        return true
    }

    /// Whether a call has to wait for the bus to say whose it is: where the tables fill, limits count before a call is
    /// handled. Else a program could have its calls handled over ever new connections, faster than they are told apart.
    func mustAwaitProgram(_ caller: String) -> Bool {
        daemon.isCrowded && host.programs.lookUp(caller) == .requested
    }

    /// The bus has said whose a connection is.
    func programIdentified(_ caller: String) {
        queue.regroup(caller)
        queue.unblock(caller)
        bus.resume()
    }

    /// Called by the throttle timer.
    func refillThrottle() {
        throttle.refill()
        queue.unthrottle()
        bus.resume()
    }
}

/// Properties that need an identified caller, and another policy.
extension RouterInterface {
    /// sd-bus needs the result of setting a property at once. Where the caller has to be identified first, the call is
    /// intercepted before sd-bus handles it.
    private func interceptProperties() {
        setInterceptor = nil
        guard host.callers.requiredIdentity > .none else { return }
        setInterceptor = bus.intercept(path: Self.path) { [self] call in
            guard call.isCall(of: "Set", on: "org.freedesktop.DBus.Properties"),
                (try? call.readString()) == Self.name, (try? call.readString()) == "Paused"
            else { return false }
            let held = RetainedMessage(retaining: call)
            attempt(held) { () throws(Refusal) in
                let isPaused = try read(call) { call in
                    guard try call.enter("v", "b") else { throw Refusal.invalidArguments("'Paused' is true or false") }
                    return try call.readBoolean()
                }
                let request = Request.route(.quieted(nil, for: isPaused ? .zero : nil))
                try schedule(IncomingCall(kind: .other, access: .control, request: request, message: held))
            }
            return true
        }
    }

    // MARK: Another policy

    /// Applies a new policy, and closes the screens that it forbids. Other claims end by themselves.
    func applyPolicy() {
        host.callers.require(daemon.policy.requiredIdentity)
        interceptProperties()
        guard !daemon.policy.rules.isEmpty else { return }
        for owner in Set(daemon.router.openScreens.map(\.owner)).sorted() {
            host.callers.whenIdentified(owner) { [self] in closeForbiddenScreens(of: owner) }
        }
    }

    private func closeForbiddenScreens(of owner: String) {
        for screen in daemon.router.screens(of: owner) {
            let request = AccessRequest(permission: .claim, scope: .prefix(screen.topic))
            if daemon.denyingRule(for: request, to: host.callers.caller(owner), owner) != nil {
                daemon.handle(.screenChanged(screen.id, nil, by: owner))
            }
        }
    }
}

/// Long replies, and those that wait for changes.
extension RouterInterface {
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
