import Routing
import Systemd

/// A call whose arguments have been read.
struct IncomingCall {
    let kind: Method.Kind
    let access: Access
    let request: Request
    let message: RetainedMessage
}

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
    private static let immediateLimit = 16
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

    /// Handles a call now or queues it.
    func schedule(_ call: IncomingCall) throws(Refusal) {
        let caller = call.message.message.sender
        let program = queue.program(of: caller)
        if !queue.hasPublishBacklog(caller) { throttle.recordCall(by: program, at: host.instant) }
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

    private func enqueue(_ work: Work, of caller: String, bytes: Int = 0, kind: Method.Kind) throws(Refusal) {
        guard queue.hasRoom(for: caller, kind: kind) else {
            throw .limitExceeded(
                "calls that wait to be handled: \(FairQueue<Void>.lengthLimit) of one program, "
                    + "\(FairQueue<Void>.readingsLimit) that read, or \(FairQueue<Void>.bytesLimit >> 20) MiB, wait already; "
                    + "wait for their answers")
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
        builtInCalls = bus.filter { [unowned self] message in
            guard message.isCall(), !message.isCall(on: BusCodec.interface), !bus.isRedelivered(message) else {
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

    private func beginCall() -> Int64 {
        repliedBytes = 0
        return Clock.monotonic()
    }

    /// The cost of a call is the time it took, plus about the time that the bus needs for its reply.
    private func endCall(of caller: String, begun: Int64) {
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
        if unread.sent(bytes, to: caller) { ask(caller) }
    }

    /// Asks a caller whether it has read its replies. Any answer will do, also an error, and also that it has left.
    private func ask(_ caller: String) {
        let question = bus.methodCall(to: caller, path: "/", interface: "org.freedesktop.DBus.Peer", member: "Ping")
        bus.call(question, timeout: nil) { [self] _ in answered(caller) }
    }

    private func answered(_ caller: String) {
        if unread.answered(caller) { ask(caller) }
        guard !unread.mustWait(caller) else { return }
        queue.unblock(caller)
        bus.resume()
    }

    /// Whether the bus keeps up with our replies.
    private var canReply: Bool {
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
        } else if queue.hasPublishBacklog(caller), !throttle.allows(queue.program(of: caller), at: now) {
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
    private func mustAwaitProgram(_ caller: String) -> Bool { daemon.isCrowded && host.programs.isLookedUp(caller) }

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
