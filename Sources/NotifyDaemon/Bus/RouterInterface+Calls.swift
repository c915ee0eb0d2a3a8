import Routing
import Systemd

/// From a call that has been read to one that is handled.
///
/// Most are handled on the spot. When many are there at once, or the bus has much of ours before it, or it is not known yet
/// who calls and the policy wants to know, they wait in lines, in which they keep their order. What sd-bus answers by itself,
/// such as introspection, waits there too.
extension RouterInterface: BusReader {
    /// What a call wants; its arguments have been read.
    struct Order {
        /// About what the call says.
        var bytes = 0
        var kind = FairQueue<() -> Void>.Kind.other
        let body: BusInterface.Method
    }

    /// How many calls are handled as they are read, before the lines are seen to.
    private static let onTheSpot = 16
    /// How many of those that wait are handled before it is seen what else there is to read.
    private static let atOnce = 32
    /// For how long they are handled before it is seen what else there is to do.
    private static let slice: Duration = .milliseconds(2)
    /// How many calls are handled before windows end, and for how long: then banners are late by some milliseconds at most.
    private static let beforeWindowsEnd = 512
    private static let timeBeforeWindowsEnd: Duration = .milliseconds(10)
    /// How long a window may be over before messages that are still to be read are not waited for any more.
    private static let grace: Duration = .milliseconds(2)

    /// While the bus has not taken so many bytes, calls wait: all answers stand in one line there, and whose turn it is can
    /// only be told here.
    private static let queueLimit = 128 << 10
    /// The same while the bus is given as many signals as it takes, which shall not keep all calls from being handled.
    private static let queueLimitWhileCatchingUp = 2 * FanOut.queueLimit
    /// About how long the answers are that sd-bus gives by itself.
    private static let otherAnswer = 8 << 10
    /// An answer of so many bytes leaves at once.
    private static let longAnswer = 64 << 10
    /// While the bus has not taken so many bytes, nothing is read: sd-bus answers some calls as they are read.
    private static let readingLimit = 4 << 20

    /// Handles a call now, or when it has its turn.
    func admit(_ order: Order, _ call: borrowing BusMessage) throws(BusFailure) {
        let caller = call.sender
        if !queue.isCrowd(caller) { floodGate.noteCall(by: caller, at: daemon.host.now.instant) }
        if handledOnTheSpot < Self.onTheSpot, canAnswer, !queue.mustWait(caller), daemon.callers.isSettled(caller) {
            handledOnTheSpot += 1
            let begin = beginCall()
            defer { endCall(of: caller, begun: begin) }
            return try order.body(call)
        }
        try put(order, call, of: caller)
    }

    private func put(_ order: Order, _ call: borrowing BusMessage, of caller: String) throws(BusFailure) {
        guard queue.hasRoom(for: caller) else {
            throw BusFailure(
                .limitExceeded(
                    "calls that wait to be handled: \(FairQueue<Void>.lengthLimit) of one connection, or "
                        + "\(FairQueue<Void>.bytesLimit >> 20) MiB, wait already; wait for their answers"))
        }
        let held = HeldMessage(retaining: call)
        queue.put(
            { [unowned self] in attempt(held.message, order.body) }, of: caller, bytes: order.bytes, kind: order.kind)
    }

    /// Does something for a call outside of its handler, from which sd-bus would take an error by itself.
    func attempt(_ call: borrowing BusMessage, _ body: BusInterface.Method) {
        do throws(BusFailure) {
            try body(call)
        } catch {
            daemon.leave(bus.methodError(to: call, error), to: call)
        }
    }

    /// Lets an answer leave that may be long.
    func leave(_ reply: consuming BusMessage, bytes: Int, to call: borrowing BusMessage) {
        answeredBytes += bytes
        daemon.leave(reply, bytes: bytes, to: call)
    }

