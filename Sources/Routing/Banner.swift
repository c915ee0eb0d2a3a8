/// The banner of one coalescing key, from the first event whose window ended unclaimed until the server closes it.
///
/// An event behind it is in one of three places: it waits to be sent, it is carried by a call under way, or it is shown.
struct Banner {
    /// Orders banners by when they came to be.
    let serial: UInt64
    var waiting = EventList()
    var carried = EventList()
    var shown = EventList()
    /// Stands while the banner wants to be sent.
    var queued: Router.BannerQueue.Ticket?
    /// The server's number, while the banner is up.
    var id: BannerID?
    /// The first event that the banner showed, while it is up. It names the banner in the journal, because a server may
    /// change the number.
    var first: EventID?
    /// The call under way, when it was made, and the first event it carried. There is never more than one for a banner.
    var call: (id: BannerCall, at: Instant, first: EventID)?

    /// Every event behind the banner that nobody has claimed.
    var count: Int { waiting.count + carried.count + shown.count }
}

/// A banner that the server closed. Some servers report the button that closed it only afterwards.
struct ClosedBanner {
    /// How long a report of a button is awaited.
    static let patience: Duration = .milliseconds(100)

    /// What it showed.
    let events: EventList
    /// Whether the user closed it.
    let isDismissed: Bool
    let ticket: Router.WindowClock.Ticket
}

/// A call that was not answered in time. The server may still be at it, and show what was asked for long after.
struct OverdueCall {
    let key: CoalescingKey
    let at: Instant
    let carried: EventList
}

/// Says when the notification server may be called: only while there is one, a few calls at a time, and after failures in
/// a row only after a rest, then with a single call to try it.
///
/// A call has the server to itself until it is answered, or for as long as its head start. An end of the daemon at a bad
/// moment has then at most one banner repeated, the one that was asked for and not yet written down; a server that is slow
/// still gets its few calls at a time. Where banners are not limited there is no head start: it would let one banner appear
/// for each write to the disk, and not more.
struct ServerGate {
    static let callsAtOnce = 4
    /// How long a call that is not answered keeps the next one back.
    static let headStart: Duration = .milliseconds(100)
    static let failuresInARow = 3
    static let rest: Duration = .seconds(30)
    /// How long a server that comes to itself has for everything it has not answered.
    static let breath: Duration = .milliseconds(100)
    /// How long an answer is awaited before its place is given to another call.
    static let patience: Duration = .seconds(5)

    private(set) var isServerThere = false
    private var underWay = 0
    /// The newest call, while it keeps others back.
    private var ahead: BannerCall?
    private var failures = 0
    private var restsUntil: Instant?

    var isResting: Bool { restsUntil != nil }

    var isOpen: Bool {
        isServerThere && restsUntil == nil && ahead == nil
            && underWay < (failures >= Self.failuresInARow ? 1 : Self.callsAtOnce)
    }

    mutating func serverChanged(isThere: Bool) {
        self = ServerGate()
        isServerThere = isThere
    }

    mutating func callBegan(_ call: BannerCall, hasHeadStart: Bool) {
        underWay += 1
        ahead = hasHeadStart ? call : nil
    }

    /// - Returns: whether the call has kept others back until now.
    mutating func callEnded(_ call: BannerCall) -> Bool {
        underWay -= 1
        guard ahead == call else { return false }
        ahead = nil
        return true
    }

    mutating func headStartEnded() {
        ahead = nil
    }

    mutating func callSucceeded() {
        failures = 0
    }

    /// Says until when the server is to be left alone, if it is.
    mutating func callFailed(at now: Instant) -> Instant? {
        failures += 1
        guard failures >= Self.failuresInARow else { return nil }
        restsUntil = now + Self.rest
        return restsUntil
    }

    /// A call was answered after its time: the server is well again. It is left alone a moment longer, for what it also
    /// answers now must not be asked for a second time.
    ///
    /// - Returns: until when, if it is being left alone.
    mutating func recovered(at now: Instant) -> Instant? {
        failures = 0
        restsUntil = restsUntil.map { min($0, now + Self.breath) }
        return restsUntil
    }

    mutating func restEnded() {
        restsUntil = nil
    }
}

/// Says which banners may appear on their own and which are folded into the summary.
///
/// Within a second `limit` banners may appear, whoever sent them. Beyond that, as many again are kept for senders of whom
/// nothing has appeared in that second: a storm by one sender does not hide another's banner.
struct BannerPace {
    static let period: Duration = .seconds(1)

    private var recent: [(at: Instant, sender: String)] = []

    mutating func admit(sender: String, limit: Int, at now: Instant) -> Bool {
        guard limit > 0 else { return true }
        recent.removeAll { $0.at + Self.period <= now }
        let isQuiet = !recent.contains { $0.sender == sender }
        guard recent.count < (isQuiet ? 2 * limit : limit) else { return false }
        recent.append((now, sender))
        return true
    }
}
