import Routing

/// A turn of the loop: all readable messages are handled, the journal commits once, and then the outbox is sent.
///
/// Messages have priority over timers, so that a claim that is in the socket before a deadline is in time. A stream of
/// messages must not starve other work, so a turn is limited in messages and in time.
struct Turn {
    private static let messages = 512
    private static let length: Duration = .milliseconds(2)

    private var count = 0
    private var began = Instant(microseconds: 0)

    /// Whether the turn has to end before the next message.
    func isTooLong(at now: Instant) -> Bool {
        count >= Self.messages || count > 0 && now - began >= Self.length
    }

    mutating func messageArrived(at now: Instant) {
        if count == 0 { began = now }
        count += 1
    }

    mutating func ended() {
        count = 0
    }
}