    /// Has the calls that sd-bus answers by itself have their turns too: introspection, properties, and what is unknown.
    func queueOtherCalls() {
        otherCalls = bus.filter { [unowned self] call in
            guard call.isCall(), !call.isCall(on: Self.name), !bus.isRedelivered(call) else { return false }
            let isSetting = call.isCall(of: "Set", on: "org.freedesktop.DBus.Properties")
            // It comes to its turn by itself.
            if isSetting, interception != nil { return false }
            let caller = call.sender
            if handledOnTheSpot < Self.onTheSpot, canAnswer, !queue.mustWait(caller) {
                handledOnTheSpot += 1
                return false
            }
            let order = Order(kind: isSetting ? .other : .reading) { [unowned self] call in
                answeredBytes += Self.otherAnswer
                bus.redeliver(call)
            }
            attempt(call) { call throws(BusFailure) in try put(order, call, of: caller) }
            return true
        }
    }

    // MARK: What calls cost

    private func beginCall() -> Int64 {
        answeredBytes = 0
        return Clock.monotonic()
    }

    /// What a call costs is the time it took here, and about the time that the bus needs for its answer.
    private func endCall(of caller: String, begun: Int64) {
        queue.charge(caller, Int(Clock.monotonic() - begun) + answeredBytes >> 8)
        guard let rest else { return }
        self.rest = nil
        queue.putBack(rest, of: caller)
    }

    /// Whether the bus takes answers as fast as they are given.
    private var canAnswer: Bool {
        bus.queuedBytes < (daemon.isCatchingUp ? Self.queueLimitWhileCatchingUp : Self.queueLimit)
    }

    /// A connection has left the bus. What it wanted before that is handled before that.
    func callerLeft(_ name: String) {
        let leave = { [unowned daemon] in
            daemon.callers.left(name)
            daemon.take(.peerLeft(name))
            daemon.programs.left(name)
        }
        if queue.isWaiting(name) { queue.putLast(leave, of: name) } else { leave() }
    }

    // MARK: The reader

    var canRead: Bool { !queue.isFull && bus.queuedBytes < Self.readingLimit }

    func handleSome() -> Bool {
        handledOnTheSpot = 0
        // There may be room for them again.
        if daemon.hasWaitingSignals { daemon.host.endTurnWhenIdle() }
        let end = daemon.host.now.instant + Self.slice
        for _ in 0..<Self.atOnce {
            guard canAnswer, handleNext() else { break }
            // A long answer leaves before another one is made.
            if answeredBytes >= Self.longAnswer { daemon.turnIsOver() }
            guard daemon.host.now.instant < end else { break }
        }
        takeBreath()
        // Where the bus is behind, it says itself when it takes more.
        return queue.isReady && canAnswer
    }

    /// Messages come before timers, and before the end of a turn. Where there are always more of them, both come here.
    private func takeBreath() {
        daemon.endTurnIfTooLong()
        if daemon.host.isTimerOverdue(by: Self.grace) {
            endWindows()
            // What was decided leaves now, and not behind the next call.
            daemon.turnIsOver()
        }
    }

    /// Ends the windows that are over, after the claims that have been read, and the lifetimes.
    func endWindows() {
        handleClaims()
        daemon.host.forgetDueTimers()
        daemon.take(.timerFired)
    }

    /// A claim that has been read is in time, even where the bus is behind with answers. Only claims can be late, so only
    /// they are looked for, and what stands before them and may have to do with them.
    private func handleClaims() {
        let end = daemon.host.now.instant + Self.timeBeforeWindowsEnd
        for _ in 0..<Self.beforeWindowsEnd {
            guard daemon.host.now.instant < end, let (caller, call) = queue.takeForClaim() else { break }
            let begin = beginCall()
            call()
            endCall(of: caller, begun: begin)
        }
    }

    /// - Returns: whether there was something to be handled.
    private func handleNext() -> Bool {
        guard let caller = queue.next() else { return false }
        lazy var now = daemon.host.now.instant
        if !daemon.callers.isSettled(caller) {
            queue.holdNext()
            daemon.callers.whenSettled(caller) { [unowned self] in queue.release(caller) }
        } else if queue.isCrowd(caller), !floodGate.admits(caller, at: now) {
            queue.restNext()
            daemon.host.armFloodTimer(at: now + FloodGate.rest)
        } else {
            let begin = beginCall()
            queue.takeNext()()
            endCall(of: caller, begun: begin)
        }
        return true
    }

    /// The rest of those who flood the daemon is over.
    func goOnWithFlood() {
        floodGate.hasRested()
        queue.resume()
        bus.goOn()
    }
}
