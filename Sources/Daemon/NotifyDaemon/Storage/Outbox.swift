import Routing

/// Replies, signals and calls to the notification server that are sent at the end of a turn, in the order of their
/// decisions. All are sent after the commit, except banners that need not wait for it.
///
/// Sending all replies before all signals would wake the bus and its clients less often, for about 5 % more events per
/// second. But a client that subscribes after its last reply would get signals of its own earlier events, and a reader
/// would read events before their signals.
final class Outbox {
    enum Item {
        /// A reply or an error.
        case message(Outgoing)
        /// A signal, the event that it needs to be committed, and when it was decided.
        case signal(Signal, about: EventID?, at: Instant)
        case show(BannerRequest)
        case close(BannerID)
        /// A pressed button, with the activation token for the application.
        case relay(Event, action: String, token: String?)
    }

    private static let reservedItems = 128

    var turn = Turn()
    /// Signals that have left the turn and wait for the bus.
    var signals = SignalQueue()
    private var items: [Item] = []
    /// Whether there are calls to the notification server.
    private var hasBanners = false
    /// The oldest event that is not announced yet.
    private var oldest: EventID?
    /// Whether a shown banner is not in the journal yet: after a crash now, a later run would show it again.
    private var hasUnwrittenBanner = false

    func append(_ item: Item) {
        switch item {
        case .signal(.event, about: let id?, at: _): oldest = min(oldest ?? id, id)
        case .signal(.resolved(_, _, let resolution), about: _, at: _) where resolution.outcome == .shown:
            hasUnwrittenBanner = true
        case .show, .close: hasBanners = true
        case .message, .signal, .relay: break
        }
        items.append(item)
    }

    /// Takes the calls to the notification server that need not wait for the commit, because a later run can repair
    /// them:
    ///
    /// - Banners without events that are still to be announced, which all are in the journal. But while the entry of
    ///   another shown banner is not written, a crash would repeat both banners, and at most one may be repeated.
    /// - Closing of banners. If a crash prevents it after the commit, the banner stays up for ever; if a banner is
    ///   closed before, the next claim closes it again, which does no harm.
    func takeBannersReadyBeforeCommit() -> [Item] {
        guard hasBanners else { return [] }
        var ready: [Item] = []
        items.removeAll { item in
            switch item {
            case .show(let request):
                guard !hasUnwrittenBanner, oldest.map({ request.newest.id < $0 }) ?? true else { return false }
            case .close: break
            case .message, .signal, .relay: return false
            }
            ready.append(item)
            return true
        }
        return ready
    }

    func takeAll() -> [Item] {
        defer {
            // The next turn is about as long, and an array that grows moves its items.
            let length = min(items.count, Self.reservedItems)
            items = []
            items.reserveCapacity(length)
            hasBanners = false
            oldest = nil
            hasUnwrittenBanner = false
        }
        return items
    }
}

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
