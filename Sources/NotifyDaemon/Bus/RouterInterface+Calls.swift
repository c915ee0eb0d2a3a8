import Routing
import Systemd

/// From a call that has been read to one that is handled.
///
/// Most are handled on the spot. When many are there at once, or it is not known yet who calls and the policy wants to know,
/// they wait in lines, in which they keep their order. What sd-bus answers by itself, such as reading a property, does not
/// wait.
extension RouterInterface: BusReader {
    /// What a call wants; its arguments have been read.
    struct Order {
        /// About what the call says.
        var bytes = 0
        let body: BusInterface.Method

        init(bytes: Int = 0, _ body: @escaping BusInterface.Method) {
            self.bytes = bytes
            self.body = body
        }
    }

    /// How many calls are handled on the spot before the lines are seen to: what one wakes the daemon for, and a little more.
    private static let onTheSpot = 16
    /// How many of those that wait are handled before it is seen what else there is to read.
    private static let atOnce = 32

    /// Handles a call now, or when it has its turn.
    func admit(_ order: Order, _ call: borrowing BusMessage) throws(BusFailure) {
        let caller = call.sender
        if handledOnTheSpot < Self.onTheSpot, !lines.isWaiting(caller), isSettled(caller) {
            handledOnTheSpot += 1
            return try handle(order, call)
        }
        guard lines.hasRoom(for: caller) else {
            throw BusFailure(
                .limitExceeded(
                    "calls that wait to be handled: \(CallLines<Void>.lengthLimit) of one connection, or "
                        + "\(CallLines<Void>.bytesLimit >> 20) MiB, wait already; wait for their answers"))
        }
        let held = HeldMessage(retaining: call)
        lines.put({ [unowned self] in handleNow(order, held) }, of: caller, bytes: order.bytes)
    }

    /// Whether as much is known of a caller as the policy wants to know.
    private func isSettled(_ caller: String) -> Bool {
        daemon.callers.need == .nothing || daemon.callers.isSettled(caller)
    }

    private func handleNow(_ order: Order, _ held: HeldMessage) {
        do throws(BusFailure) {
            try handle(order, held.message)
        } catch {
            daemon.leave(bus.methodError(to: held.message, error), to: held.message)
        }
    }

    private func handle(_ order: Order, _ call: borrowing BusMessage) throws(BusFailure) {
        // A bus that takes less than it brings is given a moment: what is queued leaves before the next call is handled.
        if bus.queuedBytes >= FanOut.replyLimit { bus.awaitRoom(milliseconds: 1) }
        try order.body(call)
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
        for _ in 0..<Self.atOnce {
            guard let caller = lines.next else { return false }
            if isSettled(caller) {
                lines.takeNext()()
            } else {
                lines.holdNext()
                daemon.callers.whenSettled(caller) { [unowned self] in lines.release(caller) }
            }
        }
        return lines.isReady
    }
}
