import Routing
import Systemd

/// From a call that has been read to one that is handled.
///
/// Most are handled on the spot. When many are there at once, or the bus has much of ours before it, or it is not known yet
/// who calls and the policy wants to know, they wait in lines, in which they keep their order. What sd-bus answers by itself,
/// such as reading a property, does not wait.
extension RouterInterface: BusReader {
    /// What a call wants; its arguments have been read.
    struct Order {
        /// About what the call says.
        var bytes = 0
        /// Whether it publishes something.
        var isPush = false
        let body: BusInterface.Method
    }

    /// How many calls are handled as they are read, before the lines are seen to.
    private static let onTheSpot = 16
    /// How many of those that wait are handled before it is seen what else there is to read.
    private static let atOnce = 32
    /// How many of them are handled before windows end: not so many that banners are late by more than some milliseconds.
    private static let beforeWindowsEnd = 512

    /// While the bus has not taken so many bytes, calls wait: all answers stand in one line there, and whose turn it is can
    /// only be told here.
    private static let queueLimit = 128 << 10
    /// The same while the bus is given as many signals as it takes, which shall not keep all calls from being handled.
    private static let queueLimitWhileCatchingUp = 2 * FanOut.queueLimit

    /// Handles a call now, or when it has its turn.
    func admit(_ order: Order, _ call: borrowing BusMessage) throws(BusFailure) {
        let caller = call.sender
        if !lines.isCrowd(caller) { floodGate.noteCall(by: caller, at: daemon.host.now.instant) }
        if handledOnTheSpot < Self.onTheSpot, canAnswer, !lines.isWaiting(caller), daemon.callers.isSettled(caller) {
            handledOnTheSpot += 1
            return try order.body(call)
        }
        guard lines.hasRoom(for: caller) else {
            throw BusFailure(
                .limitExceeded(
                    "calls that wait to be handled: \(CallLines<Void>.lengthLimit) of one connection, or "
                        + "\(CallLines<Void>.bytesLimit >> 20) MiB, wait already; wait for their answers"))
        }
        let held = HeldMessage(retaining: call)
        lines.put(
            { [unowned self] in attempt(held.message, order.body) }, of: caller, bytes: order.bytes,
            isPush: order.isPush)
    }

    /// Does something for a call outside of its handler, from which sd-bus would take an error by itself.
    func attempt(_ call: borrowing BusMessage, _ body: BusInterface.Method) {
        do throws(BusFailure) {
            try body(call)
        } catch {
            daemon.leave(bus.methodError(to: call, error), to: call)
        }
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
        }
        if lines.isWaiting(name) { lines.put(leave, of: name) } else { leave() }
    }

    var canRead: Bool { !lines.isFull }

    func handleSome() -> Bool {
        handledOnTheSpot = 0
        // There may be room for them again.
        if daemon.hasWaitingSignals { daemon.host.endTurnWhenIdle() }
        for _ in 0..<Self.atOnce {
            guard canAnswer, handleNext() else { break }
        }
        // Where the bus is behind, it says itself when it takes more.
        return lines.isReady && canAnswer
    }

    /// To be called before windows end: a claim that has been read is in time, even where the bus is behind with answers.
    func handleBeforeWindowsEnd() {
        for _ in 0..<Self.beforeWindowsEnd {
            guard handleNext() else { break }
        }
    }

    /// - Returns: whether there was something to be handled.
    private func handleNext() -> Bool {
        guard let caller = lines.next else { return false }
        lazy var now = daemon.host.now.instant
        if !daemon.callers.isSettled(caller) {
            lines.holdNext()
            daemon.callers.whenSettled(caller) { [unowned self] in lines.release(caller) }
        } else if lines.isCrowd(caller), !floodGate.admits(caller, at: now) {
            lines.restNext()
            daemon.host.armFloodTimer(at: now + FloodGate.rest)
        } else {
            lines.takeNext()()
        }
        return true
    }

    /// The rest of those who flood the daemon is over.
    func goOnWithFlood() {
        floodGate.hasRested()
        lines.resume()
        bus.goOn()
    }
}
