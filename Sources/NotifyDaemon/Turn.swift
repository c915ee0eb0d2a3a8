import Routing

/// A turn of the loop: everything readable is handled, then the journal commits once, and then what was decided leaves.
///
/// Messages are served before timers, so that a claim which lies in the socket when a deadline passes is in time. A stream
/// of messages must not starve what else there is to do: after so many, or so long, the turn ends in between.
struct Turn {
    private static let messages = 512
    private static let length: Duration = .milliseconds(2)

    private var count = 0
    private var began = Instant(microseconds: 0)

    /// Whether the turn has to end before another message is handled.
    func isTooLong(at now: Instant) -> Bool {
        count >= Self.messages || count > 0 && now - began >= Self.length
    }

    /// To be called before a message is handled.
    mutating func messageArrived(at now: Instant) {
        if count == 0 { began = now }
        count += 1
    }

    mutating func ended() {
        count = 0
    }
}
